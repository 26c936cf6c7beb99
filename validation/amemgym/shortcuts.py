"""Shortcut baselines: how far one gets on the finished set by ways to answer that need no memory.

Every shortcut but the reader of the present period takes one option per question, whatever the period, because texts do
not change from period to period. So chance has a closed form: options are shown in shuffled order and none is right by
design, hence a program that knows nothing takes each with equal probability.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import mul
from statistics import fmean
from typing import NamedTuple

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.audit import Judgement, Probe
from assets.amemgym.records.episode import Episode, options_left
from assets.amemgym.records.report import ShortcutLine, Verdict, WorstItem
from assets.records.estimate import Estimate
from validation.amemgym.learned_shortcuts import FEWEST_USERS, AskedQuestion, LearnedShortcuts, Weights
from validation.amemgym.shortcut_programs import (
    JUDGED,
    JUDGES,
    LAST,
    LEARNED,
    PRESENT,
    STALE,
    TEXT_PROGRAMS,
    UNLIMITED,
    OptionTexts,
    ShortcutProgram,
    position,
)

# A clean set exceeds the first once in ten thousand times, the second, for shortcuts over form, once in a thousand. So few,
# because there are some thirty shortcuts.
LUCK_DEVIATIONS, FORM_LUCK_DEVIATIONS = 3.72, 3.09
WORST_ITEMS = 3
ChosenOptions = Mapping[tuple[Probe, str], Sequence[str | None]]


class Pick(NamedTuple):
    """What a shortcut takes of one question: each option's probability, beside its share of the periods when it is right."""

    asked: AskedQuestion
    weights: Weights

    @property
    def gain(self) -> float:
        """The share of periods got right, less what a guess gets."""
        return sum(map(mul, self.weights, self.asked.shares)) - 1 / len(self.weights)

    @property
    def variance(self) -> float:
        """Of the gain, if the options were put into their positions at random."""
        count = len(self.weights)
        return _spread(self.weights) * _spread(self.asked.shares) / (count - 1) if count > 1 else 0.0


@lru_cache(maxsize=1024)  # most programs take one option with certainty
def _spread(weights: Weights) -> float:
    return sum((one - 1 / len(weights)) ** 2 for one in weights)


def _floats() -> "array[float]":
    return array("d")


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
    right: "array[float]" = field(default_factory=_floats)
    asked: "array[float]" = field(default_factory=_floats)
    worst: list[tuple[float, Pick]] = field(default_factory=list[tuple[float, Pick]])

    def add(self, pick: Pick, *, user: int) -> None:
        """Count one pick; those of a user come together."""
        gain, periods = pick.gain, pick.asked.periods
        self.count(gain, periods=periods, options=len(pick.weights), user=user)
        self.scattered += periods**2 * pick.variance
        if gain > (self.worst[-1][0] if len(self.worst) == WORST_ITEMS else 0):
            self.worst = sorted([*self.worst, (gain, pick)], key=lambda one: -one[0])[:WORST_ITEMS]

    def count(self, gain: float, *, periods: int, options: int, user: int) -> None:
        """Count a question of which this share of the periods, beyond a guess, was got right."""
        if not self.users or self.users[-1] != user:
            self.users.append(user)
            self.right.append(0.0)
            self.asked.append(0.0)
        self.right[-1] += periods * (gain + 1 / options)
        self.asked[-1] += periods
        self.pairs += periods
        self.guessed += periods / options
        self.gained += gain * periods

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
        enough = self.program.form and len(self.users) >= FEWEST_USERS
        deviations = FORM_LUCK_DEVIATIONS if enough else LUCK_DEVIATIONS
        return self.random + deviations * self.scattered**0.5 / max(1, self.pairs)


