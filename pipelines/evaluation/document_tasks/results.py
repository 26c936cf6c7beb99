"""What the rows of one memory come to: isolated scores over all tasks, and curves over length and hops."""

from collections.abc import Callable, Sequence

import numpy as np

from assets.records.base import Record
from assets.records.estimate import Estimate, shown
from assets.reporting.intervals import Sample, Tallies, share
from pipelines.evaluation.document_tasks.run import DocumentRow, TaskError
from pipelines.evaluation.isolated import IsolatedScores, isolated_scores

HEAD = (
    *("by", "", "memory (S)", "nothing (N)", "facts (O)", "everything (F)", "S - N", "(S - N)/(O - N)"),
    *("facts recalled", "tokens written", "tokens read"),
)


class CurvePoint(Record):
    """The tasks of one length or of one number of hops. Token counts are means per task."""

    by: str
    value: int
    scores: IsolatedScores
    fact_recall: Estimate
    written_tokens: float
    recalled_tokens: float


class DocumentResults(Record):
    """One memory on one release at one budget."""

    memory: str
    release: str
    reasoner: str
    budget: int
    tasks: int
    errors: tuple[TaskError, ...]
    curve: tuple[CurvePoint, ...]


def curve(rows: Sequence[DocumentRow], *, seed: int) -> tuple[CurvePoint, ...]:
    """A point for all tasks of each length, then of each number of hops."""
    keys: dict[str, Callable[[DocumentRow], int]] = {"length": lambda row: row.target_tokens, "hops": lambda row: row.hops}
    points: list[CurvePoint] = []
    for by, key in keys.items():
        for value in sorted({key(row) for row in rows}):
            own = [row for row in rows if key(row) == value]
            scores = isolated_scores([row.row for row in own], seed=seed)
            if scores is not None:
                points.append(_point(by, value, own, scores, seed=seed))
    return tuple(points)


def _point(by: str, value: int, rows: Sequence[DocumentRow], scores: IsolatedScores, *, seed: int) -> CurvePoint:
    return CurvePoint(
        by=by,
        value=value,
        scores=scores,
        fact_recall=_mean(rows, seed=seed),
        written_tokens=round(sum(row.written_tokens for row in rows) / len(rows), 1),
        recalled_tokens=round(sum(row.row.recalled_tokens for row in rows) / len(rows), 1),
    )


def _mean(rows: Sequence[DocumentRow], *, seed: int) -> Estimate:
    """The mean share of needed values recalled, resampled over items."""
    clusters = list(dict.fromkeys(row.row.cluster for row in rows))
    counts = {name: np.zeros((len(clusters), 1)) for name in ("recalled", "tasks")}
    for row in rows:
        place = clusters.index(row.row.cluster), 0
        counts["recalled"][place] += row.fact_recall
        counts["tasks"][place] += 1
    return Sample.of(Tallies(tuple(clusters), counts), seed=seed).estimate(share("recalled", "tasks"))


def results_page(results: Sequence[DocumentResults]) -> str:
    """The results of several memories as Markdown."""
    lines = ["# Memories on documents", ""]
    for one in results:
        lines += [
            f"## {one.memory}",
            "",
            f"{one.tasks} tasks of {one.release}, {one.budget} tokens of recall, reasoner {one.reasoner}; "
            f"{len(one.errors)} tasks could not be evaluated.",
            "",
            f"| {' | '.join(HEAD)} |",
            f"|---|{'---:|' * (len(HEAD) - 1)}",
        ]
        for point in one.curve:
            scores = point.scores
            shares = (scores.memory, scores.none, scores.facts, scores.everything, scores.gain, scores.gain_share)
            cells = [*(shown(one) for one in (*shares, point.fact_recall)), f"{point.written_tokens:.0f}"]
            lines.append(f"| {point.by} | {point.value} | {' | '.join(cells)} | {point.recalled_tokens:.0f} |")
        lines += ["", *(f"- {error.item}: {error.message}" for error in one.errors), ""]
    return "\n".join(lines)
