"""Rows from which a reward model of memories learns, from any runs in one file, and the floor that it has to beat.

A row is one question, what the memory gave back for it, and whether the answer was right with the memory (S), with none (N),
with the needed facts (O) and with everything (F). What a model of memory quality should tell is `kept`: with everything the
answer is right, and with the memory it still is. Where everything does not lead to it either, no memory is to blame.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import rounded, tail_share
from assets.text.words import count_tokens, words_of
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import MANIFEST, RESULTS, read_table
from pipelines.evaluation.isolated import EventRow, MemoryRow
from pipelines.evaluation.records import RunManifest

Split = Literal["train", "test"]
SPLITS = ("item_split", "memory_split")  # new questions for known memories, and new memories
TEST_SHARE = 5  # one of so many is for testing
RESAMPLES = 1000  # fewer than for other intervals, as each compares all pairs of rows


class RewardRow(Record):
    """A row of a run, with where it is from, its label, and the part of each split that it belongs to."""

    benchmark: str = Field(description="the benchmark of the release that was asked about")
    release: str = Field(description="digest of that release")
    memory: str = Field(description="the memory's name")
    reasoner: str = Field(description="the model that answered")
    row: MemoryRow = Field(description="question, recalled text, and what was right in which condition")
    written_tokens: int = Field(description="tokens of all that had been written")
    kept: bool | None = Field(description="right with everything, and with the memory too; none where everything is wrong")
    item_split: Split = Field(description="a split in which no item is in both parts, whatever memory it was asked of")
    memory_split: Split = Field(description="a split in which no memory is in both parts")


# Read off a row without understanding it; more of it should be better.
BASELINES: Mapping[str, Callable[[RewardRow], float]] = {
    "compression": lambda one: one.row.recalled_tokens / max(1, one.written_tokens),
    "length": lambda one: float(one.row.recalled_tokens),
    "overlap": lambda one: _overlap(one.row.query, " ".join(one.row.recalled)),
}


class Floor(Record):
    """The area under the curve of a trivial baseline, on a split's test part: does it find the rows that kept what was needed?

    Whether more or less of it is better was learned from the other part. `items`: clusters in the test part.
    """

    baseline: str
    split: str
    rows: int
    items: int
    area: Estimate


def reward_rows(runs: Sequence[Path]) -> list[RewardRow]:
    """Return the rows of all runs, in an order that follows from them alone. Raises EvaluationError."""
    manifests = {path: _manifest(path) for path in runs}
    memories = {manifest.memory.name for manifest in manifests.values()}
    tested: set[str] = set()
    if len(memories) > 1:  # a single one cannot be in both parts
        tested.update(sorted(memories, key=_digest)[: max(1, len(memories) // TEST_SHARE)])
    rows: list[RewardRow] = []
    for path in runs:
        rows.extend(_rows_of(path, manifests[path], tested))
    return sorted(rows, key=lambda one: (one.benchmark, one.release, one.memory, one.row.model_dump_json()))


def floors(rows: Sequence[RewardRow], *, seed: int) -> list[Floor]:
    """Measure each baseline on the test part of each split, where both parts have rows of both labels."""
    found: list[Floor] = []
    for split in SPLITS:
        parts: dict[Split, list[RewardRow]] = {"train": [], "test": []}
        for row in rows:
            if row.kept is not None:
                parts[getattr(row, split)].append(row)
        if not (_has_both_labels(parts["train"]) and _has_both_labels(parts["test"])):
            continue
        test = parts["test"]
        items = len(set(map(_cluster, test)))
        for name, score in BASELINES.items():
            more_is_better = (area_under(parts["train"], score, seed=seed).value or 0) >= 0.5
            area = area_under(test, score, seed=seed, sign=1 if more_is_better else -1)
            found.append(Floor(baseline=name, split=split, rows=len(test), items=items, area=area))
    return found


def _has_both_labels(rows: Sequence[RewardRow]) -> bool:
    return len({row.kept for row in rows}) == 2


def area_under(
    rows: Sequence[RewardRow], score: Callable[[RewardRow], float], *, seed: int, sign: Literal[1, -1] = 1
) -> Estimate:
    """Return the chance that a row that kept what was needed scores above one that did not, with its interval over items.

    `sign` -1: a lower score is the better one.
    """
    clusters = sorted(set(map(_cluster, rows)))
    scores = np.asarray([sign * score(row) for row in rows])
    kept = np.asarray([bool(row.kept) for row in rows])
    places = np.searchsorted(clusters, list(map(_cluster, rows)))
    wins = np.zeros((len(clusters), len(clusters)))
    pairs = np.zeros_like(wins)
    for index in np.flatnonzero(kept):
        higher = (scores[index] > scores[~kept]) + (scores[index] == scores[~kept]) / 2
        np.add.at(wins, (places[index], places[~kept]), higher)
        np.add.at(pairs, (places[index], places[~kept]), 1.0)
    count = len(clusters)
    if not pairs.sum() or count < 2:
        return Estimate(value=rounded(wins.sum() / pairs.sum()) if pairs.sum() else None, low=None, high=None)
    weights = (
        np.random.Generator(np.random.PCG64(seed)).multinomial(count, np.full(count, 1 / count), size=RESAMPLES).astype(float)
    )
    above = (weights @ wins * weights).sum(axis=-1)
    below = (weights @ pairs * weights).sum(axis=-1)
    # A resample may have no pair of rows to compare.
    drawn = above[below > 0] / below[below > 0]
    low, high = np.quantile(drawn, [tail_share(count), 1 - tail_share(count)])
    return Estimate(value=rounded(wins.sum() / pairs.sum()), low=rounded(low), high=rounded(high))


def _manifest(path: Path) -> RunManifest:
    if not (path / RESULTS).is_file():
        raise EvaluationError(f"{path} is no finished run; give folders of runs, as amemgym evaluate names them.")
    try:
        return RunManifest.model_validate_json((path / MANIFEST).read_bytes())
    except (OSError, ValueError) as error:
        raise EvaluationError(f"The run {path} cannot be read ({type(error).__name__}); was it changed?") from error


def _rows_of(path: Path, manifest: RunManifest, tested: set[str]) -> Iterator[RewardRow]:
    try:
        rows = read_table(path / "memory.parquet", kind=MemoryRow)
        events = read_table(path / "events.parquet", kind=EventRow)
    except (OSError, KeyError, ValueError) as error:
        raise EvaluationError(f"The run {path} cannot be read ({type(error).__name__}); was it changed?") from error
    lengths = _written(events)
    for row in rows:
        so_far = lengths.get((row.cluster, row.length), [0])
        everything = row.right_with_everything
        yield RewardRow(
            benchmark=manifest.benchmark,
            release=manifest.dataset_digest,
            memory=manifest.memory.name,
            reasoner=manifest.models["assistant"],
            row=row,
            written_tokens=so_far[min(row.written, len(so_far) - 1)],
            kept=row.right_with_memory if everything else None,
            item_split="test" if int(_digest(row.cluster), 16) % TEST_SHARE == 0 else "train",
            memory_split="test" if manifest.memory.name in tested else "train",
        )


def _written(events: Sequence[EventRow]) -> dict[tuple[str, int], list[int]]:
    """Return the tokens of the first so many events of each cluster and length."""
    tokens: dict[tuple[str, int], list[int]] = {}
    for event in events:
        tokens.setdefault((event.cluster, event.length), []).append(count_tokens(event.text))
    return {key: [0, *accumulate(counts)] for key, counts in tokens.items()}


def _overlap(query: str, recalled: str) -> float:
    """Return the share of the question's words that are in the recalled text."""
    words = set(words_of(query))
    return len(words & set(words_of(recalled))) / max(1, len(words))


def _cluster(row: RewardRow) -> str:
    return f"{row.release} {row.row.cluster}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
