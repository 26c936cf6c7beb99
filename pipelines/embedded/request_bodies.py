"""Requests for chat completions and embeddings as OpenAI's clients send them, as far as the embedded model reads them."""

import json
from typing import Any, Literal

from pydantic import BaseModel, Field

from assets.llm.usage import prompt_tokens
from pipelines.embedded.assistant.shaped import find_schema


class ContentPart(BaseModel):
    """A part of a message. Other parts than text are refused, as the model reads nothing else."""

    type: Literal["text"]
    text: str


class FunctionOfCall(BaseModel):
    name: str
    arguments: str = "{}"


class MessageCall(BaseModel):
    """A tool call in a message of the assistant's."""

    id: str
    function: FunctionOfCall


class RequestMessage(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None
    tool_calls: list[MessageCall] | None = None
    tool_call_id: str | None = None

    def as_text(self) -> dict[str, str]:
        """Return the message with its text parts joined."""
        content = self.content or ""
        if not isinstance(content, str):
            content = "".join(part.text for part in content)
        return {"role": self.role, "content": content}


class ReplyFormatSchema(BaseModel):
    """The JSON schema of a reply format. Of one that is ours the model reads its name alone; its tokens count."""

    name: str
    definition: Any = Field(default=None, alias="schema")


class ReplyFormat(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: ReplyFormatSchema | None = None


class ChatRequest(BaseModel):
    """The body of a chat completion request. Parameters that change nothing here are accepted and ignored."""

    model: str
    messages: list[RequestMessage] = Field(min_length=1)
    response_format: ReplyFormat | None = None
    tools: list[dict[str, Any]] | None = None
    seed: int | None = None
    n: Literal[1] | None = 1
    stream: Literal[False] | None = False
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)

    @property
    def schema_name(self) -> str | None:
        """The name of the JSON schema that the reply is to have, if any."""
        return self._format.name if self._format else None

    @property
    def shape(self) -> dict[str, Any] | None:
        """The JSON schema of an object with parts, as the format has it, or the messages of a request for any JSON object."""
        if self.response_format and self.response_format.type == "json_object":
            return find_schema("\n".join(message.as_text()["content"] for message in self.messages))
        return self._format.definition if self._format and "properties" in (self._format.definition or {}) else None

    @property
    def prompt_tokens(self) -> int:
        """The tokens of the messages, and of the JSON schema if there is one."""
        texts = (message.as_text()["content"] for message in self.messages)
        return prompt_tokens(texts, schema=self._format.definition if self._format else None)

    @property
    def in_one_text(self) -> str:
        """The request as a model of OpenAI's reads it: the JSON schema, then the messages."""
        schema = json.dumps(self._format.definition, separators=(",", ":")) if self._format else ""
        said = (message.as_text() for message in self.messages)
        return "\n".join([schema, *(f"{message['role']}: {message['content']}" for message in said)])

    @property
    def _format(self) -> ReplyFormatSchema | None:
        return self.response_format.json_schema if self.response_format else None


class EmbeddingRequest(BaseModel):
    model: str
    input: str | list[str] = Field(min_length=1)
    encoding_format: Literal["float", "base64"] | None = "float"
