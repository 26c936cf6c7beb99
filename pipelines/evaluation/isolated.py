"""Memory-isolated scores: the same reasoner, budget and seed with a memory (S), none (N), the needed facts (O), everything (F).

S - N is what the memory brings; (S - N) / (O - N) is how much of what a perfect memory would bring. The benchmark says how a
task is asked and graded, which facts it needs, and who shares an episode, such as a user: items of one are resampled together.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypeVar, get_args

import numpy as np
from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import Array, Metric, Sample, Sums, Tallies, divided, share
from pipelines.evaluation.contract import cut_to_budget, newest_within
from pipelines.evaluation.reasoning import CONTEXT_TOKENS

A = TypeVar("A")
Condition = Literal["memory", "none", "facts", "everything"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
ROOM_FOR_TASK = 8_000  # tokens of the context


class MemoryRow(Record):
    """One task, the memory that it was answered from, and whether it was right: what a reward model of memories learns from."""

    cluster: str = Field(description="whose episode it is, such as the user's id")
    item: str = Field(description="the task's id")
    turn: int = Field(description="after which turn or period it was asked, from 0")
    query: str = Field(description="what was asked, word for word; the memory sees it without its instructions")
    written: int = Field(description="events that had been written: so many of the cluster's first rows in events.parquet")
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


async def answer_in_each(
    answer: Callable[[Sequence[str]], Awaitable[A]], contents: Mapping[Condition, Sequence[str]]
) -> dict[Condition, A]:
    """The answers from each of these contents of the recall slot, all asked at once."""
    answers = await asyncio.gather(*(answer(texts) for texts in contents.values()))
    return dict(zip(contents, answers, strict=True))


class EventRow(Record):
    """Something that was perceived; the rows of one cluster are in order of time."""

    cluster: str = Field(description="whose episode it is, such as the user's id")
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
