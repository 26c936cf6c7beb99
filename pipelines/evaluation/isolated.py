"""Memory-isolated scores: the same reasoner, budget and seed with a memory (S), none (N), the needed facts (O), everything (F).

S - N is what the memory brings; (S - N) / (O - N) is how much of what a perfect memory would bring. The benchmark says how a
task is asked and graded, which facts it needs, and who shares an episode, such as a user: items of one are resampled together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, TypeVar, get_args

import numpy as np
from pydantic import Field

from assets.llm.ports import RequestFailed
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import GAIN, UNIT, Array, Metric, Sample, Sums, Tallies, divided, share
from pipelines.evaluation.contract import Task, cut_to_budget, newest_within
from pipelines.evaluation.hosting import HostedMemory
from pipelines.evaluation.reasoning import CONTEXT_TOKENS, Answer, GiveAnswer, ReadableTask, Reasoner, ask, gather_all
from pipelines.evaluation.records import CALL_FAILED, AskKind, RunManifest

T = TypeVar("T")
Condition = Literal["memory", "none", "facts", "everything"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
KIND_OF: dict[str, AskKind] = {"none": "no_memory", "facts": "facts", "everything": "everything"}  # beside the memory's own
ROOM_FOR_TASK = 8_000  # tokens of the context


class MemoryRow(Record):
    """One task, the memory that it was answered from, and whether it was right: what a reward model of memories learns from."""

    cluster: str = Field(description="whose episode it is, such as the user's id, or of which task over documents")
    length: int = Field(default=0, description="length that was wanted of all documents, in tokens; 0 where there is none")
    item: str = Field(description="the question's id")
    turn: int = Field(description="after which turn or period it was asked, from 0")
    query: str = Field(description="what was asked, word for word; the memory sees it without its instructions")
    written: int = Field(
        description="events that had been written: so many of the first rows of its cluster and length in events.parquet"
    )
    budget: int = Field(description="tokens that the memory was given")
    recalled: tuple[str, ...] = Field(description="what it gave back, cut to the budget")
    recalled_tokens: int = Field(description="tokens of that, by our estimate")
    right_with_memory: bool = Field(description="S: answered rightly; an answer that cannot be read is wrong")
    right_with_none: bool | None = Field(default=None, description="N: the same without any recalled text")
    right_with_facts: bool | None = Field(default=None, description="O: the same with the needed facts alone")
    right_with_everything: bool | None = Field(default=None, description="F: the same with all that was written")

    def right(self, condition: Condition) -> bool | None:
        """Whether it was right in this condition; None where that was not asked."""
        return getattr(self, f"right_with_{condition}")


def contents_of(*, facts: Sequence[str], everything: Sequence[str], tokens: int) -> dict[str, Sequence[str]]:
    """What fills the recall slot in each condition without the memory.

    The reasoner's context alone bounds everything; the oldest go first.
    """
    return {
        "none": (),
        "facts": cut_to_budget(facts, tokens),
        "everything": newest_within(everything, CONTEXT_TOKENS - ROOM_FOR_TASK),
    }


class Recalling(Protocol):
    """What is asked: recalls for a query, and answers from recalled texts. A whole agent recalls nothing."""

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]: ...

    async def answer(self, recalled: Sequence[str], task: Task) -> str: ...


@dataclass(frozen=True)
class ReasonerWithMemory:
    """Our reasoner with a memory, or with none: for baselines, and the conditions beside the memory's own."""

    reasoner: Reasoner
    memory: HostedMemory | None

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return await self.memory.recall(query, tokens=tokens) if self.memory else []

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        return await self.reasoner.answer(recalled, task)


async def ask_or_give_up(
    task: ReadableTask[T], give_answer: GiveAnswer, kind: AskKind, *, recalled: Sequence[str] = (), budget: int = 0
) -> Answer[T]:
    """The answer, given from these texts of the memory; none where the endpoint refuses this very request. Others go on."""
    try:
        answer = await ask(task, give_answer)
    except RequestFailed as failed:
        answer = Answer[T](None, "", 1, f"{CALL_FAILED}: {failed}")
    return replace(answer, kind=kind, recalled=tuple(recalled), budget=budget)


