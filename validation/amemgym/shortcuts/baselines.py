"""Shortcut baselines: measure ways to answer that need no memory on the finished set.

Every shortcut takes one option per question, whatever the period, because texts do not change from period to period. So chance
has a closed form: options are shown in shuffled order and none is right by design, hence a program that knows nothing takes
each with equal probability.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter, mul
from typing import NamedTuple

from assets.amemgym.records.audit import Judgement, Probe
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import ShortcutLine, ShortcutVerdict, WorstItem
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.estimate import Estimate
from validation.amemgym.shortcuts.learned import FEWEST_USERS, GuessedQuestion, LearnedShortcuts, Weights
from validation.amemgym.shortcuts.programs import (
    JUDGED,
    LAST,
    LEARNED,
    STALE,
    TEXT_PROGRAMS,
    UNLIMITED,
    OptionTexts,
    ShortcutProgram,
    position,
)

# A clean set exceeds the first once in ten thousand times, the second, for shortcuts over form, once in a thousand. So few,
# because there are some thirty shortcuts.
LUCK_DEVIATIONS = 3.72
FORM_LUCK_DEVIATIONS = 3.09
WORST_ITEMS = 3  # to look at, by shortcut


class Pick(NamedTuple):
    """A question with each option's probability of being taken by a shortcut."""

    asked: GuessedQuestion
    weights: Weights

    @property
    def gain(self) -> float:
        """The share of periods got right, less a guess's share."""
        return sum(map(mul, self.weights, self.asked.shares)) - 1 / len(self.weights)

    @property
    def variance(self) -> float:
        """The variance of the gain, if the options were put into their positions at random."""
        count = len(self.weights)
        if count == 1:
            return 0.0
        return _spread(self.weights) * _spread(self.asked.shares) / (count - 1)


@lru_cache(maxsize=1024)  # most programs take one option with certainty
def _spread(weights: Weights) -> float:
    return sum([(weight - 1 / len(weights)) ** 2 for weight in weights])


@dataclass
class Measurement:
    """The picks of one shortcut over the whole set, as sums.

    `pairs` is the number of (question, period) pairs. `users` numbers those with a pick; `right` and `asked` count their
    pairs. `worst` holds the picks that gain most, the earlier first among equals.
    """

    program: ShortcutProgram
    pairs: int = 0
    guessed: float = 0.0
    gained: float = 0.0
    scattered: float = 0.0
    users: "array[int]" = field(default_factory=lambda: array("q"))
    right: "array[float]" = field(default_factory=lambda: array("d"))
    asked: "array[float]" = field(default_factory=lambda: array("d"))
    worst: list[Pick] = field(default_factory=list[Pick])

    def add(self, pick: Pick, *, user: int) -> None:
        """Count one pick; those of a user come together."""
        gain = pick.gain
        periods = pick.asked.periods
        options = len(pick.weights)
        # Questions of a user come together, so a new number begins a new user.
        if not self.users or self.users[-1] != user:
            self.users.append(user)
            self.right.append(0.0)
            self.asked.append(0.0)
        self.right[-1] += periods * (gain + 1 / options)
        self.asked[-1] += periods
        self.pairs += periods
        self.guessed += periods / options
        self.gained += gain * periods
        self.scattered += periods**2 * pick.variance
        # Nearly every pick gains less, and is not sorted in.
        least = self.worst[-1].gain if len(self.worst) == WORST_ITEMS else 0
        if gain > least:
            self.worst = sorted([*self.worst, pick], key=attrgetter("gain"), reverse=True)[:WORST_ITEMS]

    @property
    def random(self) -> float:
        """The accuracy of a uniform guess over the same pairs."""
        return self.guessed / max(1, self.pairs)

    @property
    def accuracy(self) -> float:
        """The share of pairs got right."""
        return self.random + self.gained / max(1, self.pairs)

    @property
    def luck(self) -> float:
        """The accuracy that chance alone exceeds once in ten thousand sets, in a thousand for shortcuts over form."""
        # With few users the stricter limit would block sets by chance.
        enough = self.program.form and len(self.users) >= FEWEST_USERS
        deviations = FORM_LUCK_DEVIATIONS if enough else LUCK_DEVIATIONS
        return self.random + deviations * self.scattered**0.5 / max(1, self.pairs)


