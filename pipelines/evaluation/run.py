"""A run on any benchmark: every item at once, each in its own steps. A memory that fails ends its item alone; steps stay."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, Self, TypeVar

from assets.llm.async_calls import PAID_CALLS_SECONDS, wait_for_shielded_calls
from assets.llm.ports import CallLabels, RequestFailed
from assets.llm.usage import Meter, MeteredModel
from assets.recipe.model_policy import AskSettings, Models
from assets.records.base import ItemFailed
from assets.reporting.plurals import counted
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun, RunFolder
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import EventRow, ReasonerWithMemory
from pipelines.evaluation.metrics.latency import latency_of
from pipelines.evaluation.metrics.results import score
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Reasoner, gather_or_cancel
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
from pipelines.evaluation.spending import ROLE_OF_PURPOSE, STAGE, Checkpoint, CountedModel, Purpose, StepUsage, count_usage
from pipelines.memories.contract import MemoryTools
from pipelines.memories.hosting import MemoryFailed, MemoryHost
from pipelines.memories.registry import CONFINED, Confinement, host_memory
from pipelines.opening.models import ModelPorts
from pipelines.resources.llm.embeddings import ModelEmbedder

S = TypeVar("S", bound=Checkpoint)
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
    """The names of a data set, and what its benchmark decides for every run.

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

    def first(self, users: int | None) -> Self:
        """Return the same with the first so many users, all of them for None. Raises EvaluationError when there are fewer."""
        if users is None:
            return self
        if not 1 <= users <= len(self.users):
            held = counted(len(self.users), self.noun)
            raise EvaluationError(f"{self.name} has {held}; --users {users} cannot be taken from them.")
        return replace(self, users=self.users[:users])

    def check_options(self, options: EvaluationOptions, *, whole: bool, but: str = "") -> None:
        """Raise EvaluationError for an option that needs AMemGym's dialogues; `but`: one that is taken nevertheless."""
        refused = ["--assistant"] if whole else [option for option in options.of_dialogues if option != but]
        if refused:
            raise self.refused(refused[0])

    def refused(self, option: str) -> EvaluationError:
        return EvaluationError(f"{option} is for AMemGym, where there are dialogues; {self.name} is for --memory.")


class BenchmarkTasks(Protocol):
    """The side of a benchmark: what is written when, what is asked, what is right, and the facts that it takes.

    An item is what is worked on by itself, such as a user, or a research task at one length.
    """

    @property
    def info(self) -> DatasetInfo: ...

    @property
    def items(self) -> Sequence[str]:
        """The ids of all items, in the order of the data."""
        ...

    def first(self, users: int | None) -> Self:
        """Return the tasks of the first so many users. Raises EvaluationError when there are fewer."""
        ...

    def replaying(self, recorded: FinishedRun) -> Self:
        """Return the tasks with the dialogues of a run. Raises EvaluationError where it is of other items."""
        ...

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> Mapping[str, object]:
        """Return the fields of the manifest that the benchmark decides, its mode among them.

        Raises EvaluationError for what it cannot do; `whole`: an agent is asked, which brings its own reasoner.
        """
        ...

    def sizes(self, manifest: RunManifest) -> Iterable[ItemSize]:
        """Return the size of each item, from which the forecast counts calls and tokens."""
        ...

    async def evaluate(self, run: "Run", item_id: str, rows: ItemRows) -> None:
        """Do all steps of one item, into `rows`. Raises ItemStopped with what was done until then in `rows`."""
        ...

    def unasked(self, manifest: RunManifest, item_id: str, answers: Sequence[AnswerRow], *, reason: str) -> list[AnswerRow]:
        """Return an unscored row for each question of the item that is not among the answers."""
        ...

    def controls(self, manifest: RunManifest, item_id: str) -> list[AnswerRow]:
        """Return an unscored row for each question of another user that the item's memory is asked as a control."""
        ...

    def graded(self, manifest: RunManifest, row: AnswerRow) -> AnswerRow:
        """Return the row as its reply is graded by the data now; as it is where nothing can be graded again."""
        ...

    def events(self, turns: Sequence[DialogueTurn]) -> Iterable[EventRow]:
        """Return all that was perceived, by user and length in order of time."""
        ...

    def page_items(self, run: FinishedRun) -> list[PageItem]:
        """Return the items as the page of a run shows them."""
        ...


