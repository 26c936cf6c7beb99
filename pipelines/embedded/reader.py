"""Reading: which value of a variable a text speaks of, by the words in it and nothing else.

A value's vocabulary is counted from the bank's lines and the value's own label. A text is compared with each value as a
mixture: is it likelier that a part of it was written about this value than that all of it is plain talk? The reader
never looks a sentence up, and it says that it cannot tell when the evidence is thin or two values come close.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from pipelines.embedded.amemgym.wording import word_set
from pipelines.embedded.bank import Topic, load_bank

SHARE = 0.25  # of a text's words that speak of one value, in an average message
ENOUGH, AHEAD = 4.0, 3.5  # log likelihood ratios: against plain talk, and against the next value
TELLING, TELLING_WORDS = 1.0, 2  # a word this telling counts; so many of them must support a reading
MISS = math.log(1 - SHARE)
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
    """The stems of a text's telling words."""
    return frozenset(stem(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS and len(word) > 2)


@cache
def plain_talk() -> tuple[Counter[str], int]:
    """How often each stem occurs in the whole bank, and how many occurrences there are."""
    counts: Counter[str] = Counter()
    for topic in load_bank().topics:
        for line in _all_lines(topic):
            counts.update(stems(line))
    return counts, sum(counts.values())


def _all_lines(topic: Topic) -> list[str]:
    lines = [*topic.questions, *topic.requests]
    for variable in topic.variables:
        lines.extend([*variable.vague, *variable.vague_advice])
        lines.extend(line for choice in variable.choices.values() for line in choice.lines)
    return lines


@cache
def weights(name: str, value: str) -> dict[str, float]:
    """What each word of a value's vocabulary adds to the belief that a text speaks of it."""
    counts: Counter[str] = Counter()
    for topic in load_bank().homes.get(name, ()):
        variable = topic.variable(name)
        if variable is not None and value in variable.choices:
            for line in variable.choices[value].lines:
                counts.update(stems(line))
    counts.update(stems(value.replace("_", " ")))
    common, size = plain_talk()
    total = sum(counts.values())
    return {word: math.log(1 - SHARE + SHARE * (count / total) * size / (common[word] + 1)) for word, count in counts.items()}


@dataclass(frozen=True)
class Evidence:
    """How much a text speaks for a value: the log likelihood ratio against plain talk, and the telling words."""

    value: str
    score: float
    words: int


def evidence(text: str, *, name: str, values: Sequence[str]) -> list[Evidence]:
    """The evidence for each value, best first; equal evidence in alphabetical order, whatever the order given."""
    own = load_bank().known_as(name, frozenset(values)) or name
    found = [_weigh(stems(text), weights(own, value), value) for value in values]
    return sorted(found, key=lambda one: (-one.score, one.value))


def share(text: str, *, name: str, value: str) -> float:
    """The logarithm of the value's share in the evidence for all values that the variable has in the bank."""
    bank = load_bank()
    known = bank.values.get(bank.known_as(name, frozenset({value})) or "", (value,))
    scores = {one.value: one.score for one in evidence(text, name=name, values=known)}
    most = max(scores.values())
    rest = math.log(sum(math.exp(score - most) for score in scores.values())) if len(scores) > 1 else 0.0
    return scores[value] - most - rest


def _weigh(words: frozenset[str], vocabulary: dict[str, float], value: str) -> Evidence:
    hits = [vocabulary[word] for word in words if word in vocabulary]
    return Evidence(value, sum(hits) + MISS * (len(words) - len(hits)), sum(hit > TELLING for hit in hits))


@lru_cache(maxsize=20_000)
def _read(text: str, name: str, values: tuple[str, ...]) -> str | None:
    ranked = evidence(text, name=name, values=values)
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else Evidence("", -math.inf, 0)
    needed = min(TELLING_WORDS, max(1, len(weights(load_bank().known_as(name, frozenset(values)) or name, best.value))))
    clear = best.score >= ENOUGH and best.score - second.score >= AHEAD and best.words >= needed
    return best.value if clear else None


def read(text: str, *, name: str, values: Sequence[str]) -> str | None:
    """The value of the variable that the text lets one conclude, or None where it cannot tell."""
    return _read(text, name, tuple(sorted(values)))