class ShortcutBaselines:
    """Measure every shortcut, user by user; some four hundred bytes of each stay in memory."""

    def __init__(self, recipe: AMemGymRecipe) -> None:
        self._recipe = recipe
        self._users: list[str] = []
        self._positions: list[Measurement] = []
        self._judges: dict[Probe, Measurement] = {probe: Measurement(program) for probe, program in JUDGED.items()}
        self._limited = list(map(Measurement, (LAST, *TEXT_PROGRAMS)))
        self._stale = Measurement(STALE)
        self._unlimited = list(map(Measurement, UNLIMITED))
        self._learned = LearnedShortcuts()

    def add(self, episode: Episode, judgements: Iterable[Judgement] = ()) -> None:
        """Measure one user. A judge who cannot tell counts as a guess; several choices of one judge share the probability."""
        number = len(self._users)
        self._users.append(episode.user_id)
        chosen: defaultdict[tuple[Probe, str], list[str | None]] = defaultdict(list)
        for judgement in judgements:
            chosen[judgement.probe, judgement.question_id].append(judgement.chosen)
        asked: list[GuessedQuestion] = []
        for question in episode.questions:
            options = OptionTexts(episode, question)
            asked.append(options.asked)
            count = len(options.answers)
            while len(self._positions) < count:
                self._positions.append(Measurement(position(len(self._positions))))
            for measurement in (*self._positions[:count], *self._limited, self._stale, *self._unlimited):
                weights = measurement.program.choose(options)
                if weights is not None:
                    measurement.add(Pick(options.asked, weights), user=number)
            for probe, measurement in self._judges.items():
                choices = chosen[probe, question.question_id]
                if choices:
                    measurement.add(Pick(options.asked, _weights_of_judges(options, choices)), user=number)
        self._learned.add(episode.user_id, asked)

    def lines(self) -> tuple[ShortcutLine, ...]:
        """Return all lines, those of judges only where there are audits."""
        learners = self._measured_learners()
        ordered = [*self._positions, *self._limited, self._stale, *learners, *self._judges.values(), *self._unlimited]
        measured = [measurement for measurement in ordered if measurement.pairs]
        if not measured:
            return ()
        accuracies = self._accuracies(measured)
        lines = [_random_line(self._positions[0])]
        for measurement in measured:
            lines.append(
                _line(measurement, accuracies[measurement.program.name], limit=self._limit(measurement), recipe=self._recipe)
            )
        return tuple(lines)

    def _limit(self, measurement: Measurement) -> float:
        """Return a guess and the recipe's margin, with two exceptions beside the shortcuts without a limit.

        The stale shortcut knows the start in full: it may reach what it would in a set of which each period changes the share
        `least_change`. A profile may give the start away, since states begin as fits the profile, but nothing later.
        """
        limits = self._recipe.shortcuts
        if not measurement.program.limited:
            return 1.0
        if measurement is self._stale:
            unchanged = [(1 - limits.least_change) ** period for period in range(self._recipe.num_periods + 1)]
            return measurement.random + (1 - measurement.random) * sum(unchanged) / len(unchanged)
        at_least = measurement.random
        if measurement is self._judges["profile_only"]:
            at_least = max(at_least, self._stale.accuracy)
        return min(1.0, at_least + (limits.form_margin if measurement.program.form else limits.margin))

    def _measured_learners(self) -> list[Measurement]:
        measured = {name: Measurement(program) for name, program in LEARNED.items()}
        numbers = {user: number for number, user in enumerate(self._users)}
        for name, asked, weights in self._learned.choices():
            measured[name].add(Pick(asked, weights), user=numbers[asked.user_id])
        return list(measured.values())

    def _accuracies(self, measured: Sequence[Measurement]) -> dict[str, Estimate]:
        """Return each shortcut's accuracy, with its interval over users."""
        import numpy as np  # heavy, as is what the next line imports

        from assets.reporting.intervals import Array, Tallies, share

        # The draw goes by the order of ids, whatever the order in which users came.
        order = sorted(range(len(self._users)), key=self._users.__getitem__)
        rows = np.empty(len(order), dtype=np.int64)
        rows[order] = np.arange(len(order))
        counts: dict[str, Array] = {}
        for measurement in measured:
            for what, values in (("right", measurement.right), ("asked", measurement.asked)):
                column = np.zeros((len(order), 1))
                column[rows[measurement.users], 0] = values
                counts[f"{measurement.program.name} {what}"] = column
        tallies = Tallies(tuple(map(self._users.__getitem__, order)), counts)
        accuracies: dict[str, Estimate] = {}
        for measurement in measured:
            name = measurement.program.name
            accuracies[name] = tallies.estimate(share(f"{name} right", f"{name} asked"))
        return accuracies


