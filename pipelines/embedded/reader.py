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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from pipelines.embedded.bank import Topic, load_bank


def as_words(name: str) -> str:
    """Return a snake_case name with spaces for its underscores."""
    return name.replace("_", " ")


def word_set(words: str) -> frozenset[str]:
    """Return the set of words that are written as running text."""
    return frozenset(words.split())


VALUE_SHARE = 0.25  # of a text's words that come from one value's vocabulary, in an average message
UNKNOWN_WORD_WEIGHT = math.log(1 - VALUE_SHARE)  # of a word outside a value's vocabulary
MIN_SCORE = 4.0  # log likelihood ratio against the background
MIN_LEAD = 3.5  # log likelihood ratio against the next value
INFORMATIVE_WEIGHT = 1.0
MIN_INFORMATIVE_WORDS = 2  # above that weight: one rare word may have come by chance
DIMENSIONS = 256  # of an embedding
STOP_WORDS = word_set(
    """a an and are as at be been but by can could do does for from get gets got had has have how i if in into is it its
    just keep keeps kept let like made make makes me more most much my no not now of off on one only or other our out
    over own so some something still such than that the their them then there these they thing things this those through
    to too up us use was way we were what when where which while who will with would you your each every any all after
    before between during about again also back both few first go goes going here long new next old same since take
    takes took until very well without"""
)
# Sentences that tell nothing of how things are with the speaker now: reported speech, plans and wishes, the past, a denial.
REPORTED = re.compile(r"[^.!?]*“[^”]*”")
SENTENCE = re.compile(r"[^.!?]+[.!?]*")
NOT_OF_NOW = re.compile(
    r"^\W*(?:years ago|back then|in those days|in the past|before that|once upon a time|suppose|imagine|if only|what if"
    r"|(?:maybe |perhaps )?(?:one|some) ?day|i (?:sometimes |often )?wish|i (?:hope|plan|would like) to|if i ever"
    r"|it is (?:not|no longer) (?:true|so)|nobody can say|(?:my|an?|one of my) (?:\w+ ){0,2}"
    r"(?:friend|neighbor|sister|brother|cousin|colleague|wife|husband|partner|aunt|uncle|niece|nephew|mother|father)s?\b[^.!?]*"
    r"\b(?:says|tells me|told me|writes|wrote|reports)\b|for (?:my|an?) [^,:]+ it is like this)\b",
    re.IGNORECASE,
)
SUFFIXES = ("ingly", "edly", "ing", "ies", "ied", "ed", "es", "ly", "s")
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


@cache
def word_stem(word: str) -> str:
    """Cut a common ending off a word: crude, but the same for all forms of most words."""
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] in "ey" else word


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words, stop words left out."""
    found: set[str] = set()
    for word in WORD.findall(text.lower()):
        if word not in STOP_WORDS and len(word) > 2:
            found.add(word_stem(word))
    return frozenset(found)


@cache
def background_counts() -> tuple[Counter[str], int]:
    """Count how often each stem occurs in the whole bank, and how many occurrences there are."""
    counts: Counter[str] = Counter()
    for topic in load_bank().topics:
        phrases = [*topic.questions, *topic.requests, *topic.phrases]
        for variable in topic.variables:
            phrases.extend([*variable.vague, *variable.vague_advice])
        for phrase in phrases:
            counts.update(stems(phrase))
    return counts, counts.total()


def rarity(word: str) -> float:
    """Return the negative log frequency of a stem in the bank; rare words identify a subject better than common ones."""
    counts, total = background_counts()
    return math.log(total / (counts[word] + 1))


@cache
def word_weights(name: str, value: str) -> dict[str, float]:
    """Return the log likelihood ratio that each word of a value's vocabulary adds to the evidence for the value."""
    counts: Counter[str] = Counter()
    for topic in load_bank().topics_with.get(name, ()):
        variable = topic.variable(name)
        if variable is not None and value in variable.choices:
            for phrase in variable.choices[value].phrases:
                counts.update(stems(phrase))
    counts.update(stems(value.replace("_", " ")))
    background, size = background_counts()
    weights: dict[str, float] = {}
    for word, count in counts.items():
        share = count / counts.total()
        # One more than counted: a word of the label alone does not occur in the bank.
        weights[word] = math.log(1 - VALUE_SHARE + VALUE_SHARE * share * size / (background[word] + 1))
    return weights


