"""All rows of an evolution by condition and cycle, and counts of any part of them: of which users, and of which items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assets.amemgym.records.episode import Episode
from assets.reporting.intervals import Sums, Tallies
from pipelines.evaluation.metrics.counts import MEMORY_COUNTS, MEMORY_KINDS, tally
from pipelines.evaluation.records import Answer
from pipelines.experiments.evolution.records import Arm, EvolutionManifest, Fact, Feedback, Protocol, Split
from pipelines.experiments.evolution.splits import SPLITS, taught_questions, taught_variables, users_of


@dataclass(frozen=True)
class View:
    """Users and items that are scored together."""

    protocol: Protocol
    split: Split


@dataclass(frozen=True)
class Items:
    """The questions and variables of one user that a view counts."""

    questions: frozenset[str]
    variables: frozenset[str]


@dataclass(frozen=True)
class Book:
    """Answers and facts by arm and cycle, and the baselines' answers."""

    manifest: EvolutionManifest
    episodes: Sequence[Episode]
    answers: Mapping[tuple[str, int], Sequence[Answer]]
    facts: Mapping[tuple[str, int], Sequence[Fact]]
    baselines: Sequence[Answer]

    def tallies(self, view: View, feedback: Feedback, *, cycles: Sequence[int]) -> Tallies:
        """Counts of the view in these cycles under this feedback, by user and period."""
        arm = Arm(feedback=feedback, protocol=view.protocol).name
        items = {episode.user_id: items_of(self.manifest, episode, view) for episode in self.episodes}
        rows = [answer for cycle in cycles for answer in (*self.answers[arm, cycle], *self._bounds(cycle))]
        counted = [row for row in rows if row.kind in MEMORY_KINDS and row.item in items[row.user_id].questions]
        users = users_of(self.manifest, view.split, protocol=view.protocol)
        periods = max(len(episode.periods) for episode in self.episodes)
        counts = tally(counted, users=users, periods=periods).counts
        told = [fact for cycle in cycles for fact in self.facts[arm, cycle]]
        known = [fact for fact in told if fact.variable in items[fact.user_id].variables]
        needed = {name: counts[name] for name in MEMORY_COUNTS}
        return Tallies(tuple(users), {**needed, **_recalled(known, users=users, periods=periods)})

    def _bounds(self, cycle: int) -> Sequence[Answer]:
        """The baselines of a cycle's periods."""
        whole = self.manifest.cycle == "episode"
        return [answer for answer in self.baselines if whole or answer.period == cycle]


def _recalled(facts: Sequence[Fact], *, users: Sequence[str], periods: int) -> Sums:
    rows = {user: row for row, user in enumerate(users)}
    counts: Sums = {name: np.zeros((len(rows), periods)) for name in ("fact.scored", "fact.supported")}
    for fact in facts:
        if fact.user_id in rows and fact.supported != "unscored":
            counts["fact.scored"][rows[fact.user_id], fact.period] += 1
            counts["fact.supported"][rows[fact.user_id], fact.period] += fact.supported == "yes"
    return counts


def views(manifest: EvolutionManifest) -> list[View]:
    """All that is scored, by protocol."""
    return [View(protocol, split) for protocol in manifest.protocols for split in SPLITS[protocol]]


def items_of(manifest: EvolutionManifest, episode: Episode, view: View) -> Items:
    """What of one user belongs to the view. A new variable is one that no question needs of which feedback tells."""
    questions = frozenset(question.question_id for question in episode.questions)
    variables = frozenset(episode.state_schema.choices)
    taught = taught_questions(manifest, episode, protocol=view.protocol)
    needed = variables if view.protocol == "paper" else taught_variables(episode, taught)
    if view.split == "seen":
        return Items(taught, needed)
    return Items(questions - taught, variables - needed)
