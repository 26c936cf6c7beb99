"""What a reward model reads of a recall: numbers that say what they mean, from query, recalled texts and written events.

`FEATURES` is the one table of them: it computes them, and the report prints it. None of them knows the answer key, the name of
the memory, or what was done to it on purpose.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import nsmallest
from itertools import accumulate, combinations, islice, pairwise

from assets.text.words import count_tokens, words_of

VERSION = 2  # of the features: raised when one is added or computed differently
NAME = re.compile(r"\b[A-Z][a-z]+\b")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
NEAREST = 5  # written events that are nearest to the query
TOLD = 0.8  # share of an event's rare words in one recalled text that tells it
TWINS = 0.5  # share of rare words that two events have in common, which then speak of the same thing
MOST_PAIRS = 400  # of recalled texts that are compared
COMMON = 0.5  # share of events that have a word, beyond which it is not rare
UNIT = 1_000_000  # rarity is counted in whole parts, whose sum is the same in whatever order a process keeps its sets
MOST_TEXTS = 20_000  # whose words are kept: the same texts are recalled for many queries, and by many memories


@lru_cache(maxsize=MOST_TEXTS)
def _words(text: str) -> frozenset[str]:
    return frozenset(words_of(text))


@lru_cache(maxsize=MOST_TEXTS)
def _numbers(text: str) -> frozenset[str]:
    return frozenset(NUMBER.findall(text))


@lru_cache(maxsize=MOST_TEXTS)
def _names(text: str) -> frozenset[str]:
    return frozenset(NAME.findall(text))


@lru_cache(maxsize=MOST_TEXTS)
def _tokens(text: str) -> int:
    return count_tokens(text)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def _share(part: int | float, whole: int | float) -> float:
    return part / whole if whole else 1.0


class WrittenTexts:
    """All events of one cluster and length, with how rare their words are. Events come in order of time."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        words = list(map(_words, texts))
        self.lengths = list(map(len, words))  # in different words
        self.tokens = [0, *accumulate(map(_tokens, texts))]  # of the first so many
        counts: Counter[str] = Counter()
        for own in words:
            counts.update(own)
        most = max(1.0, COMMON * len(texts))
        self.rarity: dict[str, int] = {}
        for word, count in counts.items():
            if count <= most:
                self.rarity[word] = round(UNIT * math.log(1 + len(texts) / count))
        self.rare_words = list(map(self.rare_of, words))  # of each event
        self.places: dict[str, list[int]] = {word: [] for word in self.rarity}
        for place, own in enumerate(self.rare_words):
            for word in own:
                self.places[word].append(place)

    def rare_of(self, words: frozenset[str]) -> frozenset[str]:
        """Return the words that some, but few, events have."""
        return words & self.rarity.keys()

    def mass(self, rare_words: frozenset[str]) -> int:
        """Return the sum of how rare these words are."""
        return sum(map(self.rarity.__getitem__, rare_words))


@dataclass(frozen=True)
class Recall:
    """One recall as features read it. `written`: how many of the first events had been written; `budget`: in tokens."""

    query: str
    texts: Sequence[str]
    budget: int
    events: WrittenTexts
    written: int

    @cached_property
    def query_words(self) -> frozenset[str]:
        return _words(self.query)

    @cached_property
    def rare_query_words(self) -> frozenset[str]:
        return self.events.rare_of(self.query_words)

    @cached_property
    def text_words(self) -> list[frozenset[str]]:
        return list(map(_words, self.texts))

    @cached_property
    def rare_text_words(self) -> list[frozenset[str]]:
        return list(map(self.events.rare_of, self.text_words))

    @cached_property
    def text_masses(self) -> list[int]:
        return list(map(self.events.mass, self.rare_text_words))

    @cached_property
    def all_words(self) -> frozenset[str]:
        return _union(self.text_words)

    @cached_property
    def tokens(self) -> int:
        return sum(map(_tokens, self.texts))

    @cached_property
    def nearest(self) -> list[int]:
        """Places of the written events that share the rarest words with the query, in order of time."""
        shared: dict[int, int] = {}
        for word in self.rare_query_words:
            for place in self.events.places[word]:
                if place < self.written:
                    shared[place] = shared.get(place, 0) + self.events.rarity[word]
        scored = [(-mass / math.sqrt(1 + self.events.lengths[place]), place) for place, mass in shared.items()]
        return sorted(place for _, place in nsmallest(NEAREST, scored))

    @cached_property
    def told(self) -> list[bool]:
        """For each of the nearest events, whether one recalled text tells it."""
        found: list[bool] = []
        for place in self.nearest:
            words = self.events.rare_words[place]
            least = TOLD * self.events.mass(words)
            # A text that has less in all of it tells nothing of so much.
            texts = zip(self.rare_text_words, self.text_masses, strict=True)
            told = any(mass >= least and self.events.mass(words & text) >= least for text, mass in texts)
            found.append(bool(words) and told)
        return found

    def kept(self, of: Callable[[str], frozenset[str]]) -> float:
        """The share of such things in the nearest events that stand in the recalled texts."""
        needed = _union(of(self.events.texts[place]) for place in self.nearest)
        return _share(len(needed & _union(map(of, self.texts))), len(needed))

    @cached_property
    def values(self) -> list[frozenset[str]]:
        """The numbers and names in each recalled text."""
        return [_numbers(text) | _names(text) for text in self.texts]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        return list(islice(combinations(range(len(self.texts)), 2), MOST_PAIRS))