@dataclass(frozen=True)
class ValueEvidence:
    """The evidence of a text for a value: the log likelihood ratio against the background, and the informative words."""

    value: str
    score: float
    words: int


def evidence(text: str, *, name: str, values: Sequence[str]) -> list[ValueEvidence]:
    """Return the evidence for each value, best first; equal evidence in alphabetical order, whatever the order given."""
    bank_name = load_bank().resolve_name(name, frozenset(values)) or name
    ranked: list[ValueEvidence] = []
    for value in values:
        ranked.append(_weigh(stems(text), word_weights(bank_name, value), value))
    return sorted(ranked, key=lambda candidate: (-candidate.score, candidate.value))


def _weigh(words: frozenset[str], vocabulary: dict[str, float], value: str) -> ValueEvidence:
    hits = [vocabulary[word] for word in words if word in vocabulary]
    score = sum(hits) + UNKNOWN_WORD_WEIGHT * (len(words) - len(hits))
    informative = [weight for weight in hits if weight > INFORMATIVE_WEIGHT]
    return ValueEvidence(value, score, len(informative))


def score_values(text: str, *, name: str, values: Sequence[str]) -> dict[str, float]:
    """Return how much the text speaks for each value, best first."""
    return {candidate.value: candidate.score for candidate in evidence(text, name=name, values=values)}


def log_share(text: str, *, name: str, value: str) -> float:
    """Return the logarithm of the value's share in the evidence for all values that the variable has in the bank."""
    values = load_bank().values_around(name, value) or (value,)
    scores = score_values(text, name=name, values=values)
    # Scores are taken relative to the highest, as exponentials of long texts' scores would overflow.
    highest = max(scores.values())
    total = sum(math.exp(score - highest) for score in scores.values())
    return scores[value] - highest - math.log(total)


def read_value(text: str, *, name: str, values: Sequence[str]) -> str | None:
    """Return the value of the variable that the text supports clearly, or None."""
    # One order of the values for all callers, so that the cache serves them all.
    return _read_value(text, name, tuple(sorted(values)))


def read_values(text: str, choices: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the values that the text supports clearly, by variable; variables that it leaves open are missing."""
    found: dict[str, str] = {}
    for name, values in choices.items():
        value = read_value(text, name=name, values=values)
        if value is not None:
            found[name] = value
    return found


@lru_cache(maxsize=20_000)
def told_of_now(text: str) -> str:
    """Return the text without what is so for somebody else, or was, might be or is not."""
    sentences = SENTENCE.findall(REPORTED.sub("", text))
    return "".join(sentence for sentence in sentences if not NOT_OF_NOW.match(sentence))


@lru_cache(maxsize=20_000)
def _read_value(text: str, name: str, values: tuple[str, ...]) -> str | None:
    ranked = evidence(told_of_now(text), name=name, values=values)
    best = ranked[0]
    lead = math.inf
    if len(ranked) > 1:
        lead = best.score - ranked[1].score
    vocabulary = word_weights(load_bank().resolve_name(name, frozenset(values)) or name, best.value)
    # A value that the bank does not have is known by the words of its label alone, which may be one.
    needed = min(MIN_INFORMATIVE_WORDS, max(1, len(vocabulary)))
    is_clear = best.score >= MIN_SCORE and lead >= MIN_LEAD and best.words >= needed
    return best.value if is_clear else None


def find_topic(text: str) -> Topic | None:
    """Return the topic that a message asks about: by its question word for word, else by the rare words of its subject."""
    bank = load_bank()
    for question, topic in bank.topic_of_question.items():
        if question in text:
            return topic
    words = stems(text)
    best = max(bank.topics, key=lambda topic: _topic_score(words, topic))
    return best if _topic_score(words, best) else None


def _topic_score(words: frozenset[str], topic: Topic) -> float:
    # The name counts beside the hobbies: cooking is a hobby near many topics, but the subject of one.
    shared = [*(words & stems(topic.topic.replace("_", " "))), *(words & stems(" ".join(topic.fits.hobbies)))]
    return sum(map(rarity, shared))


def embedding(text: str) -> list[float]:
    """Return a vector of length 1: hashed counts of stems, so that texts with common words lie close.

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
