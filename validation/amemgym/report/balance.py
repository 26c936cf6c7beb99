"""Count how states move, and how often right options change."""

from collections import Counter, defaultdict
from operator import attrgetter

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import StateMovement
from assets.amemgym.state_trajectory.quality import (
    balance,
    count_golden_changes,
    unvisited_choices,
)

DIGITS = 4  # of a share; a fifth would be noise


class MovementCounter:
    """Count how states move, over all users and variables."""

    def __init__(self) -> None:
        self._periods: int | None = None
        self._counts = Counter[str]()
        self._evenness = 0.0
        self._choice_counts: defaultdict[int, Counter[int]] = defaultdict(Counter)

    def add(self, episode: Episode) -> None:
        choices = episode.state_schema.choices
        self._counts.update(
            variables=len(episode.state_schema.variables),
            choices=sum(map(len, choices.values())),
            missing=sum(map(len, unvisited_choices(episode.periods, choices).values())),
            steps=len(episode.questions) * (len(episode.periods) - 1),
        )
        for share in balance(episode.periods, choices).values():
            self._evenness += share
        required = list(map(attrgetter("required_info"), episode.questions))
        self._counts["golden"] += sum(count_golden_changes(episode.periods, required))
        for index, period in enumerate(episode.periods):
            for name, own in choices.items():
                self._choice_counts[index][own.index(period.state[name])] += 1
        # Users of another set may have fewer periods; the shares are over those that all have.
        self._periods = min(len(episode.periods), self._periods or len(episode.periods))

    def golden_share(self) -> float:
        """Return how often a right option is another than a period before."""
        return _round_share(self._counts["golden"] / max(1, self._counts["steps"]))

    def movement(self) -> StateMovement | None:
        """Return the shares over all users that were added; None without users."""
        if self._periods is None:
            return None
        counts = self._counts
        return StateMovement(
            choice_shares=tuple([_shares(self._choice_counts[index]) for index in range(self._periods)]),
            choices_reached=_round_share(1 - counts["missing"] / max(1, counts["choices"])),
            evenness=_round_share(self._evenness / max(1, counts["variables"])),
        )


def _shares(counts: Counter[int]) -> tuple[float, ...]:
    return tuple([_round_share(counts[index] / counts.total()) for index in range(max(counts, default=-1) + 1)])


def _round_share(share: float) -> float:
    return round(share, DIGITS)