@dataclass(frozen=True)
class Feature:
    """A number between 0 and about 1, and its formula in words."""

    name: str
    formula: str
    value: Callable[[Recall], float]


def _rare_overlap(recall: Recall) -> float:
    found = recall.rare_query_words & recall.all_words
    return _share(recall.events.mass(found), recall.events.mass(recall.rare_query_words))


def _best_text(recall: Recall) -> float:
    best = max((recall.events.mass(recall.rare_query_words & words) for words in recall.rare_text_words), default=0)
    return _share(best, recall.events.mass(recall.rare_query_words)) if recall.texts else 0.0


def _rare_mass(recall: Recall) -> float:
    needed = _union(recall.events.rare_words[place] for place in recall.nearest)
    return _share(recall.events.mass(needed & recall.all_words), recall.events.mass(needed))


def _newest_told(recall: Recall) -> float:
    return float(recall.told[-1]) if recall.told else 1.0


def _stale_twins(recall: Recall) -> float:
    """Of the nearest events that are told, the share with a later twin that is not told."""
    told = [number for number, is_told in enumerate(recall.told) if is_told]
    stale = 0
    for number in told:
        own = recall.events.rare_words[recall.nearest[number]]
        for later in range(number + 1, len(recall.nearest)):
            other = recall.events.rare_words[recall.nearest[later]]
            alike = recall.events.mass(own & other) >= TWINS * recall.events.mass(own)
            if alike and not recall.told[later]:
                stale += 1
                break
    return stale / len(told) if told else 0.0


def _redundancy(recall: Recall) -> float:
    alike = 0.0
    for one, two in recall.pairs:
        shared = len(recall.text_words[one] & recall.text_words[two])
        alike += shared / max(1, len(recall.text_words[one]) + len(recall.text_words[two]) - shared)
    return alike / len(recall.pairs) if recall.pairs else 0.0


def _contradiction(recall: Recall) -> float:
    """Of pairs of texts that speak of the same thing, the share with other numbers or names."""
    same = differing = 0
    for one, two in recall.pairs:
        least = TWINS * recall.text_masses[one]
        if not least or recall.text_masses[two] < least:
            continue
        if recall.events.mass(recall.rare_text_words[one] & recall.rare_text_words[two]) >= least:
            same += 1
            differing += recall.values[one] != recall.values[two]
    return differing / same if same else 0.0


def _order(recall: Recall) -> float:
    """Of neighbouring recalled texts, the share in order of time; a text's time is that of its rarest word."""
    places: list[int] = []
    for words in recall.rare_text_words:
        if words:
            _, rarest = max((recall.events.rarity[word], word) for word in words)
            places.append(recall.events.places[rarest][0])
    steps = list(pairwise(places))
    return sum(after >= before for before, after in steps) / len(steps) if steps else 1.0


def _compression(recall: Recall) -> float:
    return recall.tokens / max(1, recall.events.tokens[recall.written])


def _query_words(recall: Recall) -> float:
    return _share(len(recall.query_words & recall.all_words), len(recall.query_words))


FEATURES: Sequence[Feature] = (
    Feature("compression", "tokens recalled / tokens written", _compression),
    Feature("filled", "tokens recalled / tokens of the budget", lambda one: one.tokens / max(1, one.budget)),
    Feature("texts", "log(1 + recalled texts) / 5", lambda one: math.log1p(len(one.texts)) / 5),
    Feature("query_words", "share of the query's words in the recalled texts", _query_words),
    Feature("rare_query_words", "the same, each word weighed by how rare it is", _rare_overlap),
    Feature("best_text", "the same, for the one text that has most of them", _best_text),
    Feature(
        "nearest_told",
        "share of the five events nearest to the query that one recalled text tells",
        lambda one: _share(sum(one.told), len(one.told)),
    ),
    Feature("newest_told", "whether the newest of these five is told", _newest_told),
    Feature("stale_twins", "share of told ones with a newer event on the same thing that is not told", _stale_twins),
    Feature("rare_words_kept", "share of the rare words of these five in the recalled texts", _rare_mass),
    Feature("numbers_kept", "share of their numbers and dates", lambda one: one.kept(_numbers)),
    Feature("names_kept", "share of their names", lambda one: one.kept(_names)),
    Feature("order", "share of neighbouring texts in the order of time", _order),
    Feature("redundancy", "mean share of words that two recalled texts have in common", _redundancy),
    Feature("contradiction", "share of texts on the same thing with other numbers or names", _contradiction),
)


def features_of(recall: Recall) -> dict[str, float]:
    """Return each feature's value, rounded so that it is the same on every machine."""
    return {feature.name: round(feature.value(recall), 6) for feature in FEATURES}
