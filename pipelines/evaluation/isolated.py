"""Memory-isolated scores: the same reasoner, budget and seed with a memory (S), none (N), the needed facts (O), everything (F).

S - N is what the memory brings; (S - N) / (O - N) is how much of what a perfect memory would bring. The benchmark says how a
task is asked and graded, which facts it needs, and who shares an episode, such as a user: items of one are resampled together.
"""

from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, TypeVar, get_args

import numpy as np
from pydantic import Field

from assets.llm.ports import RequestFailed
from assets.records.base import Record
from assets.records.estimate import LEAST_ROOM, Estimate
from assets.reporting.intervals import GAIN, UNIT, Array, Metric, Sample, Sums, Tallies, divided, metric_difference, share
from assets.text.words import count_tokens
from pipelines.evaluation.arms import TextsAtHand
from pipelines.evaluation.reasoning import CONTEXT_TOKENS, Answer, ReadableTask, Reasoner, ask, gather_or_cancel
from pipelines.evaluation.records import CALL_FAILED, AskKind, RunManifest
from pipelines.evaluation.spending import MemoryWork, count_work, memory_call
from pipelines.memories.contract import Task, cut_to_budget, newest_within
from pipelines.memories.hosting import HostedMemory

T = TypeVar("T")
Condition = Literal["memory", "none", "facts", "everything"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
KIND_OF: dict[str, AskKind] = {"none": "no_memory", "facts": "facts", "everything": "everything"}  # beside the memory's own
ROOM_FOR_TASK = 8_000  # tokens of the context, for the question with its options and what is still in sight


class MemoryRow(Record):
    """One task, the memory that it was answered from, and whether it was right: what a reward model of memories learns from."""

    cluster: str = Field(description="whose episode it is, such as the user's id, or of which task over documents")
    length: int = Field(default=0, description="length that was wanted of all documents, in tokens; 0 where there is none")
    item: str = Field(description="the question's id")
    turn: int = Field(description="turn or period after which it was asked, from 0")
    query: str = Field(description="what was asked, word for word; the memory sees it without its instructions")
    written: int = Field(
        description="number of events written before: the first rows of its cluster and length in events.parquet"
    )
    budget: int = Field(description="tokens that the memory was given")
    recalled: tuple[str, ...] = Field(description="what it gave back, cut to the budget")
    recalled_tokens: int = Field(description="tokens of that, by our estimate")
    facts: tuple[str, ...] = Field(default=(), description="the needed facts that O was given, cut to the budget")
    right_with_memory: bool = Field(description="S: answered rightly; an answer that cannot be read is wrong")
    right_with_none: bool | None = Field(default=None, description="N: the same without any recalled text")
    right_with_facts: bool | None = Field(default=None, description="O: the same with the needed facts alone")
    right_with_everything: bool | None = Field(default=None, description="F: the same with all that was written")

    def right(self, condition: Condition) -> bool | None:
        """Return True where it was right in this condition; None where that was not asked."""
        return getattr(self, f"right_with_{condition}")

    @property
    def complete(self) -> bool:
        """Return True where every condition was asked."""
        return None not in map(self.right, CONDITIONS)


def contents_of(*, facts: Sequence[str], everything: Sequence[str], tokens: int) -> dict[str, Sequence[str]]:
    """Return the texts that fill the recall slot in each condition without the memory.

    The reasoner's context alone bounds everything; the oldest go first.
    """
    return {
        "none": (),
        "facts": cut_to_budget(facts, tokens),
        "everything": newest_within(everything, CONTEXT_TOKENS - ROOM_FOR_TASK),
    }


class Recalling(Protocol):
    """The side that is asked: it recalls for a query, and answers from recalled texts. A whole agent recalls nothing."""

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]: ...

    async def answer(self, recalled: Sequence[str], task: Task) -> str: ...


@dataclass(frozen=True)
class ReasonerWithMemory:
    """Our reasoner with a memory, or with none: for baselines, and the conditions beside the memory's own."""

    reasoner: Reasoner
    memory: HostedMemory | None

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        if self.memory is None:
            return []
        # Only the first recall after a write waits for it, which is no time of a search.
        await wait_until_readable(self.memory)
        with memory_call("recall"):
            return await self.memory.recall(query, tokens=tokens)

    async def count_stored(self) -> None:
        """Count what the memory was given and what it holds, when its item ends."""
        if self.memory is None:
            return
        texts = [event.text for batch in self.memory.written for event in batch]
        source = sum(len(text.encode()) for text in texts)
        count_work(MemoryWork(events=len(texts), source_bytes=source, stored_bytes=await self.memory.stored_bytes()))

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        return await self.reasoner.answer(recalled, task)


async def wait_until_readable(memory: HostedMemory) -> None:
    """Return when all that was written can be recalled; measured for a memory that has to finish something."""
    if memory.settled or not memory.settles:
        await memory.settle()
        return
    with memory_call("settle"):
        await memory.settle()


