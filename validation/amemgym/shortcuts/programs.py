"""Ways to choose an option without memory, each a program over the texts."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain

from assets.amemgym.records.episode import Episode, EpisodeQuestion

# Scripts without spaces are compared by character.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
Weights = tuple[float, ...]


@dataclass(frozen=True)
class Asked:
    """One question of one user, with the answers' words at hand, which one cue after the other looks at."""

    episode: Episode
    question: EpisodeQuestion

    @cached_property
    def answers(self) -> list[str]:
        """The options' texts as shown."""
        return [choice.answer for choice in self.question.answer_choices]

    @cached_property
    def words(self) -> list[frozenset[str]]:
        """The options' words."""
        return [words(answer) for answer in self.answers]

    @cached_property
    def likeness(self) -> list[float]:
        """How many words each option shares with the others, on average over the words it has."""
        uses = Counter(chain.from_iterable(self.words))
        return [(sum(map(uses.__getitem__, one)) - len(one)) / max(1, len(one)) for one in self.words]

    @cached_property
    def golden_shares(self) -> Weights:
        """Each option's share of the periods in which it is right."""
        golden = self.question.golden
        return tuple(golden.count(choice.choice_id) / len(golden) for choice in self.question.answer_choices)


@dataclass(frozen=True)
class Cue:
    """`take` gives each option's probability of being taken, None where the cue says nothing about the question."""

    name: str
    meaning: str
    take: Callable[[Asked], Weights | None]


def most(scores: Sequence[float]) -> Weights:
    """The option with the highest score; equal ones share."""
    highest = max(scores)
    best = [score == highest for score in scores]
    count = sum(best)
    return tuple([one / count for one in best])


@lru_cache(maxsize=256)  # a user's questions are held against the same profile
def words(text: str) -> frozenset[str]:
    """The different words of a text, in lower case."""
    return frozenset(WORD.findall(text.casefold()))


def _longest(asked: Asked) -> Weights:
    return most([len(answer) for answer in asked.answers])


def _shortest(asked: Asked) -> Weights:
    return most([-len(answer) for answer in asked.answers])


def _overlap(text: Callable[[Asked], str]) -> Callable[[Asked], Weights]:
    def take(asked: Asked) -> Weights:
        known = words(text(asked))
        return most([len(answer & known) for answer in asked.words])

    return take


def _common(asked: Asked) -> Weights:
    return most(asked.likeness)


def _odd(asked: Asked) -> Weights:
    return most([-likeness for likeness in asked.likeness])


def _lived(asked: Asked) -> Weights:
    return most([choice.type == "experience" for choice in asked.question.answer_choices])


def _best_fixed(asked: Asked) -> Weights:
    return most(asked.golden_shares)


def stale(asked: Asked) -> Weights:
    """The option that was right at the start."""
    return most([choice.choice_id == asked.question.golden[0] for choice in asked.question.answer_choices])


@cache
def _one_of(count: int, place: int) -> Weights:
    return most([index == place for index in range(count)])


def _at(place: int) -> Callable[[Asked], Weights | None]:
    def take(asked: Asked) -> Weights | None:
        count = len(asked.question.answer_choices)
        return _one_of(count, place) if place < count else None

    return take


def place(index: int) -> Cue:
    """Always the option at one place, over the questions that have it; the first is the usual constant choice."""
    meaning = "always the first option shown" if index == 0 else f"always option {index + 1}, of questions that have one"
    return Cue(f"place {index + 1}", meaning, _at(index))


LAST = Cue("last place", "always the last option shown", lambda asked: _at(len(asked.answers) - 1)(asked))
TEXT_CUES = (
    Cue("longest", "the option with the most characters", _longest),
    Cue("shortest", "the option with the fewest characters", _shortest),
    Cue(
        "like the question", "the option that shares most words with the question", _overlap(lambda asked: asked.question.query)
    ),
    Cue(
        "like the profile",
        "the option that shares most words with the user's profile",
        _overlap(lambda asked: asked.episode.user_profile.formatted_str),
    ),
    Cue("most common words", "the option most like the others in its words", _common),
    Cue("least common words", "the option least like the others in its words", _odd),
)
STALE = Cue("stale", "knows the start and nothing later", stale)
TOLD = (
    Cue("lived through", "knows which options were added only to fill up", _lived),
    Cue("best fixed choice", "the option right most often: no way to look at texts alone gets further", _best_fixed),
)
