"""Usage of model calls, and what a memory does and takes: counted for the step and for the answer that the task works for."""

import threading
import time
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, PlainSerializer

from assets.llm.ports import BATCH_SHARE, LanguageModel, ModelReply, ModelRequest, Transport
from assets.llm.usage import NANO, Usage, usage_of
from assets.records.base import Record
from assets.records.public_names import shared_model
from pipelines.memories.contract import MAX_REPLY_TOKENS
from pipelines.memories.failures import CallCount
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
    texts and its index; None where one of the memories does not tell. `calls` of its methods or of its service: of these were
    `repeated` those that failed for a reason that passes and were served when made again, and `lost` those that no try served;
    `repeated_writes` and `lost_writes` are among them. `halved_texts`: texts, and parts of texts, that were too long for the
    model of embeddings.
    """

    writes: int = 0
    write_calls: int = 0
    events: int = 0
    source_bytes: int = 0
    stored_bytes: int | None = 0
    calls: int = 0
    repeated: int = 0
    repeated_writes: int = 0
    lost: int = 0
    lost_writes: int = 0
    halved_texts: int = 0

    def __add__(self, other: "MemoryWork") -> "MemoryWork":
        sums = dict[str, int | None]()
        for name in MemoryWork.model_fields:
            own = getattr(self, name)
            more = getattr(other, name)
            sums[name] = None if own is None or more is None else own + more
        return MemoryWork.model_validate(sums)


class StepUsage(Record):
    """Usage of a step by purpose, and the memory's work and seconds by call; None: not measured.

    `models`: those that were asked, by purpose; `boundaries`: what kept the memory's code in while the step was done; `opened`:
    files of its folder that its process opened.
    """

    spending: dict[str, PricedUsage] = Field(default_factory=dict[str, Usage])
    models: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    boundaries: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    work: MemoryWork = MemoryWork()
    memory_seconds: dict[MemoryCall, tuple[float | None, ...]] = Field(
        default_factory=dict[MemoryCall, tuple[float | None, ...]]
    )

    def __add__(self, other: "StepUsage") -> "StepUsage":
        spending = dict[str, Usage]()
        models = dict[str, tuple[str, ...]]()
        # In the order of names, so that equal runs write equal bytes.
        for name in sorted({*self.spending, *other.spending}):
            spending[name] = self.spending.get(name, Usage()) + other.spending.get(name, Usage())
            models[name] = tuple(sorted({*self.models.get(name, ()), *other.models.get(name, ())}))
        seconds = dict(self.memory_seconds)
        for call, own in other.memory_seconds.items():
            seconds[call] = (*seconds.get(call, ()), *own)
        return StepUsage(
            spending=spending,
            models=models,
            boundaries=tuple(sorted({*self.boundaries, *other.boundaries})),
            opened=tuple(sorted({*self.opened, *other.opened})),
            work=self.work + other.work,
            memory_seconds=seconds,
        )


class PurposeUsage(Record):
    """Usage for one purpose, and the models that were asked."""

    calls: int
    input_tokens: int
    output_tokens: int
    nano_usd: int | None
    models: tuple[str, ...]


class ItemUsage(Record):
    """What one item took: a row of `usage.parquet`, from which the run's spending follows.

    `run_id`: that of the run. `boundary`: what kept the memory's code in, "" for code of ours; `opened`: files of its folder
    that its process opened, and that are not among the run's `memory_files`.
    """

    run_id: str
    item_id: str
    boundary: str
    opened: tuple[str, ...]
    spending: dict[str, PurposeUsage]
    work: MemoryWork

    @classmethod
    def of(cls, usage: StepUsage, *, run_id: str, item_id: str, known: Collection[str]) -> "ItemUsage":
        """Return the row of an item with this usage; of a model that is a local file, with the file's name.

        `known`: the files that the memory is known to consist of.
        """
        spending = dict[str, PurposeUsage]()
        for purpose, used in usage.spending.items():
            models = tuple(map(shared_model, usage.models.get(purpose, ())))
            spending[purpose] = PurposeUsage(**priced_fields(used), models=models)
        return cls(
            run_id=run_id,
            item_id=item_id,
            boundary=" and ".join(filter(None, usage.boundaries)),
            opened=tuple(name for name in usage.opened if name not in known),
            spending=spending,
            work=usage.work,
        )

    @property
    def usage(self) -> StepUsage:
        """The same as steps have it."""
        spending = dict[str, Usage]()
        for purpose, used in self.spending.items():
            spending[purpose] = Usage.model_validate(used.model_dump(exclude={"models"}))
        return StepUsage(spending=spending, work=self.work)


class Checkpoint(Record):
    """A finished step and its usage, stored so that a run can go on after it."""

    usage: StepUsage = Field(default_factory=StepUsage)


@dataclass
class UsageCounter:
    """A running count by purpose. Time is that of chat completions; `untimed`: those that a cache or a batch job answered.

    `repeated`: calls of every kind that a cache answered.
    """

    by_purpose: dict[str, Usage] = field(default_factory=dict[str, Usage])
    models: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    opened: set[str] = field(default_factory=set[str])
    seconds: float = 0.0
    untimed: int = 0
    repeated: int = 0
    work: MemoryWork = field(default_factory=MemoryWork)
    memory_seconds: dict[MemoryCall, list[float | None]] = field(default_factory=dict[MemoryCall, list[float | None]])

    def add(self, purpose: Purpose, usage: Usage, *, model: str, reply: ModelReply) -> None:
        self.by_purpose[purpose] = self.by_purpose.get(purpose, Usage()) + usage
        self.models.setdefault(purpose, set()).add(model)
        self.repeated += reply.repeated
        if purpose != "embeddings":
            self.seconds += reply.seconds
            self.untimed += reply.repeated or reply.price_share == BATCH_SHARE

    @property
    def usage(self) -> Usage:
        """The calls of all purposes together."""
        return sum(self.by_purpose.values(), Usage())

    def step_usage(self) -> StepUsage:
        """Return the count as a step stores it."""
        seconds: dict[MemoryCall, tuple[float | None, ...]] = {call: tuple(own) for call, own in self.memory_seconds.items()}
        models = {purpose: tuple(sorted(names)) for purpose, names in self.models.items()}
        opened = tuple(sorted(self.opened))
        return StepUsage(spending=dict(self.by_purpose), models=models, opened=opened, work=self.work, memory_seconds=seconds)

    @property
    def measured_seconds(self) -> float | None:
        """Seconds of the model's replies, one call after another; None where a part of it was not measured."""
        if self.untimed or not self.by_purpose:
            return None
        return self.seconds


