"""What a reward model reads of a recall: numbers that say what they mean, from query, recalled texts and written events.

`FEATURES` is the one table of them: it computes them, and the report prints it. None of them knows the answer key, the name of
the memory, or what was done to it on purpose.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from itertools import accumulate, pairwise

from assets.text.words import count_tokens, words_of

NAME = re.compile(r"\b[A-Z][a-z]+\b")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
NEAREST = 5  # written events that are nearest to the query
TOLD = 0.8  # share of an event's rare words in one recalled text that tells it
TWINS = 0.5  # share of rare words that two events have in common, which then speak of the same thing
MOST_PAIRS = 400  # of recalled texts that are compared
COMMON = 0.5  # share of events that have a word, beyond which it is not rare


def _numbers(text: str) -> frozenset[str]:
    return frozenset(NUMBER.findall(text))


def _names(text: str) -> frozenset[str]:
    return frozenset(NAME.findall(text))


def _share(part: int | float, whole: int | float) -> float:
    return part / whole if whole else 1.0


class WrittenTexts:
    """All events of one cluster and length, with how rare their words are. Events come in order of time."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.words = [frozenset(words_of(text)) for text in texts]
        self.tokens = [0, *accumulate(count_tokens(text) for text in texts)]  # of the first so many
        counts = Counter(word for words in self.words for word in words)
        most = max(1.0, COMMON * len(texts))
        self.rarity = {word: math.log(1 + len(texts) / count) for word, count in counts.items() if count <= most}
        self.places: dict[str, list[int]] = {word: [] for word in self.rarity}
        for place, words in enumerate(self.words):
            for word in words & self.rarity.keys():
                self.places[word].append(place)

    def rare(self, words: frozenset[str]) -> float:
        """The sum of how rare these words are; words that nothing written has count nothing."""
        # Exact whatever the order of a set, which differs from process to process.
        return math.fsum(self.rarity.get(word, 0.0) for word in words)


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
        return frozenset(words_of(self.query))

    @cached_property
    def text_words(self) -> list[frozenset[str]]:
        return [frozenset(words_of(text)) for text in self.texts]

    @cached_property
    def all_words(self) -> frozenset[str]:
        return frozenset[str]().union(*self.text_words)

    @cached_property
    def tokens(self) -> int:
        return sum(map(count_tokens, self.texts))

    @cached_property
    def nearest(self) -> list[int]:
        """Places of the written events that share the rarest words with the query, in order of time."""
        shared: dict[int, float] = {}
        for word in sorted(self.query_words & self.events.places.keys()):
            for place in self.events.places[word]:
                if place < self.written:
                    shared[place] = shared.get(place, 0.0) + self.events.rarity[word]
        scored = [(-mass / math.sqrt(1 + len(self.events.words[place])), place) for place, mass in shared.items()]
        return sorted(place for _, place in nsmallest(NEAREST, scored))

    @cached_property
    def told(self) -> list[bool]:
        """For each of the nearest events, whether one recalled text tells it."""
        found: list[bool] = []
        for place in self.nearest:
            words = self.events.words[place]
            mass = self.events.rare(words)
            told = max((self.events.rare(words & text) for text in self.text_words), default=0.0)
            found.append(bool(mass) and told >= TOLD * mass)
        return found

    def kept(self, of: Callable[[str], frozenset[str]]) -> float:
        """The share of such things in the nearest events that stand in the recalled texts."""
        needed = frozenset[str]().union(*(of(self.events.texts[place]) for place in self.nearest))
        given = of("\n".join(self.texts))
        return _share(len(needed & given), len(needed))

    @cached_property
    def values(self) -> list[frozenset[str]]:
        """The numbers and names in each recalled text."""
        return [_numbers(text) | _names(text) for text in self.texts]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        count = len(self.texts)
        pairs = [(one, two) for one in range(count) for two in range(one + 1, count)]
        return pairs[:MOST_PAIRS]


@dataclass(frozen=True)
class Feature:
    """A number between 0 and about 1, and its formula in words."""

    name: str
    formula: str
    value: Callable[[Recall], float]


def _rare_overlap(recall: Recall) -> float:
    wanted = recall.events.rare(recall.query_words)
    return _share(recall.events.rare(recall.query_words & recall.all_words), wanted)


def _best_text(recall: Recall) -> float:
    wanted = recall.events.rare(recall.query_words)
    best = max((recall.events.rare(recall.query_words & words) for words in recall.text_words), default=0.0)
    return _share(best, wanted) if recall.texts else 0.0


def _rare_mass(recall: Recall) -> float:
    needed = frozenset[str]().union(*(recall.events.words[place] for place in recall.nearest))
    return _share(recall.events.rare(needed & recall.all_words), recall.events.rare(needed))


def _newest_told(recall: Recall) -> float:
    return float(recall.told[-1]) if recall.told else 1.0


def _stale_twins(recall: Recall) -> float:
    """Of the nearest events that are told, the share with a later twin that is not told."""
    told = [number for number, is_told in enumerate(recall.told) if is_told]
    stale = 0
    for number in told:
        own = recall.events.words[recall.nearest[number]]
        for later in range(number + 1, len(recall.nearest)):
            other = recall.events.words[recall.nearest[later]]
            alike = recall.events.rare(own & other) >= TWINS * max(recall.events.rare(own), 1e-9)
            if alike and not recall.told[later]:
                stale += 1
                break
    return stale / len(told) if told else 0.0


def _redundancy(recall: Recall) -> float:
    alike = [len(a & b) / max(1, len(a | b)) for a, b in _word_pairs(recall)]
    return sum(alike) / len(alike) if alike else 0.0


def _contradiction(recall: Recall) -> float:
    """Of pairs of texts that speak of the same thing, the share with other numbers or names."""
    same = differing = 0
    for one, two in recall.pairs:
        shared = recall.events.rare(recall.text_words[one] & recall.text_words[two])
        if shared < TWINS * max(1e-9, recall.events.rare(recall.text_words[one])):
            continue
        same += 1
        differing += recall.values[one] != recall.values[two]
    return differing / same if same else 0.0


def _word_pairs(recall: Recall) -> list[tuple[frozenset[str], frozenset[str]]]:
    return [(recall.text_words[one], recall.text_words[two]) for one, two in recall.pairs]


def _order(recall: Recall) -> float:
    """Of neighbouring recalled texts, the share in order of time; a text's time is that of its rarest word."""
    places: list[int] = []
    for words in recall.text_words:
        known = sorted(words & recall.events.rarity.keys())
        if known:
            rarest = max(known, key=recall.events.rarity.__getitem__)
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
