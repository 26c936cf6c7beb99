"""A run on any benchmark: every item at once, each in its own steps. A memory that fails ends its item alone; steps stay."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, Self, TypeVar

from assets.engine.ports import StageProgress
from assets.engine.progress import ProgressLog
from assets.engine.stage_runner import REPORT_SECONDS
from assets.llm.async_calls import wait_for_shielded_calls
from assets.llm.ports import CallLabels, RequestFailed
from assets.llm.usage import Meter, MeteredModel
from assets.recipe.recipe import Recipe
from assets.records.base import ItemFailed
from pipelines.evaluation.contract import MemoryTools
from pipelines.evaluation.folder import FinishedRun, RunFolder
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.hosting import MemoryFailed, MemoryHost
from pipelines.evaluation.isolated import EventRow, ReasonerWithMemory
from pipelines.evaluation.memories.registry import host_memory
from pipelines.evaluation.metrics.results import latency_of, score
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Reasoner, gather_all
from pipelines.evaluation.records import (
    CALL_FAILED,
    AnswerRow,
    AnswersStep,
    DialogueStep,
    DialogueTurn,
    ErrorRow,
    RunManifest,
)
from pipelines.evaluation.report.page import PageItem
from pipelines.evaluation.spending import STAGE, Checkpoint, CountedModel, Purpose, StepUsage, count_usage
from pipelines.resources.llm.embeddings import ModelEmbedder
from pipelines.resources.open import ModelPorts

S = TypeVar("S", bound=Checkpoint)
PAID_CALLS_SECONDS = 20.0  # that a run which stops waits for calls that are paid for
# A user's next message waits for the last; these would only delay it.
BACKGROUND: tuple[Purpose, ...] = ("interview", "baselines", "recall")
# What ends one item: its memory, or a request that the endpoint refuses while it serves others.
ENDS_ITEM = (MemoryFailed, RequestFailed, ItemFailed)


@dataclass
class ItemRows:
    """The rows of one item's steps, and their usage."""

    turns: list[DialogueTurn] = field(default_factory=list[DialogueTurn])
    answers: list[AnswerRow] = field(default_factory=list[AnswerRow])
    seconds: list[float | None] = field(default_factory=list[float | None])
    usage: StepUsage = field(default_factory=StepUsage)

    def add(self, step: DialogueStep | AnswersStep) -> None:
        if isinstance(step, DialogueStep):
            self.turns += step.turns
        else:
            self.answers += step.answers
            self.seconds += step.seconds
        self.usage += step.usage


@dataclass(frozen=True)
class DatasetInfo:
    """What names a data set, and what its benchmark decides for every run.

    `noun`: what those are called who are resampled together, in the singular; `users`: their ids. `roles`: those that models
    play. `prompts`: how the names of the prompts begin that decide answers. `tokens`: what a memory may give back for one
    question, unless somebody says otherwise. `notices`: sentences on what the data set does not say, and what is left out.
    """

    benchmark: str
    name: str
    digest: str
    language: str
    noun: str
    users: tuple[str, ...]
    roles: tuple[str, ...]
    prompts: tuple[str, ...]
    tokens: int
    notices: tuple[str, ...] = ()


class BenchmarkTasks(Protocol):
    """What a benchmark gives the runner: what is written when, what is asked, what is right, and the facts that it takes.

    An item is what is worked on by itself, such as a user, or a research task at one length.
    """

    @property
    def info(self) -> DatasetInfo: ...

    @property
    def items(self) -> Sequence[str]:
        """The ids of all items, in the order of the data."""
        ...

    def first(self, users: int | None) -> Self:
        """The tasks of the first so many users. Raises EvaluationError when there are fewer."""
        ...

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> Mapping[str, object]:
        """Fields of the manifest that the benchmark decides, its mode among them.

        Raises EvaluationError for what it cannot do; `whole`: an agent is asked, which brings its own reasoner.
        """
        ...

    def sizes(self, manifest: RunManifest) -> Iterable[ItemSize]:
        """What each item takes, from which the forecast counts calls and tokens."""
        ...

    async def evaluate(self, run: "Run", item_id: str, rows: ItemRows) -> None:
        """All steps of one item, into `rows`. Raises ItemStopped with what was done until then in `rows`."""
        ...

    def unasked(self, manifest: RunManifest, item_id: str, answers: Sequence[AnswerRow], *, reason: str) -> list[AnswerRow]:
        """An unscored row for each question of the item that is not among the answers."""
        ...

    def events(self, turns: Sequence[DialogueTurn]) -> Iterable[EventRow]:
        """All that was perceived, by user and length in order of time."""
        ...

    def page_items(self, run: FinishedRun) -> list[PageItem]:
        """The items as the page of a run shows them."""
        ...


