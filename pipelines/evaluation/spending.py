"""What calls take, counted where they are made: for the step and for the answer that the running task works for."""

from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer

from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.llm.usage import NANO, Usage, usage_of
from assets.records.base import Record
from pipelines.resources.ledger.prices import Prices

Purpose = Literal["dialogue", "memory", "simulator", "interview", "baselines", "embeddings", "recall", "improvement"]
STAGE = "evaluation"


def priced_fields(usage: Usage) -> dict[str, Any]:
    """The fields of a usage that results and their rows store."""
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "nano_usd": usage.nano_usd,
    }


# Calls that the reply cache answered count like others, so that a replay shows what the run took.
PricedUsage = Annotated[Usage, PlainSerializer(priced_fields)]


class StepUsage(Record):
    """What a step used by purpose, and how many writes were lost."""

    spending: dict[str, PricedUsage] = Field(default_factory=dict[str, Usage])
    lost_writes: int = 0

    def __add__(self, other: "StepUsage") -> "StepUsage":
        names = sorted({*self.spending, *other.spending})
        return StepUsage(
            spending={name: self.spending.get(name, Usage()) + other.spending.get(name, Usage()) for name in names},
            lost_writes=self.lost_writes + other.lost_writes,
        )


class Checkpoint(Record):
    """A finished step and what it used, stored so that a run can go on after it."""

    usage: StepUsage = Field(default_factory=StepUsage)


@dataclass
class UsageCounter:
    """A running count by purpose. Time is that of chat completions; `untimed`: those that a cache answered unmeasured."""

    by_purpose: dict[str, Usage] = field(default_factory=dict[str, Usage])
    seconds: float = 0.0
    untimed: int = 0

    def add(self, purpose: Purpose, usage: Usage, *, reply: ModelReply) -> None:
        self.by_purpose[purpose] = self.by_purpose.get(purpose, Usage()) + usage
        if purpose != "embeddings":
            self.seconds += reply.seconds
            self.untimed += reply.repeated

    @property
    def usage(self) -> Usage:
        """What the calls of all purposes used together."""
        return sum(self.by_purpose.values(), Usage())

    def stored(self) -> StepUsage:
        """What was counted, as a step stores it."""
        return StepUsage(spending=dict(self.by_purpose))

    @property
    def measured(self) -> float | None:
        """Seconds of the model's replies, one call after another; None where a part of it was not measured."""
        return None if self.untimed or not self.by_purpose else self.seconds


# A step's task counts for the step, and an answer's for both; a task inherits the counts of the one that starts it.
_COUNTERS: ContextVar[tuple[UsageCounter, ...]] = ContextVar("_COUNTERS", default=())


@contextmanager
def count_usage(*, alone: bool = False) -> Generator[UsageCounter, None, None]:
    """The count of all calls that are made inside, by this task and those that it starts. `alone`: they count nowhere else."""
    count = UsageCounter()
    token = _COUNTERS.set((count,) if alone else (*_COUNTERS.get(), count))
    try:
        yield count
    finally:
        _COUNTERS.reset(token)


@dataclass(frozen=True)
class CountedModel:
    """A model for one purpose, whose calls are counted and priced as if no cache had answered them. A call waits for a slot."""

    model: LanguageModel
    prices: Prices
    purpose: Purpose
    slots: AbstractAsyncContextManager[None]

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on, and count what it used."""
        async with self.slots:
            reply = await self.model.complete(request)
        usd = self.prices.of(request.model, usage_of(reply)).usd
        nano_usd = None if usd is None else round(usd * NANO)
        usage = Usage(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens, nano_usd=nano_usd)
        for count in _COUNTERS.get():
            count.add(self.purpose, usage, reply=reply)
        return reply
