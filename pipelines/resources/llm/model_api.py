"""A model's API: the three things that differ between providers, and OpenAI's chat completions, which most of them speak."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from assets.llm.ports import ModelReply, ModelRequest
from pipelines.resources.llm.chat_completion import Completion, read_completion, reply_of, with_tokens
from pipelines.resources.llm.compatibility import ApiCompatibility
from pipelines.resources.llm.connection import MOST_BYTES
from pipelines.resources.llm.errors import ErrorResponse, NoReply
from pipelines.resources.llm.reply_origins import ReplyOrigins

if TYPE_CHECKING:
    import openai


@dataclass(frozen=True)
class ApiCall:
    """One HTTP request: the path below the endpoint's address, the JSON body, and headers beside the bearer token."""

    path: str
    body: dict[str, object]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class ModelApi(Protocol):
    """Writes a request, reads a reply and reads an error. Everything else is the same for every provider."""

    @property
    def most_bytes(self) -> int:
        """The most bytes that are read of one answer."""
        ...

    def call(self, request: ModelRequest, *, compatibility: ApiCompatibility) -> ApiCall:
        """Return the request as it is sent; `compatibility` is what the model has rejected so far."""
        ...

    def read_reply(self, request: ModelRequest, content: bytes) -> ModelReply | NoReply:
        """Read the body of an answer with status 200."""
        ...

    def read_error(self, error: "openai.APIStatusError") -> ErrorResponse:
        """Read an answer with an error status; codes in the words of OpenAI."""
        ...


class OpenAiChat:
    """Chat completions as OpenAI has them."""

    most_bytes = MOST_BYTES

    def __init__(self, origins: ReplyOrigins | None = None) -> None:
        self._origins = origins or ReplyOrigins()

    def call(self, request: ModelRequest, *, compatibility: ApiCompatibility) -> ApiCall:
        return ApiCall("/chat/completions", compatibility.body(request))

    def read_reply(self, request: ModelRequest, content: bytes) -> ModelReply | NoReply:
        completion = read_completion(content)
        if not isinstance(completion, Completion):
            return completion
        misplaced = self._origins.find_misplaced(request, reply_id=completion.id, model=completion.model)
        reply = misplaced or reply_of(completion, room=request.max_output_tokens, acts=bool(request.tools))
        return with_tokens(reply, request=request) if isinstance(reply, ModelReply) else reply

    def read_error(self, error: "openai.APIStatusError") -> ErrorResponse:
        return ErrorResponse.read(error)
