"""How long answers took: the one thing about a run that no repetition brings back, and so in a file of its own."""

from collections.abc import Sequence

import numpy as np

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import Sample, Tallies, rounded, share


class Latency(Record):
    """`latency.json`: seconds of model time for each answer to a question, one call after another.

    `mean` has its interval over users; `median` and `slowest` (a twentieth took longer) have none. `timed` of the
    `answers` were measured; those that the call cache answered were not.
    """

    answers: int
    timed: int
    mean: Estimate
    median: float | None
    slowest: float | None


def latency_of(users: Sequence[Sequence[float | None]], *, seed: int) -> Latency:
    """The latency over the users' answers."""
    timed = [[one for one in seconds if one is not None] for seconds in users]
    counts = {
        "seconds": np.array([[sum(seconds)] for seconds in timed], dtype=float).reshape(-1, 1),
        "answers": np.array([[len(seconds)] for seconds in timed], dtype=float).reshape(-1, 1),
    }
    sample = Sample.of(Tallies(tuple(map(str, range(len(users)))), counts), seed=seed)
    every = [one for seconds in timed for one in seconds]
    median, slowest = np.quantile(every, [0.5, 0.95]) if every else (np.nan, np.nan)
    return Latency(
        answers=sum(map(len, users)),
        timed=len(every),
        mean=sample.estimate(share("seconds", "answers")),
        median=rounded(median),
        slowest=rounded(slowest),
    )