class ShortcutBaselines:
    """Measures every shortcut, user by user; some four hundred bytes of each stay in memory."""

    def __init__(self, recipe: AMemGymRecipe) -> None:
        self._recipe = recipe
        self._users: list[str] = []
        self._positions: list[Measurement] = []
        self._judges: dict[Probe, Measurement] = {probe: Measurement(program) for probe, program in JUDGED.items()}
        self._programs = {one.name: Measurement(one) for one in (LAST, *TEXT_PROGRAMS, STALE, *UNLIMITED)}
        self._learned = LearnedShortcuts()

    def add(self, episode: Episode, judgements: Iterable[Judgement] = ()) -> None:
        """Measure one user. A judge who cannot tell counts as a guess; several choices of one judge share the probability."""
        number, chosen = len(self._users), defaultdict[tuple[Probe, str], list[str | None]](list)
        self._users.append(episode.user_id)
        for judgement in judgements:
            chosen[judgement.probe, judgement.question_id].append(judgement.chosen)
        every = [OptionTexts(episode, question) for question in episode.questions]
        self._learned.add(episode.user_id, [options.asked for options in every])
        for options in every:
            question, count = options.question, len(options.question.answer_choices)
            self._positions.extend(Measurement(position(index)) for index in range(len(self._positions), count))
            for measurement in (*self._positions[:count], *self._programs.values()):
                if (weights := measurement.program.choose(options)) is not None:
                    measurement.add(Pick(options.asked, weights), user=number)
            if left := options_left(episode, question):
                gain, periods = fmean(1 / one for one in left) - 1 / count, len(left)
                self._programs[PRESENT.name].count(gain, periods=periods, options=count, user=number)
            for probe, measurement in self._judges.items():
                if weights := _weights_of_judges(options, chosen, probe):
                    measurement.add(Pick(options.asked, weights), user=number)

    def lines(self) -> tuple[ShortcutLine, ...]:
        """All lines, those of judges where there are audits."""
        unlimited = {program.name for program in UNLIMITED}
        limited, last = ([one for name, one in self._programs.items() if (name in unlimited) == kind] for kind in (False, True))
        ordered = [*self._positions, *limited, *self._measured_learners(), *self._judges.values(), *last]
        measured = {one.program.name: one for one in ordered if one.pairs}
        if not measured:
            return ()
        accuracies = self._accuracies(measured)
        lines = [
            _line(one, accuracies[name], limit=_limit(one, measured, self._recipe), recipe=self._recipe)
            for name, one in measured.items()
        ]
        return (_random_line(measured["place 1"]), *lines)

    def _measured_learners(self) -> list[Measurement]:
        measured = {name: Measurement(program) for name, program in LEARNED.items()}
        numbers = {user: number for number, user in enumerate(self._users)}
        for name, asked, weights in self._learned.choices():
            measured[name].add(Pick(asked, weights), user=numbers[asked.user_id])
        return list(measured.values())

    def _accuracies(self, measured: Mapping[str, Measurement]) -> dict[str, Estimate]:
        """By shortcut, with intervals from the same resampled users."""
        import numpy as np  # heavy, as is what the next line imports

        from assets.reporting.intervals import Sample, Tallies, share

        # The draw goes by the order of ids, whatever the order in which users came.
        order = sorted(range(len(self._users)), key=self._users.__getitem__)
        rows = np.empty(len(order), dtype=np.int64)
        rows[order] = np.arange(len(order))
        counts = {f"{name} {what}": np.zeros((len(order), 1)) for name in measured for what in ("right", "asked")}
        for name, one in measured.items():
            counts[f"{name} right"][rows[one.users], 0] = one.right
            counts[f"{name} asked"][rows[one.users], 0] = one.asked
        sample = Sample.of(Tallies(tuple(self._users[index] for index in order), counts), seed=self._recipe.seed)
        return {name: sample.estimate(share(f"{name} right", f"{name} asked")) for name in measured}


def _weights_of_judges(options: OptionTexts, chosen: ChosenOptions, probe: Probe) -> Weights | None:
    ids = [choice.choice_id for choice in options.question.answer_choices]
    choices = chosen.get((probe, options.question.question_id))
    if not choices:
        return None
    return tuple(sum(1 / len(ids) if one is None else one == own for one in choices) / len(choices) for own in ids)


def _limit(one: Measurement, measured: Mapping[str, Measurement], recipe: AMemGymRecipe) -> float:
    """A guess and the recipe's margin, with two exceptions beside those without a limit.

    The stale shortcut knows the start in full: it may reach what it would in a set of which each period changes the share
    `least_change`. A profile may give the start away, since states begin as fits the profile, but nothing later.
    """
    if one.program in UNLIMITED:
        return 1.0
    if one.program == STALE:
        unchanged = [(1 - recipe.wall.least_change) ** period for period in range(recipe.num_periods + 1)]
        return one.random + (1 - one.random) * sum(unchanged) / len(unchanged)
    at_least = one.random
    if one.program.meaning == JUDGES["profile_only"]:
        at_least = max(at_least, measured[STALE.name].accuracy)
    return min(1.0, at_least + (recipe.wall.form_margin if one.program.form else recipe.wall.margin))


def _line(one: Measurement, accuracy: Estimate, *, limit: float, recipe: AMemGymRecipe) -> ShortcutLine:
    return ShortcutLine(
        cue=one.program.name,
        meaning=one.program.meaning,
        items=one.pairs,
        accuracy=accuracy,
        random=round(one.random, 6),
        luck=round(one.luck, 6),
        limit=round(limit, 6),
        verdict=_verdict(one, accuracy, limit=limit, recipe=recipe),
        worst=() if one.program in UNLIMITED else tuple(_worst(one.worst)),
    )


def _verdict(one: Measurement, accuracy: Estimate, *, limit: float, recipe: AMemGymRecipe) -> Verdict:
    """Of form, the accuracy itself crosses the limit, of other shortcuts and of few users the whole interval: unless by chance.

    Few users may agree by chance; a single user has no interval, and so blocks nothing. The limit of a shortcut over form
    holds only where the interval ends below it; it is unproven where there are too few users to say so.
    """
    if one.program in UNLIMITED:
        return "told"
    if accuracy.value is None or accuracy.low is None or accuracy.high is None:
        return "unproven" if one.program.form and accuracy.value is not None else "holds"
    reached = accuracy.value if one.program.form and len(one.users) >= FEWEST_USERS else accuracy.low
    if reached > limit and accuracy.value > one.luck:
        return "crossed"
    if not one.program.form or accuracy.high <= limit:
        return "holds"
    return "crossed" if recipe.wall.proven else "unproven"


def _worst(picks: Sequence[tuple[float, Pick]]) -> Iterator[WorstItem]:
    for gain, pick in picks:
        taken = pick.weights.index(max(pick.weights))
        yield WorstItem(
            user_id=pick.asked.user_id,
            question_id=pick.asked.question_id,
            query=pick.asked.query,
            text=pick.asked.answers[taken],
            share=round(gain + 1 / len(pick.weights), 6),
        )


def _random_line(one: Measurement) -> ShortcutLine:
    guess = round(one.random, 6)
    return ShortcutLine(
        cue="random",
        meaning="a uniform guess, in closed form",
        items=one.pairs,
        accuracy=Estimate(value=guess, low=None, high=None),
        random=guess,
        luck=guess,
        limit=1.0,
        verdict="told",
    )
