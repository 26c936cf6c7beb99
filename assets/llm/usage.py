"""Usage of calls: one record for rows, releases, prices, ledger and evaluation, and the meters that count it per user."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import Field

from assets.llm.asked_ahead import AheadReplies
from assets.llm.ports import CallLabels, LanguageModel, ModelReply, ModelRequest, label_request
from assets.records.base import Record
from assets.text.words import count_tokens

NANO = 1_000_000_000
# What OpenAI adds to the texts of a chat.
TOKENS_OF_MESSAGE = 4
TOKENS_BEFORE_REPLY = 3


class Usage(Record):
    """Calls and tokens, whether the provider or a cache of ours answered.

    The first four fields are the same in every run over the same replies, and only they are stored with rows and
    snapshots. `cached_input_tokens` are those of the `input_tokens` that the provider had in its prefix cache. Money is
    in billionths of a US dollar, whole, so that sums are the same in any order; None: nobody knows the price of a call.
    `reasks` are the calls that sent a reply back.
    """

    calls: int = 0
    reasks: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = Field(default=0, exclude=True)
    nano_usd: int | None = Field(default=0, exclude=True)

    @property
    def usd(self) -> float | None:
        """US dollars; None where nobody knows."""
        return None if self.nano_usd is None else self.nano_usd / NANO

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            reasks=self.reasks + other.reasks,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            nano_usd=None if self.nano_usd is None or other.nano_usd is None else self.nano_usd + other.nano_usd,
        )


def prompt_tokens(texts: Iterable[str], *, schema: object = None) -> int:
    """Return the estimated tokens that are billed for a chat of these messages; its JSON schema, if any, is billed too."""
    tokens = TOKENS_BEFORE_REPLY
    for text in texts:
        tokens += count_tokens(text) + TOKENS_OF_MESSAGE
    if schema is not None:
        tokens += count_tokens(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))
    return tokens


def request_tokens(request: ModelRequest) -> int:
    """Return the estimated tokens that are billed for a request's prompt, with its schema or its tools."""
    schema = request.json_schema or list(request.tools) or None
    return prompt_tokens((message.content for message in request.messages), schema=schema)


def usage_of(reply: ModelReply) -> Usage:
    """The usage of one call as its reply reports it, without cost."""
    return Usage(
        calls=1,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        cached_input_tokens=min(reply.cached_input_tokens, reply.input_tokens),
    )


@dataclass
class Meter:
    """A running count; what is added counts in `parent` too. `repeated` calls were answered by a store of ours.

    `unpriced` counts the calls whose price nobody knows; `cost_usd` is what the others cost. `waiting`: calls without reply
    yet. `items`: the calls that each item took by id, of those that were made in this run.
    """

    parent: "Meter | None" = None
    usage: Usage = field(default_factory=Usage)
    repeated: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    waiting: int = 0
    items: Counter[str] = field(default_factory=Counter[str])

    def add(self, usage: Usage, *, repeated: int = 0, cost_usd: float | None = 0.0) -> None:
        """Count this usage; a cost of None is one that nobody knows."""
        self.usage += usage
        self.repeated += repeated
        self.cost_usd += cost_usd or 0.0
        self.unpriced += usage.calls if cost_usd is None else 0
        if self.parent is not None:
            self.parent.add(usage, repeated=repeated, cost_usd=cost_usd)

    def wait(self, calls: int) -> None:
        """So many more calls wait for their replies, or fewer where the number is negative."""
        self.waiting += calls
        if self.parent is not None:
            self.parent.wait(calls)

    def note(self, item_id: str, calls: int) -> None:
        """Count calls under their item's id."""
        self.items[item_id] += calls
        if self.parent is not None:
            self.parent.note(item_id, calls)

    def take_over(self, other: "Meter") -> None:
        """Count what another meter has counted so far, and from now on whatever it counts."""
        self.add(other.usage, repeated=other.repeated, cost_usd=other.cost_usd)
        self.unpriced += other.unpriced
        self.wait(other.waiting)
        for item_id, calls in other.items.items():
            self.note(item_id, calls)
        other.parent = self


@dataclass(frozen=True)
class MeteredModel:
    """A model whose calls are counted and carry the labels of one user's stage.

    `ahead`: replies that may have been asked for already.
    """

    model: LanguageModel
    labels: CallLabels
    meter: Meter
    ahead: AheadReplies | None = None

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on under these labels."""
        labelled = label_request(request, self.labels)
        self.meter.wait(1)
        try:
            reply = await self.ahead.find(labelled) if self.ahead else None
            if reply is None:
                reply = await self.model.complete(labelled)
        finally:
            self.meter.wait(-1)
        reasks = int(request.labels.attempt > 0)
        usage = Usage(calls=1, reasks=reasks, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        self.meter.add(usage, repeated=int(reply.repeated), cost_usd=0.0 if reply.repeated else reply.cost_usd)
        self.meter.note(self.labels.item_id, 1)
        return reply
