"""Shortcuts that learn from the form of options which is right, on other users than those they answer for.

A guesser sees one question's options side by side: by how much each differs from the others in its features. From four fifths
of the users at a time it learns, by ridge regression, in what share of the periods an option is right. Questions with the same
options are one question, whoever is asked: nobody learns an answer from a copy.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from operator import add
from typing import Any, NamedTuple

from assets.text.spacing import ODD_SPACE
from assets.text.words import words_of
from validation.cross_fitting import cross_fitted, without_copies, word_columns

FOLDS = 5  # so four fifths of the users teach
FEWEST_USERS = 8
# They learn from those whose ids have the smallest digests. More would only make the report slower.
MOST_USERS = 300
WORD_COLUMNS = 256  # words that share a column weigh the same; more columns take longer to fit
DIGITS = 6  # of a score: the last bits differ between machines
SIGNS = ".,;:!?'\"()-–—…/&%"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SENTENCE = re.compile(r"[.!?。！？]")
Features = Callable[[Sequence[str]], Sequence[Sequence[float]]]
Weights = tuple[float, ...]


class GuessedQuestion(NamedTuple):
    """A question's words, its options in the order shown, and their shares of the periods in which they are right."""

    user_id: str
    question_id: str
    query: str
    answers: tuple[str, ...]
    shares: Weights
    periods: int


def weights_of_highest(scores: Sequence[float]) -> Weights:
    """Return the probabilities of taking the option with the highest score; equal ones share."""
    top = max(scores)
    best = [score == top for score in scores]
    count = sum(best)
    return tuple([weight / count for weight in best])


def length_features(answers: Sequence[str]) -> list[list[float]]:
    """Return each option's numbers of characters, words and sentences; 1 for the longest, 1 for the shortest."""
    longest = max(map(len, answers))
    shortest = min(map(len, answers))
    rows: list[list[float]] = []
    for answer in answers:
        sentences = len(SENTENCE.findall(answer))
        rows.append([len(answer), len(answer.split()), sentences, len(answer) == longest, len(answer) == shortest])
    return rows


def form_features(answers: Sequence[str]) -> list[list[float]]:
    """Return each option's lengths, position, punctuation, shares of letters, and numbers of capitals, digits and odd signs."""
    last = len(answers) - 1
    rows = length_features(answers)
    for index, (row, answer) in enumerate(zip(rows, answers, strict=True)):
        counts = Counter(answer.casefold())
        length = max(1, len(answer))
        row += [index == 0, index == 1, index == 2, index == last]
        row += map(counts.__getitem__, SIGNS)
        row += [counts[letter] / length for letter in LETTERS]
        row += [sum(map(str.isupper, answer)), sum(map(str.isdigit, answer)), length / max(1, len(answer.split()))]
        row += [_odd_signs(answer), len(ODD_SPACE.findall(answer)), answer.count("\n")]
    return rows


def _odd_signs(text: str) -> int:
    """Return how many characters are no letter, digit, space or usual punctuation."""
    return sum(not (letter.isalnum() or letter.isspace() or letter in SIGNS) for letter in text)


def word_features(answers: Sequence[str]) -> list[list[float]]:
    """Return a row for each option, with 1 in the columns of its words."""
    return [word_columns(words_of(answer), columns=WORD_COLUMNS) for answer in answers]


def all_features(answers: Sequence[str]) -> list[list[float]]:
    return list(map(add, form_features(answers), word_features(answers)))


class Guesser(NamedTuple):
    """The features that a guesser looks at, and the penalty on its weights, by which it learns less from chance."""

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
    """Remember the questions of some users, then answer each by what the others teach."""

    def __init__(self) -> None:
        self._by_digest: dict[str, list[GuessedQuestion]] = {}

    def add(self, user_id: str, questions: Sequence[GuessedQuestion]) -> None:
        """Remember a user; beyond the most, the one whose id has the greatest digest is forgotten."""
        self._by_digest[hashlib.sha256(user_id.encode()).hexdigest()] = list(questions)
        if len(self._by_digest) > MOST_USERS:
            del self._by_digest[max(self._by_digest)]

    def choices(self) -> Iterator[tuple[str, GuessedQuestion, Weights]]:
        """Yield guesser, question and the probability of each option, user after user. Yield nothing of few users."""
        users = map(self._by_digest.__getitem__, sorted(self._by_digest))
        asked = without_copies(chain.from_iterable(users), text=_text)
        numbers: dict[str, int] = {}
        folds: list[int] = []
        for question in asked:
            folds.append(numbers.setdefault(question.user_id, len(numbers)) % FOLDS)
        # Few users teach nothing that is not chance.
        if len(numbers) < FEWEST_USERS:
            return
        for name, guesser in GUESSERS.items():
            for question, scores in zip(asked, _scores(asked, folds, guesser), strict=True):
                yield name, question, weights_of_highest(scores)


def _text(question: GuessedQuestion) -> frozenset[tuple[str, ...]]:
    """Return the words of the options, in whatever order these are shown."""
    return frozenset(map(words_of, question.answers))


def _scores(asked: Sequence[GuessedQuestion], folds: Sequence[int], guesser: Guesser) -> Iterator[list[float]]:
    """Yield the scores of each question's options, by weights that were fitted to the other folds."""
    import numpy as np  # heavy, and nothing is guessed where the graph is only shown

    blocks: list[Any] = []
    gains: list[Any] = []
    row_folds: list[int] = []
    for question, fold in zip(asked, folds, strict=True):
        features = np.asarray(guesser.features(question.answers), dtype=float)
        # A guesser compares the options of one question, so each question is centred by itself.
        blocks.append(features - features.mean(axis=0))
        gains.append(np.asarray(question.shares) - 1 / len(question.shares))
        row_folds += [fold] * len(question.answers)
    scores = cross_fitted(np.concatenate(blocks), np.concatenate(gains), row_folds, ridge=guesser.ridge).round(DIGITS)
    start = 0
    for question in asked:
        end = start + len(question.answers)
        yield scores[start:end].tolist()
        start = end
