"""What the gates let pass: how often queries tell more than their labels, and what a judge that guesses would accept."""

import math
from collections.abc import Iterable

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import LeakLine
from assets.records.base import GateRecord
from assets.reporting.user_share import UserShare


class LeakCounter:
    """Counts the queries that tell more or less than they are labelled with, user by user."""

    def __init__(self) -> None:
        self._drafts, self._accepted, self._untold = UserShare(), UserShare(), UserShare()

    def add_votes(self, votes: Iterable[GateRecord]) -> None:
        """Take one user's votes: the first on each first draft says what drafts tell."""
        first = [vote for vote in votes if vote.gate == "exposure" and not (vote.draft or vote.refinement or vote.vote)]
        self._drafts.add(sum(bool(vote.reading.keys() - vote.target.keys()) for vote in first), len(first))

    def add_audit(self, audit: UserAudit) -> None:
        """Take one user's queries that were read again."""
        self._accepted.add(sum(bool(one.leaked) for one in audit.queries), len(audit.queries))
        self._untold.add(sum(not one.told for one in audit.queries), len(audit.queries))

    def line(self) -> LeakLine | None:
        """None where no query was read again."""
        if not self._accepted.items:
            return None
        return LeakLine(
            drafts=self._drafts.estimate(),
            accepted=self._accepted.estimate(),
            untold=self._untold.estimate(),
            queries=self._accepted.items,
        )


class GuessCounter:
    """What judges that guess would accept: the mean chance of each gate over all items."""

    def __init__(self, recipe: AMemGymRecipe) -> None:
        self._policy = recipe.gates
        self._chances: dict[str, tuple[float, int]] = {}

    def add(self, episode: Episode) -> None:
        more = int(self._policy.cannot_tell)
        options = {name: len(choices) + more for name, choices in episode.state_schema.choices.items()}
        everything = math.prod(1 / count for count in options.values())
        for period in episode.periods:
            for session in period.sessions:
                own = math.prod(1 / options[name] for name in session.exposed_states)
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
        """By the gates of an item, how often a wrong one would be accepted over all its texts."""
        answer = ("recovery", "choice") if self._policy.reverse else ("recovery",)
        gates = {"exposure": ("exposure",), "event": ("event",), "answer": answer}
        means = {kind: total / items for kind, (total, items) in self._chances.items()}
        return {
            " and ".join(gates[kind]): round(self._policy.false_accept(dict.fromkeys(gates[kind], mean)), 6)
            for kind, mean in sorted(means.items(), reverse=True)
        }
