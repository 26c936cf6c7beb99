"""The bodies of the requests that the embedded model answers, as far as it goes by them."""

from typing import Literal

from pydantic import BaseModel, Field


class ContentPart(BaseModel):
    """A part of a message; only texts can be read."""

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None

    def plain(self) -> dict[str, str]:
        """Role and text."""
        content = self.content or ""
        return {"role": self.role, "content": content if isinstance(content, str) else "".join(p.text for p in content)}


class JsonSchema(BaseModel):
    """The part of a JSON schema format that the program goes by."""

    name: str


class ResponseFormat(BaseModel):
    """The wanted form of the reply."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class ChatRequest(BaseModel):
    """The body of a chat completion. Parameters that change nothing here are accepted and ignored."""

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    response_format: ResponseFormat | None = None
    seed: int | None = None
    n: Literal[1] | None = 1
    stream: Literal[False] | None = False
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)


class EmbeddingRequest(BaseModel):
    """The body of an embedding request."""

    model: str
    input: str | list[str] = Field(min_length=1)
    encoding_format: Literal["float", "base64"] | None = "float"
