"""What a run's calls take: counted where they are made, by purpose for the run and by answer for its rows."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, ConfigDict, Field, PlainSerializer

from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.llm.usage import NANO, Usage, usage_of
from assets.records.base import Record
from pipelines.resources.ledger.prices import Prices

Purpose = Literal["dialogue", "simulator", "interview", "baselines", "embeddings", "recall", "improvement"]
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


def at_least(usage: Usage, reported: Usage) -> Usage:
    """The usage, or what an assistant reports of its own client, if that is more: no price of it is known."""
    if reported.calls <= usage.calls:
        return usage
    return Usage(calls=reported.calls, input_tokens=reported.input_tokens, output_tokens=reported.output_tokens, nano_usd=None)


class StepUsage(Record):
    """What a step used by purpose, and what did not go well: calls without room for the oldest messages, lost writes."""

    spending: dict[str, PricedUsage] = Field(default_factory=dict[str, Usage])
    cut_calls: int = 0
    failed_writes: int = 0

    def __add__(self, other: "StepUsage") -> "StepUsage":
        names = sorted({*self.spending, *other.spending})
        return StepUsage(
            spending={name: self.spending.get(name, Usage()) + other.spending.get(name, Usage()) for name in names},
            cut_calls=self.cut_calls + other.cut_calls,
            failed_writes=self.failed_writes + other.failed_writes,
        )


class Checkpoint(Record):
    """A finished step and what it used, stored so that a run can go on after it. In JSON the usage is called "toll"."""

    model_config = ConfigDict(serialize_by_alias=True)

    usage: StepUsage = Field(
        default_factory=StepUsage, validation_alias=AliasChoices("toll", "usage"), serialization_alias="toll"
    )


@dataclass
class UsageCounter:
    """A running count. Time is that of chat completions; `untimed`: those that a cache of ours answered unmeasured."""

    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    untimed: int = 0

    def add(self, usage: Usage, *, reply: ModelReply, timed: bool) -> None:
        self.usage += usage
        self.seconds += reply.seconds if timed else 0.0
        self.untimed += timed and reply.repeated

    @property
    def measured(self) -> float | None:
        """Seconds of the model's replies, one call after another; None where a part of it was not measured."""
        return None if self.untimed or not self.usage.calls else self.seconds


# An assistant answers many questions at once with one model; a task inherits the count of the answer that it works for.
_ANSWER: ContextVar[UsageCounter | None] = ContextVar("_ANSWER", default=None)


@contextmanager
def count_usage() -> Generator[UsageCounter, None, None]:
    """The count of all calls that are made inside, by this task and those that it starts."""
    count = UsageCounter()
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
    count: UsageCounter

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on under these labels."""
        labels = replace(request.labels, stage=f"{STAGE} {self.purpose}", user_id=self.user_id)
        reply = await self.model.complete(replace(request, labels=labels))
        usage = self._priced(request, reply)
        for count in (self.count, _ANSWER.get()):
            if count is not None:
                count.add(usage, reply=reply, timed=self.purpose != "embeddings")
        return reply

    def _priced(self, request: ModelRequest, reply: ModelReply) -> Usage:
        usd = self.prices.of(request.model, usage_of(reply)).usd
        nano_usd = None if usd is None else round(usd * NANO)
        return Usage(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens, nano_usd=nano_usd)
