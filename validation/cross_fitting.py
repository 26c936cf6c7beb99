"""Scores by linear weights that were fitted to other folds: what somebody learns who has seen other items only."""

import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def word_columns(words: Iterable[str], *, columns: int) -> list[float]:
    """Which words there are, each in one of a number of columns."""
    row = [0.0] * columns
    for word in words:
        row[zlib.crc32(word.encode()) % columns] = 1.0
    return row


def cross_fitted(
    rows: "NDArray[np.float64]", gains: "NDArray[np.float64]", folds: Sequence[int], *, ridge: float
) -> "NDArray[np.float64]":
    """A score for each row, by ridge regression on the gains of the rows of other folds. Columns are scaled in place."""
    import numpy as np  # heavy, and nothing is learned where the graph is only shown

    solve: Any = np.linalg.solve  # its annotations are only partly known to type checkers
    rows /= np.maximum(rows.std(axis=0), 1e-9)
    fold = np.asarray(folds)
    scores, held_back = np.zeros(len(rows)), ridge * len(rows) * np.eye(rows.shape[1])
    for held_out in sorted(set(folds)):
        learn = fold != held_out
        weights = solve(rows[learn].T @ rows[learn] + held_back, rows[learn].T @ gains[learn])
        scores[~learn] = rows[~learn] @ weights
    return scores
