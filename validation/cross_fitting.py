"""Score rows by linear weights that were fitted to other folds, as somebody would who has seen other items only."""

import zlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Item = TypeVar("Item")


def without_copies(items: Iterable[Item], *, text: Callable[[Item], Hashable]) -> list[Item]:
    """Return the items, the first of each text.

    An item and its copy in another fold would teach the answer itself. Counted several times, copies would also make chance
    look smaller than it is.
    """
    first: dict[Hashable, Item] = {}
    for item in items:
        first.setdefault(text(item), item)
    return list(first.values())


def word_columns(words: Iterable[str], *, columns: int) -> list[float]:
    """Return a row with 1 in the column of each word; its hash chooses one of `columns`."""
    row = [0.0] * columns
    for word in words:
        row[zlib.crc32(word.encode()) % columns] = 1.0
    return row


def cross_fitted(
    rows: "NDArray[np.float64]", gains: "NDArray[np.float64]", folds: Sequence[int], *, ridge: float
) -> "NDArray[np.float64]":
    """Return a score for each row, by ridge regression on the gains of the rows of other folds. `rows` is scaled in place."""
    import numpy as np  # heavy, and nothing is learned where the graph is only shown

    solve: Any = np.linalg.solve  # its annotations are only partly known to type checkers
    # A column that never varies would be divided by zero.
    rows /= np.maximum(rows.std(axis=0), 1e-9)
    fold = np.asarray(folds)
    scores = np.zeros(len(rows))
    penalty = ridge * len(rows) * np.eye(rows.shape[1])
    for held_out in sorted(set(folds)):
        learn = fold != held_out
        weights = solve(rows[learn].T @ rows[learn] + penalty, rows[learn].T @ gains[learn])
        scores[~learn] = rows[~learn] @ weights
    return scores
