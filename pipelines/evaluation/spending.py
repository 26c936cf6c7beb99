"""Usage of model calls, and what a memory does and takes: counted for the step and for the answer that the task works for."""

import time
from collections.abc import Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, PlainSerializer

from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.llm.usage import NANO, Usage, usage_of
from assets.records.base import Record
from pipelines.memories.contract import MAX_REPLY_TOKENS
from pipelines.resources.ledger.prices import Prices

Purpose = Literal["dialogue", "memory", "simulator", "interview", "baselines", "embeddings", "recall", "improvement"]
# Calls of purposes that are not here are made as the run's AskSettings say.
ROLE_OF_PURPOSE: Mapping[Purpose, str] = {
    "dialogue": "assistant",
    "interview": "assistant",
    "baselines": "assistant",
    "memory": "memory",
    "improvement": "memory",
    "embeddings": "embedding",
}
MemoryCall = Literal["write", "settle", "recall", "fork"]
STAGE = "evaluation"


def priced_fields(usage: Usage) -> dict[str, Any]:
    """Return the fields of a usage that results and their rows store."""
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "nano_usd": usage.nano_usd,
    }


# Calls that the reply cache answered count like others, so that a replay shows what the run took.
PricedUsage = Annotated[Usage, PlainSerializer(priced_fields)]


class MemoryWork(Record):
    """Counts of what a memory did, and of what it holds at the end of its item.

    `write_calls`: model calls inside its writes. `source_bytes`: of the texts of all `events`, in UTF-8. `stored_bytes`: of its
    texts and its index; None where one of the memories does not tell. `sent` and `kept`: characters of the prompts of its
    dialogue, each but a period's first, and of these the ones at the start that the prompt before it had too.
    """

    writes: int = 0
    write_calls: int = 0
    events: int = 0
    source_bytes: int = 0
    stored_bytes: int | None = 0
    sent: int = 0
    kept: int = 0

    def __add__(self, other: "MemoryWork") -> "MemoryWork":
        stored = None
        if self.stored_bytes is not None and other.stored_bytes is not None:
            stored = self.stored_bytes + other.stored_bytes
        return MemoryWork(
            writes=self.writes + other.writes,
            write_calls=self.write_calls + other.write_calls,
            events=self.events + other.events,
            source_bytes=self.source_bytes + other.source_bytes,
            stored_bytes=stored,
            sent=self.sent + other.sent,
            kept=self.kept + other.kept,
        )


class StepUsage(Record):
    """Usage of a step by purpose, lost writes, and the memory's work and seconds by call; None: not measured."""

    spending: dict[str, PricedUsage] = Field(default_factory=dict[str, Usage])
    lost_writes: int = 0
    work: MemoryWork = MemoryWork()
    memory_seconds: dict[MemoryCall, tuple[float | None, ...]] = Field(
        default_factory=dict[MemoryCall, tuple[float | None, ...]]
    )

    def __add__(self, other: "StepUsage") -> "StepUsage":
        spending = dict[str, Usage]()
        # In the order of names, so that equal runs write equal bytes.
        for name in sorted({*self.spending, *other.spending}):
            spending[name] = self.spending.get(name, Usage()) + other.spending.get(name, Usage())
        seconds = dict(self.memory_seconds)
        for call, own in other.memory_seconds.items():
            seconds[call] = (*seconds.get(call, ()), *own)
        return StepUsage(
            spending=spending,
            lost_writes=self.lost_writes + other.lost_writes,
            work=self.work + other.work,
            memory_seconds=seconds,
        )


class Checkpoint(Record):
    """A finished step and its usage, stored so that a run can go on after it."""

    usage: StepUsage = Field(default_factory=StepUsage)