async def answer_in_conditions(
    task: ReadableTask[T],
    subject: Recalling,
    bare: Recalling,
    *,
    texts: TextsAtHand,
    manifest: RunManifest,
) -> list[Answer[T]]:
    """Return the answer from the memory first, then those in the run's other conditions, at the budgets of its curve, and in
    its arms.
    """
    contents = contents_of(facts=texts.facts, everything=texts.everything, tokens=manifest.tokens)
    # The memory's own is the first, which callers tell apart by its place.
    asked = [recall_and_answer(task, subject, tokens=manifest.tokens)]
    for condition in manifest.conditions:
        kind = KIND_OF[condition]
        asked.append(_answer_in(task, bare, contents[condition], kind=kind, budget=manifest.tokens))
    for tokens in manifest.curve:
        asked.append(recall_and_answer(task, subject, tokens=tokens, kind="at_budget"))
    answers = await gather_or_cancel(asked)
    # Chance texts are as long as what was recalled, which is known only now.
    recalled = sum(map(count_tokens, answers[0].recalled))
    controls: list[Awaitable[Answer[T]]] = []
    for arm in manifest.arms:
        own = cut_to_budget(texts.of_arm(arm, tokens=recalled), manifest.tokens)
        if own:
            controls.append(answer_from(task, bare, own, kind=arm, budget=manifest.tokens))
    return [*answers, *await gather_or_cancel(controls)]


async def _answer_in(task: ReadableTask[T], bare: Recalling, texts: Sequence[str], *, kind: AskKind, budget: int) -> Answer[T]:
    """Return the answer in a condition without the memory. Rows keep the needed facts; everything is in events.parquet."""
    answer = await answer_from(task, bare, texts, kind=kind, budget=budget)
    return replace(answer, recalled=tuple(texts)) if kind == "facts" else answer


async def recall_and_answer(task: ReadableTask[T], subject: Recalling, *, tokens: int, kind: AskKind = "question") -> Answer[T]:
    """Return the answer from what is recalled; none where the endpoint refuses that, as it may refuse an embedding."""
    try:
        recalled = await subject.recall(task.task.query, tokens=tokens)
    except RequestFailed as failed:
        return replace(_refused(failed), kind=kind, budget=tokens)
    answer = await answer_from(task, subject, recalled, kind=kind, budget=tokens)
    return replace(answer, recalled=tuple(recalled))


async def answer_from(
    task: ReadableTask[T], subject: Recalling, texts: Sequence[str], *, kind: AskKind, budget: int = 0
) -> Answer[T]:
    """Return the answer from these texts; none where the endpoint refuses this very request. Other requests go on."""
    try:
        answer = await ask(task, partial(subject.answer, texts))
    except RequestFailed as failed:
        answer = _refused(failed)
    return replace(answer, kind=kind, budget=budget)


def _refused(failed: RequestFailed) -> Answer[Any]:
    return Answer(None, "", 1, f"{CALL_FAILED}: {failed}")


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


def right(condition: Condition) -> Metric:
    """The share right in this condition."""
    return share(condition, "items")


# S - N: how much more is right with the memory than with none.
gain = metric_difference(right("memory"), right("none"))


def gain_share(sums: Sums) -> Array:
    """(S - N) / (O - N): the gain as a share of what the needed facts would bring; nan without room between O and N."""
    room = metric_difference(right("facts"), right("none"))(sums)
    return divided(gain(sums), np.where(room >= LEAST_ROOM, room, 0.0))


def isolated_scores(rows: Sequence[MemoryRow], *, seed: int, unasked: Sequence[str] = ()) -> IsolatedScores | None:
    """Return the scores of these rows, which are of one memory and one budget; None where no row has every condition.

    `unasked`: the cluster of each question that the memory failed before it was asked.
    """
    complete = [row for row in rows if row.complete]
    if not complete:
        return None
    items = len(complete) + len(unasked)
    sample = Sample.of(_tallies(complete, unasked), seed=seed)
    shares = {condition: sample.estimate(right(condition), within=UNIT) for condition in CONDITIONS}
    found = IsolatedScores(
        items=items,
        unasked=len(unasked),
        **shares,
        gain=sample.estimate(gain, within=GAIN),
        gain_share=sample.estimate(gain_share, within=UNIT),
    )
    if not unasked:
        return found
    # The reasoner was not asked these without the memory either; over the others alone N, O and F would be of other items.
    unknown = (*CONDITIONS[1:], "gain", "gain_share")
    return found.model_copy(update=dict.fromkeys(unknown, Estimate(value=None, low=None, high=None)))


def _tallies(complete: Sequence[MemoryRow], unasked: Sequence[str]) -> Tallies:
    """Count items, and right ones by condition, for each cluster."""
    found = dict[str, Counter[str]]()
    for row in complete:
        own = found.setdefault(row.cluster, Counter())
        own["items"] += 1
        for condition in CONDITIONS:
            own[condition] += bool(row.right(condition))
    for cluster in unasked:
        found.setdefault(cluster, Counter())["items"] += 1
    return Tallies.of(found, names=("items", *CONDITIONS))
