"""Memory-isolated scores: the same reasoner, budget and seed with a memory (S), none (N), the needed facts (O), everything (F).

S - N is what the memory brings; (S - N) / (O - N) is how much of what a perfect memory would bring. The benchmark says who
shares an episode, such as a user: intervals are over those.
"""

from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import NOTHING, Estimate
from assets.reporting.intervals import Array, Metric, Sums, Tallies, metric_difference, share, share_of_room
from pipelines.evaluation.isolated import CONDITIONS, Condition


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
    fact_recall: float | None = Field(
        default=None, description="share of the needed values that the recalled text spells; none where nothing spells them"
    )
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


def _gain_share(sums: Sums) -> Array:
    """(S - N) / (O - N): the gain as a share of what the needed facts would bring; nan without room between O and N."""
    room = metric_difference(right("facts"), right("none"))(sums)
    return share_of_room(gain(sums), room)


gain_share = Metric(_gain_share, "items")


def isolated_scores(rows: Sequence[MemoryRow], *, unasked: Sequence[str] = ()) -> IsolatedScores | None:
    """Return the scores of these rows, which are of one memory and one budget; None where no row has every condition.

    `unasked`: the cluster of each question that the memory failed before it was asked.
    """
    complete = [row for row in rows if row.complete]
    if not complete:
        return None
    items = len(complete) + len(unasked)
    tallies = _tallies(complete, unasked)
    shares = {condition: tallies.estimate(right(condition)) for condition in CONDITIONS}
    found = IsolatedScores(
        items=items,
        unasked=len(unasked),
        **shares,
        gain=tallies.estimate(gain),
        gain_share=tallies.estimate(gain_share),
    )
    if not unasked:
        return found
    # The reasoner was not asked these without the memory either; over the others alone N, O and F would be of other items.
    unknown = (*CONDITIONS[1:], "gain", "gain_share")
    return found.model_copy(update=dict.fromkeys(unknown, NOTHING))


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
