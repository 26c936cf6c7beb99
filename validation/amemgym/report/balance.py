"""Count how states move, how often right options change, and how often each position among the options is right."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import OptionPosition, StateMovement
from assets.amemgym.state_trajectory.quality import (
    balance,
    change_counts,
    count_golden_changes,
    periods_held,
    ping_pongs,
    unvisited,
)

DIGITS = 4  # of a share; a fifth would be noise


class MovementCounter:
    """Count how states move, over all users and variables. `min_periods_held`: as the recipe asks."""

    def __init__(self, *, min_periods_held: int | None = None) -> None:
        self._asked = min_periods_held
        self._held = Counter[int]()
        self._periods: int | None = None
        self._counts = Counter[str]()
        self._evenness = 0.0
        self._changes = Counter[int]()
        self._golden = Counter[int]()
        self._choice_counts: defaultdict[int, Counter[int]] = defaultdict(Counter)

    def add(self, episode: Episode) -> None:
        choices = episode.state_schema.choices
        self._counts.update(
            variables=len(episode.state_schema.variables),
            choices=sum(map(len, choices.values())),
            missing=sum(map(len, unvisited(episode.periods, choices).values())),
            returns=len(ping_pongs(episode.periods)),
            questions=len(episode.questions),
            steps=len(episode.questions) * (len(episode.periods) - 1),
        )
        for share in balance(episode.periods, choices).values():
            self._evenness += share
        self._changes.update(change_counts(episode.periods).values())
        required = list(map(attrgetter("required_info"), episode.questions))
        for index, held in periods_held(episode.periods, required):
            self._held[held] += 1
            if self._asked is not None and index >= self._asked:
                self._counts.update(askable=1, as_asked=held >= self._asked)
        for index, count in enumerate(count_golden_changes(episode.periods, required)):
            self._golden[index] += count
        for index, period in enumerate(episode.periods):
            self._counts["updates"] += len(period.updates)
            for name, own in choices.items():
                self._choice_counts[index][own.index(period.state[name])] += 1
        # Users of another set may have fewer periods; the shares are over those that all have.
        self._periods = min(len(episode.periods), self._periods or len(episode.periods))

    def golden_share(self) -> float:
        """Return how often a right option is another than a period before."""
        return _rounded(self._golden.total() / max(1, self._counts["steps"]))

    def movement(self) -> StateMovement | None:
        """Return the shares and counts over all users that were added; None without users."""
        if self._periods is None:
            return None
        counts = self._counts
        return StateMovement(
            choice_shares=tuple([_shares(self._choice_counts[index]) for index in range(self._periods)]),
            choices_reached=_rounded(1 - counts["missing"] / max(1, counts["choices"])),
            evenness=_rounded(self._evenness / max(1, counts["variables"])),
            changes={str(changes): variables for changes, variables in sorted(self._changes.items())},
            returns=_rounded(counts["returns"] / max(1, counts["updates"])),
            golden_changes=tuple(
                [_rounded(self._golden[index] / max(1, counts["questions"])) for index in range(self._periods - 1)]
            ),
            held=tuple(self._held_shares()),
            min_periods_held=self._asked,
            held_as_asked=_rounded(counts["as_asked"] / counts["askable"]) if counts["askable"] else None,
        )

    def _held_shares(self) -> Iterator[float]:
        """Yield by number of periods the share of pairs whose oldest needed value has been held for so many or more."""
        longer = self._held.total()
        for periods in range(max(self._held, default=-1) + 1):
            yield _rounded(longer / self._held.total())
            longer -= self._held[periods]


def _shares(counts: Counter[int]) -> tuple[float, ...]:
    return tuple([_rounded(counts[index] / counts.total()) for index in range(max(counts, default=-1) + 1)])


@dataclass
class _PositionCounts:
    """The options at one position: how many, their share of right periods, and lengths by whether they are ever right."""

    options: int = 0
    right: float = 0.0
    texts: Counter[bool] = field(default_factory=Counter[bool])
    characters: Counter[bool] = field(default_factory=Counter[bool])

    def length(self, *, right: bool) -> float | None:
        """The mean number of characters; None where no option is of this kind."""
        return round(self.characters[right] / self.texts[right], 1) if self.texts[right] else None


class PositionCounter:
    """Count options by their position as shown; an option is right by its share of the periods."""

    def __init__(self) -> None:
        self._positions: defaultdict[int, _PositionCounts] = defaultdict(_PositionCounts)

    def add(self, episode: Episode) -> None:
        for question in episode.questions:
            golden = Counter(question.golden)
            for number, choice in enumerate(question.answer_choices, start=1):
                position = self._positions[number]
                right = golden[choice.choice_id] > 0
                position.options += 1
                position.right += golden[choice.choice_id] / len(question.golden)
                position.texts[right] += 1
                position.characters[right] += len(choice.answer)

    def lines(self) -> Iterator[OptionPosition]:
        for number, position in sorted(self._positions.items()):
            yield OptionPosition(
                position=number,
                options=position.options,
                right=_rounded(position.right / position.options),
                right_length=position.length(right=True),
                other_length=position.length(right=False),
            )


def _rounded(share: float) -> float:
    return round(share, DIGITS)
