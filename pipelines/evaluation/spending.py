"""What a run's calls take: counted where they are made, by purpose for the run and by answer for its rows."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import Field

from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.records.base import Record
from assets.records.usage import Usage
from pipelines.resources.ledger.prices import Prices, Tokens

Purpose = Literal["dialogue", "simulator", "interview", "baselines", "embeddings", "recall", "improvement"]
STAGE = "evaluation"
NANO = 1_000_000_000


class Spending(Record):
    """Calls, their tokens, and what they cost; None: nobody knows the price of one of them.

    Money is in billionths of a US dollar, whole, so that sums are the same in any order. Calls that the call cache answered
    count like others, so that a replay says what the run took.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nano_usd: int | None = 0

    @property
    def usd(self) -> float | None:
        """US dollars; None where nobody knows."""
        return None if self.nano_usd is None else self.nano_usd / NANO

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            nano_usd=None if self.nano_usd is None or other.nano_usd is None else self.nano_usd + other.nano_usd,
        )

    def at_least(self, usage: Usage) -> "Spending":
        """This, or what an assistant says it used, if that is more: it has a client of its own, and no price is known."""
        if usage.calls <= self.calls:
            return self
        return Spending(calls=usage.calls, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, nano_usd=None)


class Toll(Record):
    """What a step took by purpose, and what did not go well: calls without room for the oldest messages, lost writes."""

    spending: dict[str, Spending] = Field(default_factory=dict[str, Spending])
    cut_calls: int = 0
    failed_writes: int = 0

    def __add__(self, other: "Toll") -> "Toll":
        return Toll(
            spending=_merged(self.spending, other.spending),
            cut_calls=self.cut_calls + other.cut_calls,
            failed_writes=self.failed_writes + other.failed_writes,
        )


def _merged(one: Mapping[str, Spending], other: Mapping[str, Spending]) -> dict[str, Spending]:
    return {name: one.get(name, Spending()) + other.get(name, Spending()) for name in sorted({*one, *other})}


@dataclass
class Count:
    """A running count. Time is that of chat completions; `untimed`: those that a store of ours answered unmeasured."""

    spending: Spending = field(default_factory=Spending)
    seconds: float = 0.0
    untimed: int = 0

    def add(self, spending: Spending, *, reply: ModelReply, timed: bool) -> None:
        """Count a call."""
        self.spending += spending
        self.seconds += reply.seconds if timed else 0.0
        self.untimed += timed and reply.repeated

    @property
    def measured(self) -> float | None:
        """Seconds of the model's replies, one call after another; None where a part of it was not measured."""
        return None if self.untimed or not self.spending.calls else self.seconds


# An assistant answers many questions at once with one model; a task inherits the count of the answer that it works for.
_ANSWER: ContextVar[Count | None] = ContextVar("_ANSWER", default=None)


@contextmanager
def counting() -> Generator[Count, None, None]:
    """The count of all calls that are made inside, by this task and those that it starts."""
    count = Count()
    token = _ANSWER.set(count)
    try:
        yield count
    finally:
        _ANSWER.reset(token)


@dataclass(frozen=True)
class CountedModel:
    """A model for one user and one purpose, whose calls are counted, priced and labelled for the ledger."""

    model: LanguageModel
    prices: Prices
    user_id: str
    purpose: Purpose
    count: Count

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on under these labels."""
        labels = replace(request.labels, stage=f"{STAGE} {self.purpose}", user_id=self.user_id)
        reply = await self.model.complete(replace(request, labels=labels))
        spent = self._spent(request, reply)
        for count in (self.count, _ANSWER.get()):
            if count is not None:
                count.add(spent, reply=reply, timed=self.purpose != "embeddings")
        return reply

    def _spent(self, request: ModelRequest, reply: ModelReply) -> Spending:
        cached = min(reply.cached_input_tokens, reply.input_tokens)
        usd = self.prices.of(request.model, Tokens(reply.input_tokens, reply.output_tokens, cached)).usd
        nano_usd = None if usd is None else round(usd * NANO)
        return Spending(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens, nano_usd=nano_usd)
