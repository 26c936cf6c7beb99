"""How states move, and how options lie: the figures that show a leaning set at a glance, counted while users pass by."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from assets.amemgym.records.episode import Episode
from assets.amemgym.state_trajectory.quality import balance, change_counts, golden_changes, ping_pongs, unvisited
from assets.records.report import Motion, PlaceLine

DIGITS = 4


class Movement:
    """How states move, over all users and variables."""

    def __init__(self) -> None:
        self._periods: int | None = None
        self._counts = Counter[str]()
        self._evenness = 0.0
        self._changes, self._golden = Counter[int](), Counter[int]()
        self._held: defaultdict[int, Counter[int]] = defaultdict(Counter)

    def add(self, episode: Episode) -> None:
        """Take one user."""
        choices = episode.state_schema.choices
        self._counts.update(
            variables=len(episode.state_schema.variables),
            choices=sum(map(len, choices.values())),
            missing=sum(map(len, unvisited(episode.periods, choices).values())),
            updates=sum(len(period.updates) for period in episode.periods),
            returns=len(ping_pongs(episode.periods)),
            questions=len(episode.questions),
        )
        for share in balance(episode.periods, choices).values():
            self._evenness += share
        self._changes.update(change_counts(episode.periods).values())
        self._golden.update(dict(enumerate(golden_changes(episode.periods, [one.required_info for one in episode.questions]))))
        for index, period in enumerate(episode.periods):
            self._held[index].update(own.index(period.state[name]) for name, own in choices.items())
        self._periods = min(len(episode.periods), self._periods or len(episode.periods))

    def motion(self) -> Motion | None:
        """What was counted; None without users."""
        if self._periods is None:
            return None
        counts = self._counts
        return Motion(
            choice_shares=tuple(_shares(self._held[index]) for index in range(self._periods)),
            choices_reached=_rounded(1 - counts["missing"] / max(1, counts["choices"])),
            evenness=_rounded(self._evenness / max(1, counts["variables"])),
            changes={str(count): self._changes[count] for count in sorted(self._changes)},
            returns=_rounded(counts["returns"] / max(1, counts["updates"])),
            golden_changes=tuple(
                _rounded(self._golden[index] / max(1, counts["questions"])) for index in range(self._periods - 1)
            ),
        )


def _shares(held: Counter[int]) -> tuple[float, ...]:
    return tuple(_rounded(held[place] / held.total()) for place in range(max(held, default=-1) + 1))


@dataclass
class Place:
    """The options at one place: how many, the periods in which they are right, and lengths by whether they ever are."""

    options: int = 0
    right: float = 0.0
    texts: Counter[bool] = field(default_factory=Counter[bool])
    characters: Counter[bool] = field(default_factory=Counter[bool])

    def length(self, *, right: bool) -> float | None:
        """The mean number of characters."""
        return round(self.characters[right] / self.texts[right], 1) if self.texts[right] else None


class Places:
    """By place among the options shown; "right" weighs an option by its share of the periods."""

    def __init__(self) -> None:
        self._places: defaultdict[int, Place] = defaultdict(Place)

    def add(self, episode: Episode) -> None:
        """Take one user."""
        for question in episode.questions:
            golden = Counter(question.golden)
            for number, choice in enumerate(question.answer_choices, start=1):
                place, right = self._places[number], golden[choice.choice_id] > 0
                place.options += 1
                place.right += golden[choice.choice_id] / len(question.golden)
                place.texts[right] += 1
                place.characters[right] += len(choice.answer)

    def lines(self) -> Iterator[PlaceLine]:
        """One line per place."""
        for number, place in sorted(self._places.items()):
            yield PlaceLine(
                place=number,
                options=place.options,
                right=_rounded(place.right / place.options),
                right_length=place.length(right=True),
                other_length=place.length(right=False),
            )


def _rounded(share: float) -> float:
    return round(share, DIGITS)