@dataclass(frozen=True)
class Run:
    """Everything that a run works with. `report` is told the key of each step that is done."""

    manifest: RunManifest
    tasks: BenchmarkTasks
    models: ModelPorts
    recipe: Recipe
    folder: RunFolder
    items_at_once: int = 32
    deadline: float = 300.0
    report: Callable[[str], None] = field(default=lambda step: None)
    meter: Meter = field(default_factory=Meter)

    @cached_property
    def background_calls(self) -> asyncio.Semaphore:
        """Slots for calls that no conversation waits for: those that the conversations leave free, but always a quarter."""
        talking = min(self.items_at_once, len(self.tasks.items))
        return asyncio.Semaphore(max(1, self.models.at_once // 4, self.models.at_once - talking))

    @cached_property
    def slots(self) -> asyncio.Semaphore:
        """Slots for items that are worked on at the same time."""
        return asyncio.Semaphore(self.items_at_once)

    def model(self, purpose: Purpose, *, item_id: str) -> CountedModel:
        """The run's model for this purpose, counted and labelled with the item."""
        asked = self.models.embeddings if purpose == "embeddings" else self.models.chat
        model = MeteredModel(asked, CallLabels(stage=f"{STAGE} {purpose}", item_id=item_id), self.meter)
        slots = self.background_calls if purpose in BACKGROUND else nullcontext()
        return CountedModel(model, self.models.prices, purpose, slots)

    def tools(self, item_id: str) -> MemoryTools:
        """What a memory of the item may use."""
        return MemoryTools(
            model=self.model("memory", item_id=item_id),
            embedder=ModelEmbedder(self.model("embeddings", item_id=item_id)),
            model_name=self.manifest.models["memory"],
            embedding_model=self.manifest.models.get("embedding", ""),
            seed=self.manifest.seed + self.manifest.attempt,
        )

    def host(self, item_id: str) -> MemoryHost:
        """What makes and calls the memories of the item."""
        return host_memory(self.manifest.memory, self.tools(item_id), deadline=self.deadline)

    def bare(self, item_id: str) -> ReasonerWithMemory:
        """The reasoner without a memory, for baselines and the conditions of isolated scores."""
        return ReasonerWithMemory(self.reasoner("baselines", item_id=item_id), None)

    def reasoner(self, purpose: Purpose, *, item_id: str) -> Reasoner:
        """The reasoner, which is the same for every memory."""
        model, seed = self.model(purpose, item_id=item_id), self.manifest.seed + self.manifest.attempt
        return Reasoner(model, self.manifest.models["assistant"], seed)

    async def step(self, key: str, kind: type[S], work: Callable[[], Awaitable[S]]) -> S:
        """The step from its checkpoint; where there is none it is done now and stored, with what its calls used."""
        done = await self.folder.read_step(key, kind)
        if done is None:
            with count_usage(alone=True) as used:
                done = await work()
            done = done.model_copy(update={"usage": done.usage + used.stored()})
            await self.folder.write_step(key, done)
        self.report(key)
        return done


class StepProgress:
    """How far a run is by its finished steps, told to `show` twice a second; `calls`: what all `steps` are expected to take."""

    def __init__(
        self, manifest: RunManifest, *, meter: Meter, steps: int, calls: float, show: Callable[[StageProgress], None]
    ) -> None:
        self._manifest, self._meter, self._show = manifest, meter, show
        self._done, self._steps, self._began = 0, steps, time.monotonic()
        self._log = ProgressLog(meter, first_line="", expected=calls / max(1, steps), alike=True)

    def step(self, key: str) -> None:
        """Count a step that is done."""
        self._done += 1

    @asynccontextmanager
    async def shown(self) -> AsyncGenerator[None]:
        """Show it as long as this lasts, and as finished where it ends well."""

        async def regularly() -> None:
            while True:
                self._tell(max(self._steps, self._done + 1))
                await asyncio.sleep(REPORT_SECONDS)

        telling = asyncio.create_task(regularly())
        try:
            yield
        finally:
            telling.cancel()
        self._tell(self._done)

    def _tell(self, total: int) -> None:
        meter, manifest = self._meter, self._manifest
        progress = StageProgress(
            stage=manifest.memory.name,
            unit=manifest.dataset,
            done=self._done,
            total=total,
            calls=meter.usage.calls,
            repeated=meter.repeated,
            seconds=time.monotonic() - self._began,
            noun="step",
        )
        self._show(self._log.update(progress))


class ItemStopped(Exception):
    """An item cannot go on at this place, such as a period; `error` says why, and what was done until then stays."""

    def __init__(self, place: str, error: Exception) -> None:
        super().__init__(str(error))
        self.place, self.error = place, error


async def evaluate(run: Run) -> FinishedRun:
    """Do what is left to do of the run, score it, and leave it scored. Items that the memory fails are error rows."""
    rows = {item_id: ItemRows() for item_id in run.tasks.items}
    errors = await _each_item(run, rows)
    for error in errors:
        own, reason = rows[error.item_id], f"{CALL_FAILED}: {error.sentence}"
        own.answers += run.tasks.unasked(run.manifest, error.item_id, own.answers, reason=reason)
    answers = [answer for own in rows.values() for answer in own.answers]
    turns = [turn for own in rows.values() for turn in own.turns]
    usage = sum((own.usage for own in rows.values()), StepUsage())
    results = score(run.manifest, answers, turns, usage=usage, errors=errors)
    latency = latency_of([own.seconds for own in rows.values()], seed=run.manifest.seed)
    return FinishedRun(run.manifest, answers, turns, results, latency)


async def _each_item(run: Run, rows: Mapping[str, ItemRows]) -> list[ErrorRow]:
    """Work on all items. A row for each that could not be finished; any other error ends the run."""

    async def one(item_id: str) -> ErrorRow | None:
        async with run.slots:
            try:
                await run.tasks.evaluate(run, item_id, rows[item_id])
            except ItemStopped as stopped:
                sentence = f"{run.manifest.noun.capitalize()} {item_id}, {stopped.place}: {stopped.error}"
                run.folder.keep_trace(item_id, f"{sentence}\n{getattr(stopped.error, 'trace', '')}")
                return ErrorRow(item_id=item_id, sentence=sentence)
        return None

    try:
        return [error for error in await gather_all(map(one, rows)) if error]
    finally:
        await wait_for_shielded_calls(seconds=PAID_CALLS_SECONDS)
