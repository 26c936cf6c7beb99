"""How well a bag of words tells the documents that an answer needs from filler: it has learned from other items."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assets.llm.text import words_of
from assets.memory_items.documents import ItemDocument
from assets.records.estimate import FEWEST_ITEMS, Estimate
from validation.cross_fitting import cross_fitted, word_columns

FOLDS = 5
COLUMNS = 512
FILLER_PER_ITEM = 30  # those whose ids have the smallest digests
RIDGE = 0.01


class SeenItem(NamedTuple):
    """The words of an item's documents, and which of them its answer needs."""

    words: tuple[frozenset[str], ...]
    needed: tuple[bool, ...]


class TellingApart:
    """Remembers the words of items' documents, titles included, then tells support from filler by what other items teach."""

    def __init__(self) -> None:
        self._items: dict[str, SeenItem] = {}

    def add(self, item_id: str, documents: Iterable[ItemDocument]) -> None:
        """Remember an item's support and some of its filler."""
        known = list(documents)
        support = [one for one in known if one.role == "support"]
        filler = sorted((one for one in known if one.role == "filler"), key=lambda one: _digest(one.document_id))
        kept = [*support, *filler[:FILLER_PER_ITEM]]
        words = tuple(frozenset(words_of(one.perceived)) for one in kept)
        self._items[item_id] = SeenItem(words, tuple(one.role == "support" for one in kept))

    def auroc(self) -> Estimate | None:
        """The chance that support scores above filler of the same item, with its interval over items; None of few items."""
        items = [self._items[item_id] for item_id in sorted(self._items, key=_digest)]
        items = [item for item in items if 0 < sum(item.needed) < len(item.needed)]
        if len(items) < FEWEST_ITEMS:
            return None
        import numpy as np  # heavy, and nothing is measured where the graph is only shown

        from assets.reporting.intervals import Sample, Tallies, share

        rows = np.asarray([word_columns(words, columns=COLUMNS) for item in items for words in item.words], dtype=float)
        needed = np.asarray([one for item in items for one in item.needed], dtype=float)
        folds = [index % FOLDS for index, item in enumerate(items) for _ in item.words]
        scores = cross_fitted(rows - rows.mean(axis=0), needed - needed.mean(), folds, ridge=RIDGE).round(9)
        ends = np.cumsum([len(item.words) for item in items])[:-1]
        areas = [_area(list(map(float, part)), item.needed) for part, item in zip(np.split(scores, ends), items, strict=True)]
        counts = {"area": np.asarray(areas)[:, None], "items": np.ones((len(areas), 1))}
        return Sample.of(Tallies(tuple(map(str, range(len(areas)))), counts), seed=0).estimate(share("area", "items"))


def _area(scores: Sequence[float], needed: Sequence[bool]) -> float:
    """The share of pairs of support and filler in which support scores higher; half for equal scores."""
    support = [score for score, one in zip(scores, needed, strict=True) if one]
    filler = [score for score, one in zip(scores, needed, strict=True) if not one]
    pairs = [(first > second) + (first == second) / 2 for first in support for second in filler]
    return sum(pairs) / len(pairs)


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
