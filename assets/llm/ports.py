"""Requests to models, their replies, and the protocols of whoever answers. `pipelines` has the implementations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from assets.recipe.model_policy import Transport
from prompts.template import Message

FinishReason = Literal["stop", "length", "refusal"]
BATCH_SHARE = 0.5  # of the price of a live call, at every provider with batch jobs


@dataclass(frozen=True)
class CallLabels:
    """The purpose of a call; never part of its identity. `attempt` counts how often the same thing was asked before.

    `transport`: at once, or in a batch job. `needs_json`: a reply without a JSON object is of no use, though an
    assistant that is evaluated may well answer in prose. `divisible`: whoever asks can ask in parts, where it fails as a whole.
    `rank`: of the calls that wait for the endpoint, those with the lowest go first.
    """

    stage: str = ""
    item_id: str = ""
    prompt: str = ""
    fingerprint: str = ""
    attempt: int = 0
    transport: Transport = "live"
    needs_json: bool = False
    divisible: bool = False
    rank: int = 0


@dataclass(frozen=True)
class ModelRequest:
    """One chat completion. Everything but `labels` is its identity; `sample` tells equal requests apart.

    `extra_body`: further fields of the body, sent as they are. `tools`: those that the model may call by its API's own form, so
    that the reply is an action.
    """

    model: str
    messages: tuple[Message, ...]
    temperature: float | None
    max_output_tokens: int
    schema_name: str
    json_schema: dict[str, object] | None
    seed: int
    sample: int
    labels: CallLabels = field(default=CallLabels(), compare=False)
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    tools: tuple[Mapping[str, Any], ...] = ()


def label_request(request: ModelRequest, own: CallLabels) -> ModelRequest:
    """Return the request as a call of an item's stage, which these labels name."""
    labels = replace(request.labels, stage=own.stage, item_id=own.item_id, rank=own.rank)
    return replace(request, labels=labels)


@dataclass(frozen=True)
class ModelReply:
    """The words that came back. `repeated`: they came from the reply cache and cost nothing.

    `cached_input_tokens` are those of the `input_tokens` that the provider had in its prefix cache. `seconds` is the
    time that the answered try took, `price_share` the share of the list price that was asked (BATCH_SHARE in a batch
    job), `cost_usd` what the call cost, None where nobody knows the price; these are about the call and not about the
    words, so that they are neither compared nor kept.
    """

    text: str
    finish: FinishReason
    input_tokens: int
    output_tokens: int
    repeated: bool = False
    cached_input_tokens: int = 0
    seconds: float = field(default=0.0, compare=False)
    price_share: float = field(default=1.0, compare=False)
    cost_usd: float | None = field(default=None, compare=False)


class EndpointError(Exception):
    """The model endpoint cannot serve this run; the message is one sentence for the user, free of secrets."""


class RequestFailed(EndpointError):
    """The endpoint cannot serve this request, others it can; an item that needs its reply is given up and replaced."""


class BudgetReached(EndpointError):
    """The variant has spent what its recipe allows; the run pauses, and goes on with a higher budget."""


class LanguageModel(Protocol):
    """Anything that completes chats. Raises EndpointError when no further call makes sense."""

    async def complete(self, request: ModelRequest) -> ModelReply: ...


class CallBooking(Protocol):
    """What a client tells of one call, while the call holds its slot: its tries, and its reply."""

    async def send(self) -> None:
        """Book a try that is about to be sent; one that was turned away stays booked. Raises BudgetReached."""
        ...

    async def lose(self) -> None:
        """Count a try that may have been paid for and brought no reply."""
        ...

    async def keep(self, reply: ModelReply) -> ModelReply:
        """Store the reply, so that it is durable before the next call begins."""
        ...


class Unbooked:
    """The CallBooking port for a call that nobody counts, and whose reply nobody stores."""

    async def send(self) -> None: ...

    async def lose(self) -> None: ...

    async def keep(self, reply: ModelReply) -> ModelReply:
        return reply


UNBOOKED = Unbooked()


Vector = tuple[float, ...]


class Embedder(Protocol):
    """Anything that turns texts into vectors, one per text in order. Raises EndpointError like a LanguageModel."""

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]: ...
