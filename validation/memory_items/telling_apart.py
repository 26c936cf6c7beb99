"""Measure how well what other items teach tells the documents that an answer needs from filler, looked at in several ways.

Items with the same support are one item: nobody learns an answer from a copy.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from assets.memory_items.documents import ItemDocument, SizedItem
from assets.records.estimate import Estimate
from assets.text.words import words_of
from validation.cross_fitting import cross_fitted, without_copies, word_columns
from validation.memory_items.document_form import FORM, form_columns, name_columns, names_by_document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST_ITEMS = 8  # of fewer nobody learns anything
FOLDS = 5  # so four fifths of the items teach
COLUMNS = 512  # words that share a column weigh the same; more columns take longer to fit
# A sample of each item's own, as items share filler: one of the same documents everywhere would be known by heart. More would
# only make the fit slower.
FILLER_PER_ITEM = 30
RIDGE = 0.01


class SeenDocument(NamedTuple):
    """A document's words, and what its names and its form tell, as columns."""

    words: frozenset[str]
    names: tuple[float, ...]
    form: tuple[float, ...]


class SeenItem(NamedTuple):
    """The documents that an item's answer needs, and some of its filler."""

    support: tuple[SeenDocument, ...]
    filler: tuple[SeenDocument, ...]


def _words(document: SeenDocument) -> Sequence[float]:
    return word_columns(document.words, columns=COLUMNS)


LOOKS: Mapping[str, Callable[[SeenDocument], Sequence[float]]] = {
    "a bag of words": _words,
    "names that recur within the task": attrgetter("names"),
    FORM: attrgetter("form"),
}


class TellingApart:
    """Remember items' documents, titles included, then tell support from filler by what other items teach."""

    def __init__(self) -> None:
        self._items: dict[str, SeenItem] = {}

    def add(self, item_id: str, sized: SizedItem) -> None:
        """Remember an item's support and some of its filler, each as it is among all documents of this length."""
        names = names_by_document(sized.documents)
        form = form_columns(sized.turns)
        by_role: defaultdict[str, list[ItemDocument]] = defaultdict(list)
        for document in sized.documents:
            by_role[document.role].append(document)
        by_chance = sorted(by_role["filler"], key=lambda document: _digest(f"{item_id}/{document.document_id}"))
        filler = by_chance[:FILLER_PER_ITEM]

        def as_seen(documents: Sequence[ItemDocument]) -> tuple[SeenDocument, ...]:
            found: list[SeenDocument] = []
            for document in documents:
                words = frozenset(words_of(document.text_with_title))
                found.append(SeenDocument(words, name_columns(document.document_id, names), form[document.document_id]))
            return tuple(found)

        self._items[item_id] = SeenItem(as_seen(by_role["support"]), as_seen(filler))

    def areas(self) -> dict[str, Estimate]:
        """Return by way of looking the chance that support scores above filler of its item; nothing of few items."""
        # The folds go by the order of the digests, whatever the order in which items came.
        comparable: list[SeenItem] = []
        for item_id in sorted(self._items, key=_digest):
            item = self._items[item_id]
            if item.support and item.filler:
                comparable.append(item)
        items = without_copies(comparable, text=_support_words)
        if len(items) < FEWEST_ITEMS:
            return {}
        found: dict[str, Estimate] = {}
        for name, columns in LOOKS.items():
            found[name] = _area_over(items, columns)
        return found


def _support_words(item: SeenItem) -> frozenset[frozenset[str]]:
    return frozenset(document.words for document in item.support)


def _area_over(items: Sequence[SeenItem], columns: Callable[[SeenDocument], Sequence[float]]) -> Estimate:
    """Return the mean area over these items, each scored by weights of other folds, with its interval."""
    import numpy as np  # heavy, and nothing is measured where the graph is only shown

    from assets.reporting.intervals import Tallies, quotient

    rows: list[Sequence[float]] = []
    labels: list[bool] = []
    folds: list[int] = []
    for index, item in enumerate(items):
        documents = (*item.support, *item.filler)
        rows += map(columns, documents)
        folds += [index % FOLDS] * len(documents)
        labels += [True] * len(item.support) + [False] * len(item.filler)
    scores = _scores(np.asarray(rows, dtype=float), np.asarray(labels, dtype=float), folds)
    areas: list[float] = []
    start = 0
    for item in items:
        middle = start + len(item.support)
        end = middle + len(item.filler)
        areas.append(_area(scores[start:middle].tolist(), scores[middle:end].tolist()))
        start = end
    counts = {"area": np.asarray(areas)[:, None], "items": np.ones((len(areas), 1))}
    return Tallies(tuple(map(str, range(len(areas)))), counts).estimate(quotient("area", "items"))


def _scores(rows: "NDArray[np.float64]", needed: "NDArray[np.float64]", folds: Sequence[int]) -> "NDArray[np.float64]":
    # Rounded, because the last bits of a score differ between machines.
    return cross_fitted(rows - rows.mean(axis=0), needed - needed.mean(), folds, ridge=RIDGE).round(9)


def _area(support: Sequence[float], filler: Sequence[float]) -> float:
    """Return the share of pairs of support and filler in which support scores higher; equal scores count half."""
    higher = 0.0
    for first, second in product(support, filler):
        higher += (first > second) + (first == second) / 2
    return higher / (len(support) * len(filler))


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