@dataclass(frozen=True)
class Run:
    """Everything that a run works with. `report` is told the key of each step that is done."""

    manifest: RunManifest
    tasks: BenchmarkTasks
    models: ModelPorts
    folder: RunFolder
    items_at_once: int = 32
    deadline: float = 300.0
    confinement: Confinement = CONFINED
    report: Callable[[str], None] = field(default=lambda step: None)
    meter: Meter = field(default_factory=Meter)

    @cached_property
    def background_calls(self) -> asyncio.Semaphore:
        """Slots for calls that no conversation waits for: those that the conversations leave free, but always a quarter."""
        talking = min(self.items_at_once, len(self.tasks.items))
        return asyncio.Semaphore(max(1, self.models.at_once // 4, self.models.at_once - talking))

    @property
    def seed(self) -> int:
        """The seed of calls: each attempt has its own."""
        return self.manifest.seed + self.manifest.attempt

    @cached_property
    def asking(self) -> AskSettings:
        """The settings with which the simulated user and its judge are asked."""
        models = dict[str, dict[str, object]]()
        for field_name, role in (("user_simulator", "user"), ("judge", "judge")):
            if role in self.manifest.models:
                extra_body = self.manifest.extra_body.get(role, {})
                models[field_name] = {"model": self.manifest.models[role], "extra_body": extra_body}
        # Unlike other calls, these tell attempts apart by `sample`.
        return AskSettings(Models.model_validate(models), max_reasks=1, seed=self.manifest.seed, sample=self.manifest.attempt)

    def model(self, purpose: Purpose, *, item_id: str) -> CountedModel:
        """Return the run's model for this purpose, counted and labelled with the item."""
        asked = self.models.embeddings if purpose == "embeddings" else self.models.chat
        model = MeteredModel(asked, CallLabels(stage=f"{STAGE} {purpose}", item_id=item_id), self.meter)
        slots = self.background_calls if purpose in BACKGROUND else nullcontext()
        extra_body = self.manifest.extra_body.get(ROLE_OF_PURPOSE.get(purpose, ""), {})
        return CountedModel(model, self.models.prices, purpose, slots, extra_body, self.manifest.reply_tokens)

    def tools(self, item_id: str) -> MemoryTools:
        """Return the models that a memory of the item may use."""
        return MemoryTools(
            model=self.model("memory", item_id=item_id),
            embedder=ModelEmbedder(self.model("embeddings", item_id=item_id)),
            model_name=self.manifest.models["memory"],
            embedding_model=self.manifest.models.get("embedding", ""),
            seed=self.seed,
        )

    def host(self, item_id: str) -> MemoryHost:
        """Return the host that makes and calls the memories of the item."""
        return host_memory(
            self.manifest.memory,
            self.tools(item_id),
            confinement=self.confinement,
            deadline=self.deadline,
            settle=self.manifest.settle,
        )

    def bare(self, item_id: str) -> ReasonerWithMemory:
        """Return the reasoner without a memory, for baselines and the conditions of isolated scores."""
        return ReasonerWithMemory(self.reasoner("baselines", item_id=item_id), None)

    def reasoner(self, purpose: Purpose, *, item_id: str) -> Reasoner:
        """Return the reasoner, which is the same for every memory."""
        return Reasoner(self.model(purpose, item_id=item_id), self.manifest.models["assistant"], self.seed)

    async def step(self, key: str, kind: type[S], work: Callable[[], Awaitable[S]]) -> S:
        """Return the step from its checkpoint; where there is none, do it now and store it with the usage of its calls."""
        done = await self.folder.read_step(key, kind)
        if done is None:
            with count_usage(alone=True) as used:
                done = await work()
            done = done.model_copy(update={"usage": done.usage + used.stored()})
            await self.folder.write_step(key, done)
        self.report(key)
        return done


class ItemStopped(Exception):
    """An item cannot go on at this place, such as a period; `error` says why, and what was done until then stays."""

    def __init__(self, place: str, error: Exception) -> None:
        super().__init__(str(error))
        self.place = place
        self.error = error


async def evaluate_run(run: Run) -> FinishedRun:
    """Do what is left to do of the run, score it, and leave it scored. Items that the memory fails are error rows."""
    rows = {item_id: ItemRows() for item_id in run.tasks.items}
    # All items wait here, so that whichever is done makes room for the next.
    slots = asyncio.Semaphore(run.items_at_once)
    try:
        found = await gather_or_cancel(_evaluate_item(run, item_id, own, slots=slots) for item_id, own in rows.items())
    finally:
        # Replies that are paid for reach the cache, whatever ended the run.
        await wait_for_shielded_calls(seconds=PAID_CALLS_SECONDS)
    errors = list(filter(None, found))
    answers = list[AnswerRow]()
    turns = list[DialogueTurn]()
    seconds = list[list[float | None]]()
    usage = StepUsage()
    for own in rows.values():
        answers += own.answers
        turns += own.turns
        seconds.append(own.seconds)
        usage += own.usage
    results = score(run.manifest, answers, turns, usage=usage, errors=errors)
    latency = latency_of(seconds, memory=usage.memory_seconds, seed=run.manifest.seed)
    return FinishedRun(run.manifest.shared(), answers, turns, results, latency)


async def _evaluate_item(run: Run, item_id: str, rows: ItemRows, *, slots: asyncio.Semaphore) -> ErrorRow | None:
    """Evaluate one item into its rows. Return a row for what ended the item; any other error ends the run."""
    try:
        async with slots:
            await run.tasks.evaluate(run, item_id, rows)
    except ItemStopped as stopped:
        sentence = f"{run.manifest.noun.capitalize()} {item_id}, {stopped.place}: {stopped.error}"
        run.folder.keep_trace(item_id, f"{sentence}\n{getattr(stopped.error, 'trace', '')}")
        rows.answers += run.tasks.unasked(run.manifest, item_id, rows.answers, reason=f"{CALL_FAILED}: {sentence}")
        return ErrorRow(item_id=item_id, sentence=sentence)
    return None
