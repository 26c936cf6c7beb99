"""Scores of every cycle and split with user-clustered intervals, and gains over a policy that never changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assets.amemgym.records.episode import Episode
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import GAIN, Array, Metric, Sums, Tallies, share
from pipelines.evaluation.metrics.metrics import MEMORY_COUNTS, METRICS, tally_answers
from pipelines.evaluation.records import AnswerRow
from pipelines.experiments.evolution.plan import SPLITS, scored_users, taught_questions, taught_variables
from pipelines.experiments.evolution.records import Condition, EvolutionManifest, Feedback, Protocol, RecalledFact, Split
from pipelines.experiments.scoring.paired import Paired, compare_paired, merge_tallies, part

ALL_CYCLES = -1  # no cycle's number
SHOWN = ("memory", "overall", "write_failure", "read_failure", "utilization_failure", "undiagnosed")
CYCLE_METRICS: dict[str, Metric] = {name: METRICS[name] for name in SHOWN}
CYCLE_METRICS["factual_recall"] = share("fact.supported", "fact.scored")
GAINS = ("memory", "write_failure", "read_failure", "utilization_failure", "factual_recall")  # the memory first: its p is shown


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
        items: dict[str, ScoredItems] = {}
        periods = 0
        for episode in self.episodes:
            items[episode.user_id] = items_of(self.manifest, episode, view)
            periods = max(periods, len(episode.periods))
        answers: list[AnswerRow] = []
        facts: list[RecalledFact] = []
        for cycle in cycles:
            # A cycle is a period.
            bounds = [answer for answer in self.baselines if answer.period == cycle]
            for answer in (*self.answers[arm, cycle], *bounds):
                asked = answer.probe or answer.item
                if answer.kind in ("question", "upper_bound", "state") and asked in items[answer.user_id].questions:
                    answers.append(answer)
            for fact in self.facts[arm, cycle]:
                if fact.variable in items[fact.user_id].variables:
                    facts.append(fact)
        users = scored_users(self.manifest, view.split, protocol=view.protocol)
        counts = tally_answers(answers, users=users, periods=periods).counts
        needed = {name: counts[name] for name in MEMORY_COUNTS}
        return Tallies(tuple(users), {**needed, **_recall_sums(facts, users=users, periods=periods)})


def _recall_sums(facts: Sequence[RecalledFact], *, users: Sequence[str], periods: int) -> Sums:
    scored_facts = np.zeros((len(users), periods))
    supported = np.zeros((len(users), periods))
    for fact in facts:
        if fact.user_id in users and fact.supported != "unscored":
            row = users.index(fact.user_id)
            scored_facts[row, fact.period] += 1
            supported[row, fact.period] += fact.supported == "yes"
    return {"fact.scored": scored_facts, "fact.supported": supported}


def scored_parts(manifest: EvolutionManifest) -> list[ScoredPart]:
    """Return every protocol with each of its splits."""
    parts: list[ScoredPart] = []
    for protocol in manifest.protocols:
        for split in SPLITS[protocol]:
            parts.append(ScoredPart(protocol, split))
    return parts


def items_of(manifest: EvolutionManifest, episode: Episode, view: ScoredPart) -> ScoredItems:
    """Return what of one user belongs to the view. A new variable is one that no question needs of which feedback tells."""
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

    @property
    def estimate(self) -> Estimate:
        return Estimate(value=self.value, low=self.low, high=self.high)


class Gain(Record):
    """The gain of feedback over none, in all cycles after the first, over the same users and items."""

    protocol: Protocol
    split: Split
    feedback: Feedback
    change: Paired


class Leak(Record):
    """The surplus that was gained on the questions that feedback held than on held-out ones of the same users.

    Near zero: the policy learned what to remember. Far above: it learned these questions.
    """

    feedback: Feedback
    metric: str
    excess: Estimate


def score_rows(rows: EvolutionRows) -> list[Score]:
    """Return the scores of every condition, split and cycle, and those over all cycles."""
    cycles: dict[int, Sequence[int]] = {cycle: [cycle] for cycle in range(rows.manifest.cycles)}
    cycles[ALL_CYCLES] = range(rows.manifest.cycles)
    scores: list[Score] = []
    for view in scored_parts(rows.manifest):
        for feedback in rows.manifest.feedbacks:
            for cycle, included in cycles.items():
                scores.extend(_cycle_scores(rows, view, feedback=feedback, cycle=cycle, included=included))
    return scores


def _cycle_scores(
    rows: EvolutionRows, view: ScoredPart, *, feedback: Feedback, cycle: int, included: Sequence[int]
) -> Iterator[Score]:
    """Yield every metric over the `included` cycles, labelled as `cycle`."""
    tallies = rows.tallies(view, feedback, cycles=included)
    for name, metric in CYCLE_METRICS.items():
        estimate = tallies.estimate(metric)
        yield Score(
            protocol=view.protocol,
            split=view.split,
            feedback=feedback,
            cycle=cycle,
            metric=name,
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
        )


def gains(rows: EvolutionRows) -> list[Gain]:
    """Compare every feedback with none, over the cycles after the first.

    Returns nothing where there is only one cycle, or no condition without feedback.
    """
    feedbacks = rows.manifest.feedbacks
    # The first cycle runs before any feedback, so it cannot show a gain.
    later = range(1, rows.manifest.cycles)
    if not later or "none" not in feedbacks:
        return []
    metrics = {name: CYCLE_METRICS[name] for name in GAINS}
    found: list[Gain] = []
    for view in scored_parts(rows.manifest):
        without = rows.tallies(view, "none", cycles=later)
        for feedback in feedbacks:
            if feedback == "none":
                continue
            with_feedback = rows.tallies(view, feedback, cycles=later)
            for change in compare_paired(metrics, (without, with_feedback)):
                found.append(Gain(protocol=view.protocol, split=view.split, feedback=feedback, change=change))
    return found


def leaks(rows: EvolutionRows) -> list[Leak]:
    """Return the gain on seen questions minus the gain on new ones, for the users who have both."""
    manifest = rows.manifest
    later = range(1, manifest.cycles)
    if not later or "none" not in manifest.feedbacks or "held-out" not in manifest.protocols:
        return []
    seen = ScoredPart("held-out", "seen")
    new = ScoredPart("held-out", "new_questions")
    found: list[Leak] = []
    for feedback in manifest.feedbacks:
        if feedback == "none":
            continue
        # The letters are those of `excess_of`.
        four = {
            "a": rows.tallies(seen, "none", cycles=later),
            "b": rows.tallies(seen, feedback, cycles=later),
            "c": rows.tallies(new, "none", cycles=later),
            "d": rows.tallies(new, feedback, cycles=later),
        }
        tallies = merge_tallies(four)
        for name in GAINS:
            excess = tallies.estimate(excess_of(CYCLE_METRICS[name]))
            found.append(Leak(feedback=feedback, metric=name, excess=excess))
    return found


def excess_of(metric: Metric) -> Metric:
    """Return (b - a) - (d - c) of the metric over merged tallies."""

    def excess(sums: Sums) -> Array:
        seen = metric(part("b", sums)) - metric(part("a", sums))
        new = metric(part("d", sums)) - metric(part("c", sums))
        return seen - new

    return Metric(excess, f"a {metric.over}", within=(2 * GAIN[0], 2 * GAIN[1]))
