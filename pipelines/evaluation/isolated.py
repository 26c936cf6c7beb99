"""Memory-isolated scores: the same reasoner, budget and seed with a memory (S), none (N), the needed facts (O), everything (F).

S - N is what the memory brings; (S - N) / (O - N) is how much of what a perfect memory would bring. The benchmark says how a
task is asked and graded, which facts it needs, and who shares an episode, such as a user: items of one are resampled together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, Protocol, TypeVar, cast, get_args

import numpy as np
from pydantic import Field

from assets.llm.ports import RequestFailed
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import Array, Metric, Sample, Sums, Tallies, divided, share
from pipelines.evaluation.contract import Task, cut_to_budget, newest_within
from pipelines.evaluation.hosting import HostedMemory
from pipelines.evaluation.reasoning import CONTEXT_TOKENS, Answer, GiveAnswer, ReadableTask, Reasoner, ask, gather_all
from pipelines.evaluation.records import CALL_FAILED, AskKind, RunManifest

T = TypeVar("T")
Condition = Literal["memory", "none", "facts", "everything"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
KIND_OF: dict[Condition, AskKind] = {"memory": "question", "none": "no_memory", "facts": "facts", "everything": "everything"}
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


def contents_of(
    *, recalled: Sequence[str], facts: Sequence[str], everything: Sequence[str], tokens: int
) -> dict[Condition, Sequence[str]]:
    """What fills the recall slot in each condition. The reasoner's context alone bounds everything; the oldest go first."""
    return {
        "memory": cut_to_budget(recalled, tokens),
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
    memory: HostedMemory | None = None

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return await self.memory.recall(query, tokens=tokens) if self.memory else []

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        return await self.reasoner.answer(recalled, task)


@dataclass(frozen=True)
class GivenAnswer(Generic[T]):
    """An answer, as what it counts, and the texts of the memory that it was given from, at which budget."""

    kind: AskKind
    outcome: Answer[T]
    recalled: Sequence[str] = ()
    budget: int = 0


async def ask_or_give_up(task: ReadableTask[T], give_answer: GiveAnswer) -> Answer[T]:
    """The answer; none where the endpoint refuses this very request. Others go on."""
    try:
        return await ask(task, give_answer)
    except RequestFailed as failed:
        return Answer(None, "", 1, f"{CALL_FAILED}: {failed}")


async def answer_in_conditions(
    task: ReadableTask[T],
    subject: Recalling,
    bare: Recalling,
    *,
    facts: Sequence[str],
    everything: Sequence[str],
    manifest: RunManifest,
) -> list[GivenAnswer[T]]:
    """The answer from the memory first, then those in the run's other conditions, and at the budgets of its curve."""
    try:
        recalled = await subject.recall(task.task.query, tokens=manifest.tokens)
    except RequestFailed as failed:  # of an embedding
        return [GivenAnswer("question", Answer[T](None, "", 1, f"{CALL_FAILED}: {failed}"))]
    contents = contents_of(recalled=recalled, facts=facts, everything=everything, tokens=manifest.tokens)

    async def in_condition(condition: Condition) -> GivenAnswer[T]:
        texts, own = contents[condition], condition == "memory"
        outcome = await ask_or_give_up(task, partial((subject if own else bare).answer, texts))
        return GivenAnswer(KIND_OF[condition], outcome, texts if own else (), manifest.tokens)

    async def at_budget(tokens: int) -> GivenAnswer[T]:
        texts = await subject.recall(task.task.query, tokens=tokens)
        return GivenAnswer("at_budget", await ask_or_give_up(task, partial(subject.answer, texts)), texts, tokens)

    others = [in_condition(cast(Condition, name)) for name in manifest.conditions]
    return await gather_all([in_condition("memory"), *others, *map(at_budget, manifest.curve)])


class EventRow(Record):
    """Something that was perceived; the rows of one cluster and length are in order of time."""

    cluster: str = Field(description="whose episode it is, such as the user's id, or of which task over documents")
    length: int = Field(default=0, description="length that was wanted of all documents, in tokens; 0 where there is none")
    text: str = Field(description="the words")
    kind: str = Field(description="user, assistant, document or tool")
    at: str = Field(description="time in the episode; empty where it has none")
    source: str = Field(description="what names it, such as a title")


class IsolatedScores(Record):
    """Shares right by condition over the items that have all, and what the memory brings, with intervals over clusters.

    `gain` is S - N and `gain_share` (S - N) / (O - N); the latter does not exist where O is no better than N by a margin.
    """

    items: int
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


def isolated_scores(rows: Sequence[MemoryRow], *, seed: int) -> IsolatedScores | None:
    """The scores of these rows, which are of one memory and one budget; None where no row has every condition."""
    complete = [row for row in rows if all(row.right(condition) is not None for condition in CONDITIONS)]
    if not complete:
        return None
    clusters = list(dict.fromkeys(row.cluster for row in complete))
    counts: Sums = {name: np.zeros((len(clusters), 1)) for name in ("items", *CONDITIONS)}
    for row in complete:
        place = clusters.index(row.cluster), 0
        counts["items"][place] += 1
        for condition in CONDITIONS:
            counts[condition][place] += bool(row.right(condition))
    sample = Sample.of(Tallies(tuple(clusters), counts), seed=seed)
    return IsolatedScores(
        items=len(complete),
        **{condition: sample.estimate(right(condition)) for condition in CONDITIONS},
        gain=sample.estimate(gain),
        gain_share=sample.estimate(gain_share),
    )