async def answer_from_memory(
    task: ReadableTask[T], subject: Recalling, *, tokens: int, kind: AskKind = "question"
) -> Answer[T]:
    """The answer from what is recalled; none where the endpoint refuses that, as it may refuse an embedding."""
    try:
        recalled = await subject.recall(task.task.query, tokens=tokens)
    except RequestFailed as failed:
        return Answer(None, "", 1, f"{CALL_FAILED}: {failed}", kind=kind, budget=tokens)
    return await ask_or_give_up(task, partial(subject.answer, recalled), kind, recalled=recalled, budget=tokens)


async def answer_in_conditions(
    task: ReadableTask[T],
    subject: Recalling,
    bare: Recalling,
    *,
    facts: Sequence[str],
    everything: Sequence[str],
    manifest: RunManifest,
) -> list[Answer[T]]:
    """The answer from the memory first, then those in the run's other conditions, and at the budgets of its curve."""
    contents = contents_of(facts=facts, everything=everything, tokens=manifest.tokens)

    async def without(condition: str) -> Answer[T]:
        give = partial(bare.answer, contents[condition])
        return await ask_or_give_up(task, give, KIND_OF[condition], budget=manifest.tokens)

    own = answer_from_memory(task, subject, tokens=manifest.tokens)
    curve = [answer_from_memory(task, subject, tokens=tokens, kind="at_budget") for tokens in manifest.curve]
    return await gather_all([own, *map(without, manifest.conditions), *curve])


class EventRow(Record):
    """Something that was perceived; the rows of one cluster and length are in order of time."""

    cluster: str = Field(description="whose episode it is, such as the user's id, or of which task over documents")
    length: int = Field(default=0, description="length that was wanted of all documents, in tokens; 0 where there is none")
    text: str = Field(description="the words")
    kind: str = Field(description="user, assistant, document or tool")
    at: str = Field(description="time in the episode; empty where it has none")
    source: str = Field(description="what names it, such as a title")


class IsolatedScores(Record):
    """Shares right by condition over all items, and what the memory brings, with intervals over clusters.

    `gain` is S - N and `gain_share` (S - N) / (O - N); the latter does not exist where O is no better than N by a margin.
    `unasked` of the items were never asked, because the memory failed: S counts them as wrong, and nothing else exists.
    """

    items: int
    unasked: int = 0
    memory: Estimate
    none: Estimate
    facts: Estimate
    everything: Estimate
    gain: Estimate
    gain_share: Estimate


LEAST_ROOM = 0.1  # between two scores, for a quotient over their difference


def right(condition: Condition) -> Metric:
    """The share right in this condition."""
    return share(condition, "items")


def gain(sums: Sums) -> Array:
    """S - N: how much more is right with the memory than with none."""
    return right("memory")(sums) - right("none")(sums)


def gain_share(sums: Sums) -> Array:
    """(S - N) / (O - N): the gain as a share of what the needed facts would bring; nan without room between O and N."""
    room = right("facts")(sums) - right("none")(sums)
    return divided(gain(sums), np.where(room >= LEAST_ROOM, room, 0.0))


def isolated_scores(rows: Sequence[MemoryRow], *, seed: int, unasked: Sequence[str] = ()) -> IsolatedScores | None:
    """The scores of these rows, which are of one memory and one budget; None where no row has every condition.

    `unasked`: the cluster of each question that the memory failed before it was asked.
    """
    complete = [row for row in rows if all(row.right(condition) is not None for condition in CONDITIONS)]
    if not complete:
        return None
    clusters = list(dict.fromkeys([*(row.cluster for row in complete), *unasked]))
    counts: Sums = {name: np.zeros((len(clusters), 1)) for name in ("items", *CONDITIONS)}
    for row in complete:
        place = clusters.index(row.cluster), 0
        counts["items"][place] += 1
        for condition in CONDITIONS:
            counts[condition][place] += bool(row.right(condition))
    for cluster in unasked:
        counts["items"][clusters.index(cluster), 0] += 1
    sample = Sample.of(Tallies(tuple(clusters), counts), seed=seed)
    found = IsolatedScores(
        items=len(complete) + len(unasked),
        unasked=len(unasked),
        **{condition: sample.estimate(right(condition), within=UNIT) for condition in CONDITIONS},
        gain=sample.estimate(gain, within=GAIN),
        gain_share=sample.estimate(gain_share, within=UNIT),
    )
    # The reasoner was not asked these without the memory either; over the others alone N, O and F would be of other items.
    unknown = (*CONDITIONS[1:], "gain", "gain_share") if unasked else ()
    return found.model_copy(update=dict.fromkeys(unknown, Estimate(value=None, low=None, high=None)))
