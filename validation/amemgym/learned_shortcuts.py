"""Shortcuts that learn from the form of options which is right, on other users than those they answer for.

A guesser sees one question's options side by side: by how much each differs from the others in its features. From four fifths
of the users at a time it learns, by ridge regression, in what share of the periods an option is right.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from assets.llm.text import words_of
from assets.records.estimate import FEWEST_ITEMS
from validation.cross_fitting import cross_fitted, word_columns

FOLDS = 5
FEWEST_USERS, MOST_USERS = FEWEST_ITEMS, 300  # that they learn from and answer for; those whose ids have the smallest digests
WORD_COLUMNS = 256
DIGITS = 6  # of a score: the last bits differ between machines
SIGNS = ".,;:!?'\"()-–—…/&%"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SENTENCE = re.compile(r"[.!?。！？]")
Features = Callable[[Sequence[str]], Sequence[Sequence[float]]]
Weights = tuple[float, ...]


class AskedQuestion(NamedTuple):
    """A question's words, its options in the order shown, and their shares of the periods in which they are right."""

    user_id: str
    question_id: str
    query: str
    answers: tuple[str, ...]
    shares: Weights
    periods: int


def length_features(answers: Sequence[str]) -> list[list[float]]:
    """How long an option is, and whether it is the longest or the shortest."""
    longest, shortest = max(map(len, answers)), min(map(len, answers))
    return [
        [len(one), len(one.split()), len(SENTENCE.findall(one)), len(one) == longest, len(one) == shortest] for one in answers
    ]


def form_features(answers: Sequence[str]) -> list[list[float]]:
    """Characters, punctuation, case, lengths and the position."""
    last = len(answers) - 1
    rows: list[list[float]] = []
    for index, (answer, lengths) in enumerate(zip(answers, length_features(answers), strict=True)):
        counts, length = Counter(answer.casefold()), max(1, len(answer))
        rows.append(
            [
                *lengths,
                *(index == place for place in (0, 1, 2, last)),
                *(counts[sign] for sign in SIGNS),
                *(counts[letter] / length for letter in LETTERS),
                sum(map(str.isupper, answer)),
                sum(map(str.isdigit, answer)),
                length / max(1, len(answer.split())),
            ]
        )
    return rows


def word_features(answers: Sequence[str]) -> list[list[float]]:
    """Which words an option has, each in one of a number of columns."""
    return [word_columns(words_of(answer), columns=WORD_COLUMNS) for answer in answers]


def all_features(answers: Sequence[str]) -> list[list[float]]:
    return [[*form, *words] for form, words in zip(form_features(answers), word_features(answers), strict=True)]


class Guesser(NamedTuple):
    """What a guesser looks at, and how strongly its weights are held back."""

    meaning: str
    features: Features
    ridge: float


GUESSERS: Mapping[str, Guesser] = {
    "learned length": Guesser("has learned from other users how long right options are", length_features, 0.01),
    "learned form": Guesser(
        "has learned from other users the characters, punctuation, case, length and position of right options",
        form_features,
        0.1,
    ),
    "learned words": Guesser("has learned from other users the words of right options", word_features, 0.3),
    "learned all": Guesser("has learned from other users form and words of right options", all_features, 0.3),
}


class LearnedShortcuts:
    """Remembers the questions of some users, then answers each by what the others teach."""

    def __init__(self) -> None:
        self._users: dict[str, list[AskedQuestion]] = {}

    def add(self, user_id: str, questions: Sequence[AskedQuestion]) -> None:
        """Remember a user; beyond the most, the one whose id has the greatest digest is forgotten."""
        self._users[user_id] = list(questions)
        if len(self._users) > MOST_USERS:
            del self._users[max(self._users, key=_digest)]

    def choices(self) -> Iterator[tuple[str, AskedQuestion, Weights]]:
        """By guesser, user after user: a question and the probability of each of its options. Nothing of few users."""
        users = sorted((user for user in self._users if self._users[user]), key=_digest)
        if len(users) < FEWEST_USERS:
            return
        asked = [question for user in users for question in self._users[user]]
        folds = [index % FOLDS for index, user in enumerate(users) for _ in self._users[user]]
        for name, guesser in GUESSERS.items():
            for question, scores in zip(asked, _scores(asked, folds, guesser), strict=True):
                top = [score == max(scores) for score in scores]
                yield name, question, tuple(one / sum(top) for one in top)


def _digest(user_id: str) -> str:
    return hashlib.sha256(user_id.encode()).hexdigest()


def _scores(asked: Sequence[AskedQuestion], folds: Sequence[int], guesser: Guesser) -> Iterator[list[float]]:
    """A score for each option of each question, by weights that were fitted to the other folds."""
    import numpy as np  # heavy, and nothing is guessed where the graph is only shown

    blocks = [np.asarray(guesser.features(one.answers), dtype=float) for one in asked]
    rows = np.concatenate([block - block.mean(axis=0) for block in blocks])
    gains = np.concatenate([np.asarray(one.shares) - 1 / len(one.shares) for one in asked])
    fold = [number for number, block in zip(folds, blocks, strict=True) for _ in block]
    scores = cross_fitted(rows, gains, fold, ridge=guesser.ridge)
    ends = np.cumsum([len(block) for block in blocks])[:-1]
    yield from (list(map(float, part)) for part in np.split(scores.round(DIGITS), ends))
