"""Ways to answer that need no memory: each takes one option of a question by what its texts look like."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain

from assets.amemgym.records.audit import Probe
from assets.amemgym.records.episode import Episode, EpisodeQuestion
from validation.amemgym.learned_shortcuts import GUESSERS, AskedQuestion, Weights

# Scripts without spaces are compared by character.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
JUDGES: dict[Probe, str] = {
    "options_only": "a judge who sees the options alone",
    "question_only": "a judge who sees question and options, but nothing of the user",
    "profile_only": "a judge who sees profile, question and options, but no session",
}


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
        return likeness(self.words)

    @cached_property
    def golden_shares(self) -> Weights:
        """Each option's share of the periods in which it is right."""
        golden = self.question.golden
        return tuple(golden.count(choice.choice_id) / len(golden) for choice in self.question.answer_choices)

    @cached_property
    def asked(self) -> AskedQuestion:
        question = self.question
        return AskedQuestion(
            self.episode.user_id,
            question.question_id,
            question.query,
            tuple(self.answers),
            self.golden_shares,
            len(question.golden),
        )


@dataclass(frozen=True)
class ShortcutProgram:
    """`choose` gives each option's probability of being taken, None for a question that the program does not answer.

    `form`: it goes by length, form or words alone, of which a release should give hardly anything away.
    """

    name: str
    meaning: str
    choose: Callable[[OptionTexts], Weights | None]
    form: bool = False


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


def likeness(texts: Sequence[frozenset[str]]) -> list[float]:
    """In how many other texts a word of each one stands, on average over its words."""
    uses = Counter(chain.from_iterable(texts))
    return [(sum(map(uses.__getitem__, one)) - len(one)) / max(1, len(one)) for one in texts]


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
        "longest",
        "the option with the most characters",
        lambda options: highest([len(one) for one in options.answers]),
        form=True,
    ),
    ShortcutProgram(
        "shortest",
        "the option with the fewest characters",
        lambda options: highest([-len(one) for one in options.answers]),
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
        lambda options: highest(options.similarities),
        form=True,
    ),
    ShortcutProgram(
        "least common words",
        "the option least like the others in its words",
        lambda options: highest([-one for one in options.similarities]),
        form=True,
    ),
)
STALE = ShortcutProgram(
    "stale",
    "knows the start and nothing later",
    lambda options: highest([one.choice_id == options.question.golden[0] for one in options.question.answer_choices]),
)
# What judges chose is in the audits, what guessers learn comes from all users, and a reader looks at periods: no program
# over the texts of one question says it.
JUDGED: dict[Probe, ShortcutProgram] = {
    probe: ShortcutProgram(probe.replace("_", " "), meaning, lambda _: None) for probe, meaning in JUDGES.items()
}
LEARNED = {name: ShortcutProgram(name, one.meaning, lambda _: None, form=True) for name, one in GUESSERS.items()}
PRESENT = ShortcutProgram(
    "present period alone", "an ideal reader of the present period's sessions, who knows none before", lambda _: None
)
# These use what no assistant sees, or a part of what it should remember, so they have no limit.
UNLIMITED = (
    PRESENT,
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
