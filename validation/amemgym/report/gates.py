"""Measure what the gates let pass: queries that tell more than their labels, and the chances of a judge that guesses."""

import math
from collections.abc import Iterable, Sequence

from assets.amemgym.records.audit import GateErrorRate, JudgeErrorRate, UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import LeakLine
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.policies import GatePolicy
from assets.records.base import GateRecord
from assets.reporting.statistic import UserShare


class LeakCounter:
    """Count the queries that tell more or less than they are labelled with, user by user."""

    def __init__(self) -> None:
        self._drafts = UserShare()
        self._accepted = UserShare()
        self._missed = UserShare()

    def add_votes(self, votes: Iterable[GateRecord]) -> None:
        """Take one user's votes: the first on each first draft says what drafts tell."""
        drafts = 0
        leaks = 0
        for vote in votes:
            if vote.gate == "exposure" and (vote.draft, vote.refinement, vote.vote) == (0, 0, 0):
                drafts += 1
                leaks += bool(vote.reading.keys() - vote.target.keys())
        self._drafts.add(leaks, drafts)

    def add_audit(self, audit: UserAudit) -> None:
        """Take one user's queries that were read again."""
        leaks = 0
        missed = 0
        for query in audit.queries:
            leaks += bool(query.leaked)
            missed += not query.recovered
        self._accepted.add(leaks, len(audit.queries))
        self._missed.add(missed, len(audit.queries))

    def line(self) -> LeakLine | None:
        """Return the line; None when no query was read again."""
        if not self._accepted.items:
            return None
        return LeakLine(
            drafts=self._drafts.estimate(),
            accepted=self._accepted.estimate(),
            missed=self._missed.estimate(),
            queries=self._accepted.items,
        )


def promised_rates(
    errors: Sequence[GateErrorRate], readings: Sequence[JudgeErrorRate], *, policy: GatePolicy
) -> dict[str, float]:
    """Return by the gates of an item how often a wrong one would be accepted, were the errors of its readings independent.

    Readings that err together, as those of one judge on one text do, let more through: `errors` are what decoys show.
    """
    rate_of: dict[str, float] = {}
    for line in readings:
        if line.error == "false_accept":
            rate_of[line.gate] = line.share.value or 0.0
    promised: dict[str, float] = {}
    for line in errors:
        gates = line.gate.split(" and ")
        if line.error == "false_accept" and not line.kind and rate_of.keys() >= set(gates):
            promised[line.gate] = round(policy.false_accept({gate: rate_of[gate] for gate in gates}), 6)
    return promised


class GuessCounter:
    """Count what judges that guess would accept: the mean chance of each gate over all items."""

    def __init__(self, recipe: AMemGymRecipe) -> None:
        self._policy = recipe.gates
        self._chances: dict[str, tuple[float, int]] = {}

    def add(self, episode: Episode) -> None:
        more = int(self._policy.cannot_tell)
        # "Cannot tell" is one more reply that a judge may guess.
        chances = {name: 1 / (len(choices) + more) for name, choices in episode.state_schema.choices.items()}
        everything = math.prod(chances.values())
        for period in episode.periods:
            for session in period.sessions:
                own = math.prod(map(chances.__getitem__, session.exposed_states))
                self._count("exposure", everything if self._policy.unexposed else own)
                if session.event and self._policy.consistency:
                    self._count("event", everything)
        for question in episode.questions:
            for _ in question.answer_choices:
                self._count("answer", 1 / (len(question.answer_choices) + more))

    def _count(self, kind: str, chance: float) -> None:
        total, items = self._chances.get(kind, (0.0, 0))
        self._chances[kind] = total + chance, items + 1

    def rates(self) -> dict[str, float]:
        """Return by the gates of an item how often a wrong one would be accepted over all its texts."""
        answer = ("recovery", "choice") if self._policy.reverse else ("recovery",)
        gates_of = {"exposure": ("exposure",), "event": ("event",), "answer": answer}
        rates: dict[str, float] = {}
        for kind, (total, items) in sorted(self._chances.items(), reverse=True):
            gates = gates_of[kind]
            rate = self._policy.false_accept(dict.fromkeys(gates, total / items))
            rates[" and ".join(gates)] = round(rate, 6)
        return rates
