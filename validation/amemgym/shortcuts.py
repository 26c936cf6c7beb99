"""Shortcut baselines: how far one gets on the finished set by ways to answer that need no memory.

Every shortcut takes one option per question, whatever the period, because texts do not change from period to period. So
chance has a closed form: options are shown in shuffled order and none is right by design, hence a program that knows
nothing takes each with equal probability.
"""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import chain
from operator import mul
from typing import NamedTuple

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.audit import Judgement, Probe
from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.report import ShortcutLine, Verdict, WorstItem
from assets.records.estimate import Estimate

# Scripts without spaces are compared by character.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
# A clean set exceeds this once in ten thousand times. So few, because there are some twenty shortcuts.
LUCK_DEVIATIONS = 3.72
WORST_ITEMS = 3
JUDGES: dict[Probe, str] = {
    "options_only": "a judge who sees the options alone",
    "question_only": "a judge who sees question and options, but nothing of the user",
    "profile_only": "a judge who sees profile, question and options, but no session",
}
# The probability of each option.
Weights = tuple[float, ...]
ChosenOptions = Mapping[tuple[Probe, str], Sequence[str | None]]


@dataclass(frozen=True)
class OptionTexts:
    """The options of one question of one user, with their words, which several programs look at."""

    episode: Episode
    question: EpisodeQuestion

    @cached_property
    def answers(self) -> list[str]:
        """The texts, in the order shown."""
        return [choice.answer for choice in self.question.answer_choices]

    @cached_property
    def words(self) -> list[frozenset[str]]:
        return [words(answer) for answer in self.answers]

    @cached_property
    def similarities(self) -> list[float]:
        """How many words each option shares with the others, on average over the words it has."""
        uses = Counter(chain.from_iterable(self.words))
        return [(sum(map(uses.__getitem__, one)) - len(one)) / max(1, len(one)) for one in self.words]

    @cached_property
    def golden_shares(self) -> Weights:
        """Each option's share of the periods in which it is right."""
        golden = self.question.golden
        return tuple(golden.count(choice.choice_id) / len(golden) for choice in self.question.answer_choices)


@dataclass(frozen=True)
class ShortcutProgram:
    """`choose` gives each option's probability of being taken, None for a question that the program does not answer."""

    name: str
    meaning: str
    choose: Callable[[OptionTexts], Weights | None]


def highest(scores: Sequence[float]) -> Weights:
    """The option with the highest score; equal ones share."""
    top = max(scores)
    best = [score == top for score in scores]
    count = sum(best)
    return tuple([one / count for one in best])


@lru_cache(maxsize=256)  # a user's questions are compared with the same profile
def words(text: str) -> frozenset[str]:
    """The different words of a text, in lower case."""
    return frozenset(WORD.findall(text.casefold()))


def most_words_of(text: Callable[[OptionTexts], str]) -> Callable[[OptionTexts], Weights]:
    """Chooses the option that shares most words with a text."""

    def choose(options: OptionTexts) -> Weights:
        known = words(text(options))
        return highest([len(answer & known) for answer in options.words])

    return choose


@cache
def _one_of(count: int, index: int) -> Weights:
    return highest([number == index for number in range(count)])


def position(index: int) -> ShortcutProgram:
    """Always the option at one position, over the questions that have it; the first is the usual constant choice."""

    def choose(options: OptionTexts) -> Weights | None:
        count = len(options.question.answer_choices)
        return _one_of(count, index) if index < count else None

    meaning = "always the first option shown" if index == 0 else f"always option {index + 1}, of questions that have one"
    return ShortcutProgram(f"place {index + 1}", meaning, choose)


LAST = ShortcutProgram(
    "last place", "always the last option shown", lambda options: _one_of(len(options.answers), len(options.answers) - 1)
)
TEXT_PROGRAMS = (
    ShortcutProgram(
        "longest", "the option with the most characters", lambda options: highest([len(one) for one in options.answers])
    ),
    ShortcutProgram(
        "shortest", "the option with the fewest characters", lambda options: highest([-len(one) for one in options.answers])
    ),
    ShortcutProgram(
        "like the question",
        "the option that shares most words with the question",
        most_words_of(lambda options: options.question.query),
    ),
    ShortcutProgram(
        "like the profile",
        "the option that shares most words with the user's profile",
        most_words_of(lambda options: options.episode.user_profile.formatted_str),
    ),
    ShortcutProgram(
        "most common words", "the option most like the others in its words", lambda options: highest(options.similarities)
    ),
    ShortcutProgram(
        "least common words",
        "the option least like the others in its words",
        lambda options: highest([-one for one in options.similarities]),
    ),
)
STALE = ShortcutProgram(
    "stale",
    "knows the start and nothing later",
    lambda options: highest([one.choice_id == options.question.golden[0] for one in options.question.answer_choices]),
)
# These use what no assistant sees, so they have no limit.
UNLIMITED = (
    ShortcutProgram(
        "lived through",
        "knows which options were added only to fill up",
        lambda options: highest([one.type == "experience" for one in options.question.answer_choices]),
    ),
    ShortcutProgram(
        "best fixed choice",
        "the option right most often: no way to look at texts alone gets further",
        lambda options: highest(options.golden_shares),
    ),
)


