"""A run on any benchmark: every item at once, each in its own steps. A memory that fails ends its item alone; steps stay."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self, runtime_checkable

from assets.llm.async_calls import PAID_CALLS_SECONDS, wait_for_shielded_calls
from assets.reporting.plurals import counted
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.latency import latency_of
from pipelines.evaluation.metrics.results import score
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import gather_or_cancel
from pipelines.evaluation.records import CALL_FAILED, AnswerRow, DialogueTurn, ErrorRow, RunManifest
from pipelines.evaluation.spending import ItemUsage, StepUsage
from pipelines.evaluation.timeline.context import EvaluationContext
from pipelines.evaluation.timeline.play import ENDS_ITEM, ItemRows, Play
from pipelines.evaluation.timeline.steps import Timeline


@dataclass(frozen=True)
class DatasetInfo:
    """The names of a data set, and what its benchmark decides for every run.

    `noun`: what those are called whom intervals are over, in the singular; `users`: their ids. `roles`: those that models
    play. `prompts`: how the names of the prompts begin that decide answers. `tokens`: what a memory may give back for one
    question, unless somebody says otherwise. `notices`: sentences on what the data set does not say, and what is left out.
    """

    benchmark: str
    name: str
    digest: str
    language: str
    noun: str
    users: tuple[str, ...]
    prompts: tuple[str, ...]
    tokens: int
    roles: tuple[str, ...] = ("assistant", "memory", "embedding")
    notices: tuple[str, ...] = ()

    def first(self, users: int | None) -> Self:
        """Return the same with the first so many users, all of them for None. Raises EvaluationError when there are fewer."""
        if users is None:
            return self
        if not 1 <= users <= len(self.users):
            held = counted(len(self.users), self.noun)
            raise EvaluationError(f"{self.name} has {held}; --users {users} cannot be taken from them.")
        return replace(self, users=self.users[:users])

    def check_options(self, options: EvaluationOptions, *, whole: bool, allowed_option: str = "") -> None:
        """Raise EvaluationError for an option that needs AMemGym's dialogues, but for the `allowed_option`."""
        refused = ["--assistant"] if whole else [option for option in options.of_dialogues if option != allowed_option]
        if refused:
            raise self.refusal_of(refused[0])

    def refusal_of(self, option: str) -> EvaluationError:
        return EvaluationError(
            f"{option} is for AMemGym, whose users hold dialogues; {self.name} has none. Leave it out, and name a --memory."
        )


class BenchmarkTasks(Protocol):
    """The side of a benchmark: what happens on each of its items, such as a user, or a research task at one length."""

    @property
    def info(self) -> DatasetInfo: ...

    def first(self, users: int | None) -> Self:
        """Return the tasks of the first so many users. Raises EvaluationError when there are fewer."""
        ...

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> Mapping[str, object]:
        """Return the fields of the manifest that the benchmark decides, its mode among them.

        Raises EvaluationError for what it cannot do; `whole`: an agent is asked, which brings its own reasoner.
        """
        ...

    def timelines(self, manifest: RunManifest) -> Sequence[Timeline]:
        """Return what happens on each item, in the order of the data."""
        ...


@runtime_checkable
class ReplayableTasks(BenchmarkTasks, Protocol):
    """Tasks that may begin with what another run recorded."""

    def replaying(self, recorded: FinishedRun) -> Self:
        """Return the tasks with the dialogues of a run. Raises EvaluationError where it is of other items."""
        ...


@dataclass(frozen=True, kw_only=True)
class Run(EvaluationContext):
    """A run with the data that it is about. `alone`: the run that asks what is the same for every memory; None: nothing is."""

    tasks: BenchmarkTasks
    alone: "Run | None" = None

    @cached_property
    def timelines(self) -> Sequence[Timeline]:
        return self.tasks.timelines(self.manifest)


@dataclass(frozen=True)
class PlayedItem:
    """An item with the rows that it left, and what ended it early."""

    timeline: Timeline
    rows: ItemRows
    error: ErrorRow | None


def score_items(run: Run, items: Sequence[PlayedItem], shared: Sequence[AnswerRow]) -> FinishedRun:
    """Return the run with its scores. Items that the memory failed are error rows.

    `shared`: the rows of what is the same for every memory.
    """
    shared_rows = defaultdict[tuple[str, int], list[AnswerRow]](list)
    for row in shared:
        shared_rows[row.user_id, row.length].append(row)
    answers = list[AnswerRow]()
    turns = list[DialogueTurn]()
    seconds = defaultdict[str, list[float | None]](list)
    usage = StepUsage()
    used = list[ItemUsage]()
    errors = list[ErrorRow]()
    for item in items:
        own = item.rows
        answers += [*own.answers, *shared_rows[item.timeline.cluster, item.timeline.length]]
        turns += own.turns
        seconds[item.timeline.cluster] += own.seconds
        usage += own.usage
        known = run.manifest.memory_files
        used.append(ItemUsage.of(own.usage, run_id=run.manifest.run_id, item_id=item.timeline.item_id, known=known))
        errors += [item.error] if item.error else []
    results = score(run.manifest, answers, turns, usage=usage, errors=errors)
    latency = latency_of(list(seconds.values()), memory=usage.memory_seconds)
    return FinishedRun(run.manifest.shared(), answers, turns, used, results, latency)


async def play_items(context: EvaluationContext, timelines: Sequence[Timeline]) -> list[PlayedItem]:
    """Play these items at once, or what is left of them, and return them in order."""
    rows = [ItemRows() for _ in timelines]
    # All items wait here, so that whichever is done makes room for the next.
    slots = asyncio.Semaphore(context.items_at_once)
    work = [_evaluate_item(context, timeline, own, slots=slots) for timeline, own in zip(timelines, rows, strict=True)]
    try:
        errors = await gather_or_cancel(work)
    finally:
        # Replies that are paid for reach the cache, whatever ended the run.
        await wait_for_shielded_calls(seconds=PAID_CALLS_SECONDS)
    return list(map(PlayedItem, timelines, rows, errors))


async def _evaluate_item(
    context: EvaluationContext, timeline: Timeline, rows: ItemRows, *, slots: asyncio.Semaphore
) -> ErrorRow | None:
    """Play one item's timeline into its rows. Return a row for what ended the item; any other error ends the run."""
    async with slots:
        for life in timeline.lives(context.manifest):
            play = Play(context, timeline.in_run(alone=context.manifest.is_alone), life, timeline.item_id)
            try:
                await play.play(rows)
            except ENDS_ITEM as error:
                sentence = f"{context.manifest.noun.capitalize()} {timeline.item_id}, {play.place}: {error}"
                context.folder.keep_trace(timeline.item_id, f"{sentence}\n{getattr(error, 'trace', '')}")
                if timeline.lived_in_conditions:
                    # Its conditions could not be compared.
                    rows.answers.clear()
                rows.answers += timeline.unasked_rows(rows.answers, reason=f"{CALL_FAILED}: {sentence}")
                rows.answers = list(timeline.conclude(rows.answers))
                return ErrorRow(item_id=timeline.item_id, sentence=sentence)
    rows.answers = list(timeline.conclude(rows.answers))
    return None