@dataclass
class UsageCounter:
    """A running count by purpose. Time is that of chat completions; `untimed`: those that a cache answered unmeasured.

    `repeated`: calls of every kind that a cache answered. `last_prompt`: that of the dialogue.
    """

    by_purpose: dict[str, Usage] = field(default_factory=dict[str, Usage])
    seconds: float = 0.0
    untimed: int = 0
    repeated: int = 0
    work: MemoryWork = field(default_factory=MemoryWork)
    memory_seconds: dict[MemoryCall, list[float | None]] = field(default_factory=dict[MemoryCall, list[float | None]])
    last_prompt: str = ""

    def add(self, purpose: Purpose, usage: Usage, *, reply: ModelReply) -> None:
        self.by_purpose[purpose] = self.by_purpose.get(purpose, Usage()) + usage
        self.repeated += reply.repeated
        if purpose != "embeddings":
            self.seconds += reply.seconds
            self.untimed += reply.repeated

    def add_prompt(self, prompt: str) -> None:
        """Compare a prompt of the dialogue with the one before it: what a provider's cache of prefixes could keep."""
        if self.last_prompt:
            self.work += MemoryWork(sent=len(prompt), kept=shared_start(self.last_prompt, prompt))
        self.last_prompt = prompt

    @property
    def usage(self) -> Usage:
        """The calls of all purposes together."""
        return sum(self.by_purpose.values(), Usage())

    def stored(self) -> StepUsage:
        """Return the count as a step stores it."""
        seconds: dict[MemoryCall, tuple[float | None, ...]] = {call: tuple(own) for call, own in self.memory_seconds.items()}
        return StepUsage(spending=dict(self.by_purpose), work=self.work, memory_seconds=seconds)

    @property
    def measured(self) -> float | None:
        """Seconds of the model's replies, one call after another; None where a part of it was not measured."""
        if self.untimed or not self.by_purpose:
            return None
        return self.seconds


# A step's task counts for the step, and an answer's for both; a task inherits the counts of the one that starts it.
_COUNTERS: ContextVar[tuple[UsageCounter, ...]] = ContextVar("_COUNTERS", default=())


@contextmanager
def count_usage(*, alone: bool = False) -> Generator[UsageCounter, None, None]:
    """Count all calls that are made inside, by this task and those that it starts. `alone`: they count nowhere else."""
    count = UsageCounter()
    outer = () if alone else _COUNTERS.get()
    token = _COUNTERS.set((*outer, count))
    try:
        yield count
    finally:
        _COUNTERS.reset(token)


@contextmanager
def memory_call(call: MemoryCall) -> Generator[None, None, None]:
    """Count a write, and measure a call of the memory by the clock, its models included; none that the reply cache helped."""
    with count_usage() as count:
        began = time.perf_counter()
        yield
        seconds: float | None = round(time.perf_counter() - began, 6)
    if call == "write":
        count_work(MemoryWork(writes=1, write_calls=count.usage.calls))
    for outer in _COUNTERS.get():
        outer.memory_seconds.setdefault(call, []).append(None if count.repeated else seconds)


def count_work(work: MemoryWork) -> None:
    """Add to the work of everything that this task works for."""
    for count in _COUNTERS.get():
        count.work += work


def shared_start(before: str, after: str) -> int:
    """Return how many characters the texts have in common at their start."""
    same = 0
    most = min(len(before), len(after))
    # Halving is much faster than looking at each character.
    while same < most:
        middle = (same + most + 1) // 2
        if before[same:middle] == after[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


@dataclass(frozen=True)
class CountedModel:
    """A model for one purpose, whose calls are counted and priced as if no cache had answered them. A call waits for a slot.

    `extra_body`: the fields that the purpose's role adds to each request; `reply_tokens`: those of a reply, where they are not
    the usual ones.
    """

    model: LanguageModel
    prices: Prices
    purpose: Purpose
    slots: AbstractAsyncContextManager[None]
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    reply_tokens: int = MAX_REPLY_TOKENS

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on, and count its usage."""
        if self.extra_body:
            request = replace(request, extra_body={**self.extra_body, **request.extra_body})
        if self.reply_tokens != MAX_REPLY_TOKENS and request.max_output_tokens:
            request = replace(request, max_output_tokens=self.reply_tokens)
        async with self.slots:
            reply = await self.model.complete(request)
        usd = self.prices.of(request.model, usage_of(reply)).usd
        nano_usd = None if usd is None else round(usd * NANO)
        usage = Usage(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens, nano_usd=nano_usd)
        for count in _COUNTERS.get():
            count.add(self.purpose, usage, reply=reply)
            if self.purpose == "dialogue":
                count.add_prompt("\n".join(message.content for message in request.messages))
        return reply