def _weights_of_judges(options: OptionTexts, choices: Sequence[str | None]) -> Weights:
    weights: list[float] = []
    for option in options.question.answer_choices:
        votes = 0.0
        for choice in choices:
            # A judge who cannot tell guesses.
            votes += 1 / len(options.answers) if choice is None else choice == option.choice_id
        weights.append(votes / len(choices))
    return tuple(weights)


def _line(measurement: Measurement, accuracy: Estimate, *, limit: float, recipe: AMemGymRecipe) -> ShortcutLine:
    verdict = _verdict(measurement, accuracy, limit=limit, recipe=recipe)
    return ShortcutLine(
        shortcut=measurement.program.name,
        meaning=measurement.program.meaning,
        items=measurement.pairs,
        accuracy=accuracy,
        random=round(measurement.random, 6),
        luck=round(measurement.luck, 6),
        limit=round(limit, 6),
        verdict=verdict,
        worst=() if verdict == "unlimited" else tuple(map(_worst_item, measurement.worst)),
    )


def _verdict(measurement: Measurement, accuracy: Estimate, *, limit: float, recipe: AMemGymRecipe) -> ShortcutVerdict:
    """Compare the accuracy of a shortcut over form with the limit; of other shortcuts and of few users the whole interval.

    Few users may agree by chance. The limit of a shortcut over form holds only where the interval ends below it; it is
    unproven where there are too few users to say so.
    """
    if not measurement.program.limited:
        return "unlimited"
    # A single user has no interval.
    if accuracy.value is None or accuracy.low is None or accuracy.high is None:
        return "unproven" if measurement.program.form and accuracy.value is not None else "holds"
    reached = accuracy.value if measurement.program.form and len(measurement.users) >= FEWEST_USERS else accuracy.low
    if reached > limit and accuracy.value > measurement.luck:
        return "crossed"
    if not measurement.program.form or accuracy.high <= limit:
        return "holds"
    return "crossed" if recipe.shortcuts.proven else "unproven"


def _worst_item(pick: Pick) -> WorstItem:
    taken = pick.weights.index(max(pick.weights))
    return WorstItem(
        user_id=pick.asked.user_id,
        question_id=pick.asked.question_id,
        query=pick.asked.query,
        text=pick.asked.answers[taken],
        share=round(pick.gain + 1 / len(pick.weights), 6),
    )


def _random_line(measurement: Measurement) -> ShortcutLine:
    guess = round(measurement.random, 6)
    return ShortcutLine(
        shortcut="random",
        meaning="a uniform guess, in closed form",
        items=measurement.pairs,
        accuracy=Estimate(value=guess, low=None, high=None),
        random=guess,
        luck=guess,
        limit=1.0,
        verdict="unlimited",
    )
