"""Scores of every cycle and split with user-clustered intervals, and what learning gained over a policy that never changes."""

from collections.abc import Iterator, Sequence

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import Array, Metric, Sample, Sums, share
from pipelines.evaluation.metrics.metrics import METRICS
from pipelines.evaluation.metrics.paired import Paired, merged, paired, part
from pipelines.experiments.evolution.book import Book, View, views
from pipelines.experiments.evolution.records import Feedback, Protocol, Split

ALL_CYCLES = -1
SHOWN = ("memory", "memory_of_means", "overall", "write_failure", "read_failure", "utilization_failure", "undiagnosed")
CYCLE_METRICS: dict[str, Metric] = {
    **{name: METRICS[name] for name in SHOWN},
    "factual_recall": share("fact.supported", "fact.scored"),
}
GAINS = ("memory", "write_failure", "read_failure", "utilization_failure", "factual_recall")


class Score(Record):
    """One metric of one condition, split and cycle (-1: over all cycles, as in Table 3), with its 95 % interval over users."""

    protocol: Protocol
    split: Split
    feedback: Feedback
    cycle: int
    metric: str
    value: float | None
    low: float | None
    high: float | None


class Gain(Record):
    """What feedback brought over none, in all cycles after the first, over the same users and items."""

    protocol: Protocol
    split: Split
    feedback: Feedback
    change: Paired


class Leak(Record):
    """How much more was gained on the questions that feedback told than on held-out ones of the same users.

    Near zero: the policy learned what to remember. Far above: it learned these questions.
    """

    feedback: Feedback
    metric: str
    excess: Estimate


def scored(book: Book) -> list[Score]:
    """Every condition, split and cycle."""
    cycles: list[tuple[int, Sequence[int]]] = [(one, [one]) for one in range(book.manifest.cycles)]
    return [
        Score(
            protocol=view.protocol,
            split=view.split,
            feedback=feedback,
            cycle=cycle,
            metric=name,
            **estimate.model_dump(),
        )
        for view in views(book.manifest)
        for feedback in book.manifest.feedbacks
        for cycle, several in [*cycles, (ALL_CYCLES, range(book.manifest.cycles))]
        for name, estimate in _estimates(book, view, feedback=feedback, cycles=several)
    ]


def _estimates(book: Book, view: View, *, feedback: Feedback, cycles: Sequence[int]) -> Iterator[tuple[str, Estimate]]:
    sample = Sample.of(book.tallies(view, feedback, cycles=cycles), seed=book.manifest.run.seed)
    for name, metric in CYCLE_METRICS.items():
        yield name, sample.estimate(metric)


def gains(book: Book) -> list[Gain]:
    """Every feedback against none; nothing where there is no cycle after the first, or no condition without feedback."""
    later, gained = range(1, book.manifest.cycles), {name: CYCLE_METRICS[name] for name in GAINS}
    if not later or "none" not in book.manifest.feedbacks:
        return []
    return [
        Gain(
            protocol=view.protocol,
            split=view.split,
            feedback=feedback,
            change=change,
        )
        for view in views(book.manifest)
        for static in [book.tallies(view, "none", cycles=later)]
        for feedback in book.manifest.feedbacks
        if feedback != "none"
        for change in paired(gained, (static, book.tallies(view, feedback, cycles=later)), seed=book.manifest.run.seed)
    ]


def leaks(book: Book) -> list[Leak]:
    """The gain on seen questions minus the gain on new ones, for the users who have both."""
    later = range(1, book.manifest.cycles)
    if not later or "none" not in book.manifest.feedbacks or "held-out" not in book.manifest.protocols:
        return []
    seen, new = View("held-out", "seen"), View("held-out", "new_questions")
    parts: dict[str, tuple[View, Feedback]] = {"a": (seen, "none"), "c": (new, "none")}
    found = list[Leak]()
    for feedback in book.manifest.feedbacks:
        if feedback != "none":
            four: dict[str, tuple[View, Feedback]] = {**parts, "b": (seen, feedback), "d": (new, feedback)}
            tallies = merged({key: book.tallies(view, told, cycles=later) for key, (view, told) in four.items()})
            sample = Sample.of(tallies, seed=book.manifest.run.seed)
            found += [
                Leak(feedback=feedback, metric=name, excess=sample.estimate(excess_of(CYCLE_METRICS[name]))) for name in GAINS
            ]
    return found


def excess_of(metric: Metric) -> Metric:
    """(b - a) - (d - c) of the metric over merged tallies."""

    def excess(sums: Sums) -> Array:
        a, b, c, d = (metric(part(key, sums)) for key in "abcd")
        return (b - a) - (d - c)

    return excess
