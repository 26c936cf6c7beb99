"""What a reward model predicts of a run, beside what came true."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.plurals import counted
from pipelines.errors import EvaluationError
from pipelines.evaluation.report.formatting import format_estimate
from pipelines.memories.perturbed import PERTURBED
from pipelines.reward.metrics import Clusters, Numbers
from pipelines.reward.models import Scorer, TrainedModel, matrix_of
from pipelines.reward.rows import RewardRow, reward_rows


class RunScore(Record):
    """What a model predicts of a run, and what came true."""

    run: str
    predicted: Estimate
    true: float | None
    recalls: int
    strange: int
    seconds: float

    @property
    def true_text(self) -> str:
        return "-" if self.true is None else f"{self.true:.3f}"

    @property
    def sentence(self) -> str:
        """One line for a terminal."""
        unlike = f"; {self.strange:,} of {counted(self.recalls, 'recall')} unlike its training rows"
        return f"{self.run}: Reward model: {format_estimate(self.predicted)} predicted, {self.true_text} true{unlike}."


def score_lines(scores: Sequence[RunScore], model: TrainedModel) -> list[str]:
    """Return a line for each score, and last what the model may be trusted with."""
    return [*(score.sentence for score in scores), model.report.verdict]


def score_run(path: Path, model: TrainedModel, scorer: Scorer, *, name: str) -> RunScore:
    """Predict how often answers of a run are right with what its memory recalled. Raises EvaluationError."""
    began = perf_counter()
    rows = reward_rows([path])
    found = score_rows(rows, model, scorer, name=name)
    return found.model_copy(update={"seconds": round(perf_counter() - began, 3)})


def score_memories(path: Path, model: TrainedModel, scorer: Scorer) -> list[RunScore]:
    """Predict the same for each memory, fault and benchmark in a table of rows. Raises EvaluationError."""
    groups: dict[str, list[RewardRow]] = {}
    for row in reward_rows([path]):
        fault = f"?{PERTURBED}={row.perturbed}" if row.perturbed else ""
        groups.setdefault(f"{row.memory}{fault} on {row.benchmark}", []).append(row)
    return [score_rows(rows, model, scorer, name=name) for name, rows in groups.items()]


def score_rows(rows: Sequence[RewardRow], model: TrainedModel, scorer: Scorer, *, name: str) -> RunScore:
    """Predict how often answers would be right, or are, with what was recalled. Raises EvaluationError for no row."""
    if not rows:
        raise EvaluationError(f"Nothing was recalled in {name}, so there is nothing to score.")
    began = perf_counter()
    values = scorer(rows)
    labels = [row.kept for row in rows if row.kept is not None]
    clusters = Clusters([row.cluster for row in rows], seed=model.seed)
    return RunScore(
        run=name,
        predicted=clusters.estimate(partial(_mean, values)),
        true=round(sum(labels) / len(labels), 6) if labels else None,
        recalls=len(rows),
        strange=int(model.strange(matrix_of(rows)).sum()),
        seconds=round(perf_counter() - began, 3),
    )


def _mean(values: Numbers, weights: Numbers) -> float:
    return float((values * weights).sum() / weights.sum())