class Pick(NamedTuple):
    """What a shortcut takes of one question: each option's probability, beside its share of the periods when it is right."""

    options: OptionTexts
    weights: Weights
    shares: Weights

    @property
    def periods(self) -> int:
        return len(self.options.question.golden)

    @property
    def gain(self) -> float:
        """The share of periods got right, less what a guess gets."""
        return sum(map(mul, self.weights, self.shares)) - 1 / len(self.shares)

    @property
    def variance(self) -> float:
        """Of the gain, if the options were put into their positions at random."""
        count = len(self.shares)
        return _spread(self.weights) * _spread(self.shares) / (count - 1) if count > 1 else 0.0


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
        gain, periods, options = pick.gain, pick.periods, len(pick.shares)
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
        if gain > (self.worst[-1][0] if len(self.worst) == WORST_ITEMS else 0):
            self.worst = sorted([*self.worst, (gain, pick)], key=lambda one: -one[0])[:WORST_ITEMS]

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
        """The accuracy that chance alone exceeds once in ten thousand sets."""
        return self.random + LUCK_DEVIATIONS * self.scattered**0.5 / max(1, self.pairs)


class ShortcutBaselines:
    """Measures every shortcut, user by user; some four hundred bytes of each stay in memory."""

    def __init__(self, recipe: AMemGymRecipe) -> None:
        self._recipe = recipe
        self._users: list[str] = []
        self._positions: list[Measurement] = []
        # What judges chose is in the audits and no program over the texts.
        self._judges: dict[Probe, Measurement] = {
            probe: Measurement(ShortcutProgram(probe.replace("_", " "), meaning, lambda _: None))
            for probe, meaning in JUDGES.items()
        }
        self._programs = {one.name: Measurement(one) for one in (LAST, *TEXT_PROGRAMS, STALE, *UNLIMITED)}

    def add(self, episode: Episode, judgements: Iterable[Judgement] = ()) -> None:
        """Measure one user. A judge who cannot tell counts as a guess; several choices of one judge share the probability."""
        number, chosen = len(self._users), defaultdict[tuple[Probe, str], list[str | None]](list)
        self._users.append(episode.user_id)
        for judgement in judgements:
            chosen[judgement.probe, judgement.question_id].append(judgement.chosen)
        for question in episode.questions:
            options, count = OptionTexts(episode, question), len(question.answer_choices)
            self._positions.extend(Measurement(position(index)) for index in range(len(self._positions), count))
            shares = options.golden_shares
            for measurement in (*self._positions[:count], *self._programs.values()):
                if (weights := measurement.program.choose(options)) is not None:
                    measurement.add(Pick(options, weights, shares), user=number)
            for probe, measurement in self._judges.items():
                if weights := _weights_of_judges(options, chosen, probe):
                    measurement.add(Pick(options, weights, shares), user=number)

    def lines(self) -> tuple[ShortcutLine, ...]:
        """All lines, those of judges where there are audits."""
        unlimited = {program.name for program in UNLIMITED}
        limited, last = ([one for name, one in self._programs.items() if (name in unlimited) == kind] for kind in (False, True))
        ordered = [*self._positions, *limited, *self._judges.values(), *last]
        measured = {one.program.name: one for one in ordered if one.pairs}
        if not measured:
            return ()
        accuracies = self._accuracies(measured)
        lines = [_line(one, accuracies[name], limit=_limit(one, measured, self._recipe)) for name, one in measured.items()]
        return (_random_line(measured["place 1"]), *lines)

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
    return min(1.0, at_least + recipe.wall.margin)


def _line(one: Measurement, accuracy: Estimate, *, limit: float) -> ShortcutLine:
    return ShortcutLine(
        cue=one.program.name,
        meaning=one.program.meaning,
        items=one.pairs,
        accuracy=accuracy,
        random=round(one.random, 6),
        luck=round(one.luck, 6),
        limit=round(limit, 6),
        verdict=_verdict(one, accuracy, limit=limit),
        worst=() if one.program in UNLIMITED else tuple(_worst(one.worst)),
    )


def _verdict(one: Measurement, accuracy: Estimate, *, limit: float) -> Verdict:
    """A limit is crossed when the interval over users lies above it and chance does not explain the accuracy.

    Few users may agree by chance; a single user has no interval, and so blocks nothing.
    """
    if one.program in UNLIMITED:
        return "told"
    beyond = accuracy.low is not None and accuracy.value is not None and accuracy.low > limit and accuracy.value > one.luck
    return "crossed" if beyond else "holds"


def _worst(picks: Sequence[tuple[float, Pick]]) -> Iterator[WorstItem]:
    for gain, pick in picks:
        taken = pick.weights.index(max(pick.weights))
        yield WorstItem(
            user_id=pick.options.episode.user_id,
            question_id=pick.options.question.question_id,
            query=pick.options.question.query,
            text=pick.options.answers[taken],
            share=round(gain + 1 / len(pick.shares), 6),
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
