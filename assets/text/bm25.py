"""Rank texts by the words that they share with a query (Okapi BM25), rare words before common ones."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from assets.text.words import UNSPACED, UNSPACED_WORD

# A word, or a run of a script that is written without spaces.
WORD = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")
SATURATION = 1.5  # the usual k1
LENGTH_SHARE = 0.75  # and b


def searched_words(text: str) -> Iterator[str]:
    """Yield the words by which texts are found; of scripts without spaces each character and each pair of neighbours."""
    for run in WORD.findall(text.casefold()):
        if not UNSPACED_WORD.match(run):
            yield run
            continue
        yield from run
        for first, second in pairwise(run):
            yield first + second


def rank_texts(counts: Sequence[Counter[str]], query: str) -> dict[int, float]:
    """Return the places of the texts that share words with the query with their scores, the best first.

    `counts`: the searched words of each text.
    """
    total = len(counts)
    words = set(searched_words(query))
    shared = [own.keys() & words for own in counts]
    rarity = dict[str, float]()
    for word, found in Counter(chain.from_iterable(shared)).items():
        rarity[word] = math.log(1 + (total - found + 0.5) / (found + 0.5))
    lengths = [own.total() for own in counts]
    mean = sum(lengths) / max(1, total) or 1.0
    scores = dict[int, float]()
    for place, own in enumerate(shared):
        if own:
            scores[place] = _score(counts[place], {word: rarity[word] for word in sorted(own)}, length=lengths[place] / mean)
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def _score(counts: Counter[str], rarity: dict[str, float], *, length: float) -> float:
    """Return the score of a text by these words of it, in one order, because sums of floats depend on it."""
    damping = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length)
    parts = list[float]()
    for word, weight in rarity.items():
        times = counts[word]
        parts.append(weight * times * (SATURATION + 1) / (times + damping))
    # The last bits differ between machines.
    return round(sum(parts), 9)
