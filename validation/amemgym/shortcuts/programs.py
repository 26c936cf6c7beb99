"""Ways to answer that need no memory: each takes one option of a question by what its texts look like."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain
from operator import neg

from assets.amemgym.records.audit import Probe
from assets.amemgym.records.episode import Episode, EpisodeQuestion
from validation.amemgym.shortcuts.learned import GUESSERS, GuessedQuestion, Weights, weights_of_highest

# Scripts without spaces are compared by character.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")


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
        return list(map(words, self.answers))

    @cached_property
    def shared_words(self) -> list[float]:
        return shared_words(self.words)

    @cached_property
    def golden_shares(self) -> Weights:
        """Each option's share of the periods in which it is right."""
        golden = Counter(self.question.golden)
        return tuple([golden[choice.choice_id] / golden.total() for choice in self.question.answer_choices])

    @cached_property
    def asked(self) -> GuessedQuestion:
        return GuessedQuestion(
            user_id=self.episode.user_id,
            question_id=self.question.question_id,
            query=self.question.query,
            answers=tuple(self.answers),
            shares=self.golden_shares,
            periods=len(self.question.golden),
        )


@dataclass(frozen=True)
class ShortcutProgram:
    """A way to answer. `choose` returns each option's probability of being taken, None for a question that it leaves out.

    `form`: it goes by length, form or words alone, of which a release should give hardly anything away. `limited`: a release
    is blocked when it gets too far. One that uses what no assistant sees, or a part of what one should remember, is not.
    """

    name: str
    meaning: str
    choose: Callable[[OptionTexts], Weights | None] = lambda _: None
    form: bool = False
    limited: bool = True


@lru_cache(maxsize=256)  # a user's questions are compared with the same profile
def words(text: str) -> frozenset[str]:
    """Return the different words of a text, in lower case."""
    return frozenset(WORD.findall(text.casefold()))


def shared_words(texts: Sequence[frozenset[str]]) -> list[float]:
    """Return for each text how many others hold one of its words, on average over its words."""
    uses = Counter(chain.from_iterable(texts))
    averages: list[float] = []
    for text in texts:
        uses_elsewhere = sum(map(uses.__getitem__, text)) - len(text)
        averages.append(uses_elsewhere / max(1, len(text)))
    return averages


def most_words_of(text: Callable[[OptionTexts], str]) -> Callable[[OptionTexts], Weights]:
    """Choose the option that shares most words with a text."""

    def choose(options: OptionTexts) -> Weights:
        known = words(text(options))
        return weights_of_highest([len(answer & known) for answer in options.words])

    return choose


def _only(index: int, options: OptionTexts) -> Weights:
    weights = [0.0] * len(options.answers)
    weights[index] = 1.0
    return tuple(weights)


def position(index: int) -> ShortcutProgram:
    """Choose the option at one position, in the questions that have it. The first is the usual constant choice."""

    def choose(options: OptionTexts) -> Weights | None:
        return _only(index, options) if index < len(options.answers) else None

    meaning = "always the first option shown" if index == 0 else f"always option {index + 1}, of questions that have one"
    return ShortcutProgram(f"place {index + 1}", meaning, choose)


LAST = ShortcutProgram("last place", "always the last option shown", partial(_only, -1))
TEXT_PROGRAMS = (
    ShortcutProgram(
        "longest",
        "the option with the most characters",
        lambda options: weights_of_highest(list(map(len, options.answers))),
        form=True,
    ),
    ShortcutProgram(
        "shortest",
        "the option with the fewest characters",
        lambda options: weights_of_highest(list(map(neg, map(len, options.answers)))),
        form=True,
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
        "most common words",
        "the option most like the others in its words",
        lambda options: weights_of_highest(options.shared_words),
        form=True,
    ),
    ShortcutProgram(
        "least common words",
        "the option least like the others in its words",
        lambda options: weights_of_highest(list(map(neg, options.shared_words))),
        form=True,
    ),
)
STALE = ShortcutProgram(
    "stale",
    "knows the start and nothing later",
    lambda options: weights_of_highest(
        [choice.choice_id == options.question.golden[0] for choice in options.question.answer_choices]
    ),
)
# These cannot choose by the texts of one question: judges chose in the audits, and guessers learn from all users. So they are
# measured apart, and choose nothing here.
JUDGED: dict[Probe, ShortcutProgram] = {
    "options_only": ShortcutProgram("options only", "a judge who sees the options alone"),
    "question_only": ShortcutProgram("question only", "a judge who sees question and options, but nothing of the user"),
    "profile_only": ShortcutProgram("profile only", "a judge who sees profile, question and options, but no session"),
}
LEARNED = {name: ShortcutProgram(name, guesser.meaning, form=True) for name, guesser in GUESSERS.items()}
UNLIMITED = (
    ShortcutProgram(
        "best fixed choice",
        "the option right most often: no way to look at texts alone gets further",
        lambda options: weights_of_highest(options.golden_shares),
        limited=False,
    ),
)
