"""Reads from a text's words which value of a variable it speaks of, which topic it is about, and an embedding.

A value's vocabulary is counted from the bank's phrases and the value's own label. The reader compares two models of a
text: one in which a share of the words comes from the value's vocabulary, and one in which all come from the bank as a
whole (the background). It never looks a sentence up, and it returns no value when the evidence is weak or two values
come close.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from pipelines.embedded.bank import Topic, load_bank


def word_set(words: str) -> frozenset[str]:
    """A set of words written as running text."""
    return frozenset(words.split())


VALUE_SHARE = 0.25  # of a text's words that come from one value's vocabulary, in an average message
UNKNOWN_WORD_WEIGHT = math.log(1 - VALUE_SHARE)  # of a word outside a value's vocabulary
MIN_SCORE, MIN_LEAD = 4.0, 3.5  # log likelihood ratios: against the background, and against the next value
INFORMATIVE_WEIGHT, MIN_INFORMATIVE_WORDS = 1.0, 2  # a reading needs so many words above this weight
DIMENSIONS = 256  # of an embedding
STOP_WORDS = word_set(
    """a an and are as at be been but by can could do does for from get gets got had has have how i if in into is it its
    just keep keeps kept let like made make makes me more most much my no not now of off on one only or other our out
    over own so some something still such than that the their them then there these they thing things this those through
    to too up us use was way we were what when where which while who will with would you your each every any all after
    before between during about again also back both few first go goes going here long new next old same since take
    takes took until very well without"""
)
SUFFIXES = ("ingly", "edly", "ing", "ies", "ied", "ed", "es", "ly", "s")
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


@cache
def stem(word: str) -> str:
    """The word without a common ending; crude, but the same for all forms of most words."""
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] in "ey" else word


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The stems of a text's words, stop words left out."""
    return frozenset(stem(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS and len(word) > 2)


@cache
def background_counts() -> tuple[Counter[str], int]:
    """How often each stem occurs in the whole bank, and how many occurrences there are."""
    counts: Counter[str] = Counter()
    for topic in load_bank().topics:
        for phrase in _all_phrases(topic):
            counts.update(stems(phrase))
    return counts, sum(counts.values())


def _all_phrases(topic: Topic) -> list[str]:
    phrases = [*topic.questions, *topic.requests]
    for variable in topic.variables:
        phrases.extend([*variable.vague, *variable.vague_advice])
        phrases.extend(phrase for choice in variable.choices.values() for phrase in choice.phrases)
    return phrases


def rarity(word: str) -> float:
    """The negative log frequency of a stem in the bank; rare words identify a subject better than common ones."""
    counts, total = background_counts()
    return math.log(total / (counts[word] + 1))


@cache
def word_weights(name: str, value: str) -> dict[str, float]:
    """The log likelihood ratio that each word of a value's vocabulary adds to the evidence for the value."""
    counts: Counter[str] = Counter()
    for topic in load_bank().topics_with.get(name, ()):
        variable = topic.variable(name)
        if variable is not None and value in variable.choices:
            for phrase in variable.choices[value].phrases:
                counts.update(stems(phrase))
    counts.update(stems(value.replace("_", " ")))
    background, size = background_counts()
    total = sum(counts.values())
    return {
        word: math.log(1 - VALUE_SHARE + VALUE_SHARE * (count / total) * size / (background[word] + 1))
        for word, count in counts.items()
    }


@dataclass(frozen=True)
class Evidence:
    """How much a text speaks for a value: the log likelihood ratio against the background, and the informative words."""

    value: str
    score: float
    words: int


def evidence(text: str, *, name: str, values: Sequence[str]) -> list[Evidence]:
    """The evidence for each value, best first; equal evidence in alphabetical order, whatever the order given."""
    bank_name = load_bank().resolve_name(name, frozenset(values)) or name
    ranked = [_weigh(stems(text), word_weights(bank_name, value), value) for value in values]
    return sorted(ranked, key=lambda one: (-one.score, one.value))


def _weigh(words: frozenset[str], vocabulary: dict[str, float], value: str) -> Evidence:
    hits = [vocabulary[word] for word in words if word in vocabulary]
    score = sum(hits) + UNKNOWN_WORD_WEIGHT * (len(words) - len(hits))
    return Evidence(value, score, sum(hit > INFORMATIVE_WEIGHT for hit in hits))


def log_share(text: str, *, name: str, value: str) -> float:
    """The logarithm of the value's share in the evidence for all values that the variable has in the bank."""
    bank = load_bank()
    values = bank.values.get(bank.resolve_name(name, frozenset({value})) or "", (value,))
    scores = {one.value: one.score for one in evidence(text, name=name, values=values)}
    highest = max(scores.values())
    rest = math.log(sum(math.exp(score - highest) for score in scores.values())) if len(scores) > 1 else 0.0
    return scores[value] - highest - rest


def read_value(text: str, *, name: str, values: Sequence[str]) -> str | None:
    """The value of the variable that the text supports clearly, or None."""
    return _read_value(text, name, tuple(sorted(values)))


@lru_cache(maxsize=20_000)
def _read_value(text: str, name: str, values: tuple[str, ...]) -> str | None:
    ranked = evidence(text, name=name, values=values)
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else Evidence("", -math.inf, 0)
    vocabulary = word_weights(load_bank().resolve_name(name, frozenset(values)) or name, best.value)
    needed = min(MIN_INFORMATIVE_WORDS, max(1, len(vocabulary)))
    clear = best.score >= MIN_SCORE and best.score - second.score >= MIN_LEAD and best.words >= needed
    return best.value if clear else None


def find_topic(text: str) -> Topic | None:
    """The topic that a message asks about: by its question word for word, else by the rare words of its subject."""
    bank = load_bank()
    asked = next((topic for question, topic in bank.topic_of_question.items() if question in text), None)
    if asked is not None:
        return asked
    scores = {topic.topic: _topic_score(stems(text), topic) for topic in bank.topics}
    best = max(bank.topics, key=lambda topic: scores[topic.topic])
    return best if scores[best.topic] else None


def _topic_score(words: frozenset[str], topic: Topic) -> float:
    # The name counts twice: cooking is a hobby near many topics, but the subject of one.
    shared = [*(words & stems(topic.topic.replace("_", " "))), *(words & stems(" ".join(topic.fits.hobbies)))]
    return sum(rarity(word) for word in shared)


def embedding(text: str) -> list[float]:
    """A vector of length 1: hashed counts of stems, so that texts with common words lie close.

    A text without informative words gets a fixed vector.
    """
    vector = [0.0] * DIMENSIONS
    for word in sorted(stems(text)):
        index, sign = _hashed_dimension(word)
        vector[index] += sign
    length = math.sqrt(sum(value * value for value in vector))
    if not length:
        return [1.0] + [0.0] * (DIMENSIONS - 1)
    return [round(value / length, 8) for value in vector]


@lru_cache(maxsize=50_000)
def _hashed_dimension(word: str) -> tuple[int, float]:
    digest = hashlib.sha256(word.encode()).digest()
    return int.from_bytes(digest[:4], "big") % DIMENSIONS, 1.0 if digest[4] % 2 else -1.0
