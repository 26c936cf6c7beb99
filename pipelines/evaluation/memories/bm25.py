"""BM25: events found by the words that they share with the query, rare words before common ones (Okapi BM25)."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from pipelines.evaluation.contract import MemoryEvent, MemoryTools, best_within
from pipelines.evaluation.memories.base import CopiedMemory, Positive

WORD = re.compile(r"\w+")
SATURATION, LENGTH_SHARE = 1.5, 0.75  # the usual k1 and b


class Bm25Memory(CopiedMemory):
    """The `topk` events that score best, in order of time."""

    def __init__(self, tools: MemoryTools, *, topk: Positive = 30) -> None:
        super().__init__(tools)
        self.topk = topk
        self.lines: list[str] = []
        self.counts: list[Counter[str]] = []

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        self.lines += [event.line for event in events]
        self.counts += [Counter(WORD.findall(event.text.casefold())) for event in events]

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        wanted = sorted(set(WORD.findall(query.casefold())))
        having = {word: sum(word in counts for counts in self.counts) for word in wanted}
        total = len(self.counts)
        rarity = {word: math.log(1 + (total - found + 0.5) / (found + 0.5)) for word, found in having.items() if found}
        mean = sum(counts.total() for counts in self.counts) / max(1, total) or 1.0
        scores = {place: _score(counts, rarity, length=counts.total() / mean) for place, counts in enumerate(self.counts)}
        ranked = sorted((place for place in scores if scores[place] > 0), key=lambda place: (-scores[place], place))[
            : self.topk
        ]
        fitting = ranked[: len(best_within((self.lines[place] for place in ranked), tokens))]
        return [self.lines[place] for place in sorted(fitting)]


def _score(counts: Counter[str], rarity: dict[str, float], *, length: float) -> float:
    damping = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length)
    found = ((weight, counts[word]) for word, weight in rarity.items() if word in counts)
    return round(sum(weight * times * (SATURATION + 1) / (times + damping) for weight, times in found), 9)
