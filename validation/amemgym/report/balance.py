"""How states move, how often right options change, and whether a position among the options is favoured."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import OptionPosition, StateMovement
from assets.amemgym.state_trajectory.quality import balance, change_counts, golden_changes, ping_pongs, unvisited

DIGITS = 4


class MovementCounter:
    """How states move, over all users and variables."""

    def __init__(self) -> None:
        self._periods: int | None = None
        self._counts = Counter[str]()
        self._evenness = 0.0
        self._changes, self._golden = Counter[int](), Counter[int]()
        self._choice_counts: defaultdict[int, Counter[int]] = defaultdict(Counter)

    def add(self, episode: Episode) -> None:
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
            self._choice_counts[index].update(own.index(period.state[name]) for name, own in choices.items())
        self._periods = min(len(episode.periods), self._periods or len(episode.periods))

    def movement(self) -> StateMovement | None:
        """The shares and counts over all users that were added; None without users."""
        if self._periods is None:
            return None
        counts = self._counts
        return StateMovement(
            choice_shares=tuple(_shares(self._choice_counts[index]) for index in range(self._periods)),
            choices_reached=_rounded(1 - counts["missing"] / max(1, counts["choices"])),
            evenness=_rounded(self._evenness / max(1, counts["variables"])),
            changes={str(count): self._changes[count] for count in sorted(self._changes)},
            returns=_rounded(counts["returns"] / max(1, counts["updates"])),
            golden_changes=tuple(
                _rounded(self._golden[index] / max(1, counts["questions"])) for index in range(self._periods - 1)
            ),
        )


def _shares(counts: Counter[int]) -> tuple[float, ...]:
    return tuple(_rounded(counts[index] / counts.total()) for index in range(max(counts, default=-1) + 1))


class GoldenChangeCounter:
    """How often the right option is another than a period before."""

    def __init__(self) -> None:
        self._steps = self._changes = 0

    def add(self, episode: Episode) -> None:
        for question in episode.questions:
            self._steps += max(0, len(question.golden) - 1)
            self._changes += sum(before != after for before, after in zip(question.golden, question.golden[1:], strict=False))

    def share(self) -> float:
        """Of all steps from a period to the next."""
        return _rounded(self._changes / max(1, self._steps))


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
    """By position among the options shown; "right" weighs an option by its share of the periods."""

    def __init__(self) -> None:
        self._positions: defaultdict[int, _PositionCounts] = defaultdict(_PositionCounts)

    def add(self, episode: Episode) -> None:
        for question in episode.questions:
            golden = Counter(question.golden)
            for number, choice in enumerate(question.answer_choices, start=1):
                position, right = self._positions[number], golden[choice.choice_id] > 0
                position.options += 1
                position.right += golden[choice.choice_id] / len(question.golden)
                position.texts[right] += 1
                position.characters[right] += len(choice.answer)

    def lines(self) -> Iterator[OptionPosition]:
        for number, position in sorted(self._positions.items()):
            yield OptionPosition(
                place=number,
                options=position.options,
                right=_rounded(position.right / position.options),
                right_length=position.length(right=True),
                other_length=position.length(right=False),
            )


def _rounded(share: float) -> float:
    return round(share, DIGITS)
