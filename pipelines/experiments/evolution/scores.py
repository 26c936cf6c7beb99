"""Scores of every cycle and split with user-clustered intervals, and gains over a policy that never changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assets.amemgym.records.episode import Episode
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import GAIN, UNIT, Array, Metric, Sample, Sums, Tallies, share
from pipelines.evaluation.metrics.metrics import MEMORY_COUNTS, MEMORY_KINDS, METRICS, tally
from pipelines.evaluation.records import AnswerRow
from pipelines.experiments.evolution.plan import SPLITS, taught_questions, taught_variables, users_of
from pipelines.experiments.evolution.records import Condition, EvolutionManifest, Feedback, Protocol, RecalledFact, Split
from pipelines.experiments.paired import Paired, merged, paired, part

ALL_CYCLES = -1
SHOWN = ("memory", "memory_of_means", "overall", "write_failure", "read_failure", "utilization_failure", "undiagnosed")
CYCLE_METRICS: dict[str, Metric] = {
    **{name: METRICS[name] for name in SHOWN},
    "factual_recall": share("fact.supported", "fact.scored"),
}
GAINS = ("memory", "write_failure", "read_failure", "utilization_failure", "factual_recall")


@dataclass(frozen=True)
class ScoredPart:
    """Users and items that are scored together."""

    protocol: Protocol
    split: Split


@dataclass(frozen=True)
class ScoredItems:
    """The questions and variables of one user that a view counts."""

    questions: frozenset[str]
    variables: frozenset[str]


@dataclass(frozen=True)
class EvolutionRows:
    """Answers and facts by arm and cycle, and the baselines' answers."""

    manifest: EvolutionManifest
    episodes: Sequence[Episode]
    answers: Mapping[tuple[str, int], Sequence[AnswerRow]]
    facts: Mapping[tuple[str, int], Sequence[RecalledFact]]
    baselines: Sequence[AnswerRow]

    def tallies(self, view: ScoredPart, feedback: Feedback, *, cycles: Sequence[int]) -> Tallies:
        """Counts of the view in these cycles under this feedback, by user and period."""
        arm = Condition(feedback=feedback, protocol=view.protocol).name
        items = {episode.user_id: items_of(self.manifest, episode, view) for episode in self.episodes}
        rows = [answer for cycle in cycles for answer in (*self.answers[arm, cycle], *self._bounds(cycle))]
        counted = [row for row in rows if row.kind in MEMORY_KINDS and row.item in items[row.user_id].questions]
        users = users_of(self.manifest, view.split, protocol=view.protocol)
        periods = max(len(episode.periods) for episode in self.episodes)
        counts = tally(counted, users=users, periods=periods).counts
        facts = [fact for cycle in cycles for fact in self.facts[arm, cycle]]
        known = [fact for fact in facts if fact.variable in items[fact.user_id].variables]
        needed = {name: counts[name] for name in MEMORY_COUNTS}
        return Tallies(tuple(users), {**needed, **_recalled(known, users=users, periods=periods)})

    def _bounds(self, cycle: int) -> Sequence[AnswerRow]:
        """The baselines of a cycle's periods."""
        whole = self.manifest.cycle == "episode"
        return [answer for answer in self.baselines if whole or answer.period == cycle]


def _recalled(facts: Sequence[RecalledFact], *, users: Sequence[str], periods: int) -> Sums:
    rows = {user: row for row, user in enumerate(users)}
    counts: Sums = {name: np.zeros((len(rows), periods)) for name in ("fact.scored", "fact.supported")}
    for fact in facts:
        if fact.user_id in rows and fact.supported != "unscored":
            counts["fact.scored"][rows[fact.user_id], fact.period] += 1
            counts["fact.supported"][rows[fact.user_id], fact.period] += fact.supported == "yes"
    return counts


def scored_parts(manifest: EvolutionManifest) -> list[ScoredPart]:
    """All that is scored, by protocol."""
    return [ScoredPart(protocol, split) for protocol in manifest.protocols for split in SPLITS[protocol]]


