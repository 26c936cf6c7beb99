"""What the card's figures show beside the quality report, counted while episodes pass by, so that none stays in memory."""

from collections import Counter
from dataclasses import dataclass, field

from assets.amemgym.records.episode import Episode
from assets.llm.tokens import count_tokens

Numbers = tuple[float, ...]
# How many texts there are of each length in tokens, from the shortest.
Histogram = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Statistics:
    """Means over users by period, 0 being the initial one, and the lengths of texts."""

    sessions: Numbers
    updates: Numbers
    queries: Histogram
    answers: Histogram


@dataclass
class StatisticsCounter:
    """Sums by period, and how often each length occurs."""

    users: int = 0
    sessions: Counter[int] = field(default_factory=Counter[int])
    updates: Counter[int] = field(default_factory=Counter[int])
    queries: Counter[int] = field(default_factory=Counter[int])
    answers: Counter[int] = field(default_factory=Counter[int])

    def add(self, episode: Episode) -> None:
        """Count one episode."""
        self.users += 1
        for index, period in enumerate(episode.periods):
            self.sessions[index] += len(period.sessions)
            self.updates[index] += len(period.updates)
            self.queries.update(count_tokens(session.query) for session in period.sessions)
        for question in episode.questions:
            self.answers.update(count_tokens(choice.answer) for choice in question.answer_choices)

    def statistics(self) -> Statistics:
        """What was counted; there has to be a user."""
        return Statistics(
            sessions=self._per_user(self.sessions),
            updates=self._per_user(self.updates),
            queries=tuple(sorted(self.queries.items())),
            answers=tuple(sorted(self.answers.items())),
        )

    def _per_user(self, counted: Counter[int]) -> Numbers:
        return tuple(counted[index] / self.users for index in range(len(self.sessions)))