# A step's task counts for the step, and an answer's for both; a task inherits the counts of the one that starts it.
_COUNTERS: ContextVar[tuple[UsageCounter, ...]] = ContextVar("_COUNTERS", default=())
_ADDING = threading.Lock()  # services are asked in threads


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
    """Add to the work of everything that this task works for, from any thread."""
    with _ADDING:
        for count in _COUNTERS.get():
            count.work += work


def count_call(method: str, count: CallCount) -> None:
    """Count a call of a memory's method."""
    made = {"calls": count.made, "repeated": count.repeated, "lost": count.lost}
    if method in ("write", "forget"):
        made |= {"repeated_writes": count.repeated, "lost_writes": count.lost}
    count_work(MemoryWork(**made))


def count_opened(name: str) -> None:
    """Note a file of the memory's folder that its process opened."""
    for count in _COUNTERS.get():
        count.opened.add(name)


def count_halved_text() -> None:
    """Count a text that was too long for the model of embeddings."""
    count_work(MemoryWork(halved_texts=1))


@dataclass(frozen=True)
class CountedModel:
    """A model for one purpose, whose calls are counted and priced as if no cache had answered them.

    `extra_body`: the fields that the purpose's role adds to each request; `reply_tokens`: those of a reply, where they are not
    the usual ones. `transport`: how a call is sent, which changes no price here, so that equal runs have equal bytes.
    """

    model: LanguageModel
    prices: Prices
    purpose: Purpose
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    reply_tokens: int = MAX_REPLY_TOKENS
    transport: Transport = "live"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on, and count its usage."""
        request = replace(request, labels=replace(request.labels, transport=self.transport))
        if self.extra_body:
            request = replace(request, extra_body={**self.extra_body, **request.extra_body})
        if self.reply_tokens != MAX_REPLY_TOKENS and request.max_output_tokens:
            request = replace(request, max_output_tokens=self.reply_tokens)
        reply = await self.model.complete(request)
        usd = self.prices.of(request.model, usage_of(reply)).usd
        nano_usd = None if usd is None else round(usd * NANO)
        usage = Usage(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens, nano_usd=nano_usd)
        for count in _COUNTERS.get():
            count.add(self.purpose, usage, model=request.model, reply=reply)
        return reply