def items_of(manifest: EvolutionManifest, episode: Episode, view: ScoredPart) -> ScoredItems:
    """What of one user belongs to the view. A new variable is one that no question needs of which feedback tells."""
    questions = frozenset(question.question_id for question in episode.questions)
    variables = frozenset(episode.state_schema.choices)
    taught = taught_questions(manifest, episode, protocol=view.protocol)
    needed = variables if view.protocol == "paper" else taught_variables(episode, taught)
    if view.split == "seen":
        return ScoredItems(taught, needed)
    return ScoredItems(questions - taught, variables - needed)


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
    """How much more was gained on the questions that feedback held than on held-out ones of the same users.

    Near zero: the policy learned what to remember. Far above: it learned these questions.
    """

    feedback: Feedback
    metric: str
    excess: Estimate


def scored(rows: EvolutionRows) -> list[Score]:
    """The scores of every condition, split and cycle, and those over all cycles."""
    cycles: list[tuple[int, Sequence[int]]] = [(cycle, [cycle]) for cycle in range(rows.manifest.cycles)]
    return [
        Score(
            protocol=view.protocol,
            split=view.split,
            feedback=feedback,
            cycle=cycle,
            metric=name,
            **estimate.model_dump(),
        )
        for view in scored_parts(rows.manifest)
        for feedback in rows.manifest.feedbacks
        for cycle, several in [*cycles, (ALL_CYCLES, range(rows.manifest.cycles))]
        for name, estimate in _estimates(rows, view, feedback=feedback, cycles=several)
    ]


def _estimates(
    rows: EvolutionRows, view: ScoredPart, *, feedback: Feedback, cycles: Sequence[int]
) -> Iterator[tuple[str, Estimate]]:
    sample = Sample.of(rows.tallies(view, feedback, cycles=cycles), seed=rows.manifest.run.seed)
    for name, metric in CYCLE_METRICS.items():
        yield name, sample.estimate(metric, within=UNIT)


def gains(rows: EvolutionRows) -> list[Gain]:
    """Every feedback against none; nothing where there is no cycle after the first, or no condition without feedback."""
    later, gained = range(1, rows.manifest.cycles), {name: CYCLE_METRICS[name] for name in GAINS}
    if not later or "none" not in rows.manifest.feedbacks:
        return []
    return [
        Gain(
            protocol=view.protocol,
            split=view.split,
            feedback=feedback,
            change=change,
        )
        for view in scored_parts(rows.manifest)
        for static in [rows.tallies(view, "none", cycles=later)]
        for feedback in rows.manifest.feedbacks
        if feedback != "none"
        for change in paired(gained, (static, rows.tallies(view, feedback, cycles=later)), seed=rows.manifest.run.seed)
    ]


def leaks(rows: EvolutionRows) -> list[Leak]:
    """The gain on seen questions minus the gain on new ones, for the users who have both."""
    later = range(1, rows.manifest.cycles)
    if not later or "none" not in rows.manifest.feedbacks or "held-out" not in rows.manifest.protocols:
        return []
    seen, new = ScoredPart("held-out", "seen"), ScoredPart("held-out", "new_questions")
    parts: dict[str, tuple[ScoredPart, Feedback]] = {"a": (seen, "none"), "c": (new, "none")}
    found = list[Leak]()
    for feedback in rows.manifest.feedbacks:
        if feedback != "none":
            four: dict[str, tuple[ScoredPart, Feedback]] = {**parts, "b": (seen, feedback), "d": (new, feedback)}
            tallies = merged({key: rows.tallies(view, feedback, cycles=later) for key, (view, feedback) in four.items()})
            sample = Sample.of(tallies, seed=rows.manifest.run.seed)
            found += [
                Leak(feedback=feedback, metric=name, excess=sample.estimate(excess_of(CYCLE_METRICS[name]), within=GAIN))
                for name in GAINS
            ]
    return found


def excess_of(metric: Metric) -> Metric:
    """(b - a) - (d - c) of the metric over merged tallies."""

    def excess(sums: Sums) -> Array:
        a, b, c, d = (metric(part(key, sums)) for key in "abcd")
        return (b - a) - (d - c)

    return excess
