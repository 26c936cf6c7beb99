"""Scores on a release's card, and which runs may stand there."""

from collections.abc import Sequence
from pathlib import Path

from assets.records.estimate import Estimate
from assets.reporting.plurals import counted
from dataset_card.hub.layout import BaselineScore
from pipelines.embedded.bank import MODEL_FAMILY
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun, read_run
from pipelines.evaluation.run import DatasetInfo


def publishable_scores(names: Sequence[str], *, data: DatasetInfo, folder: Path) -> tuple[BaselineScore, ...]:
    """Return what these runs reached on the release that is to be published, as its card says it.

    `folder`: that of all runs. Raises EvaluationError for a run whose score says nothing about the whole release.
    """
    scores: list[BaselineScore] = []
    for name in dict.fromkeys(names):
        run = read_run(name, runs=folder)
        reason = _reason_not_to_publish(run, data)
        if reason:
            raise EvaluationError(f"The score of {run.manifest.run_id} cannot be published: {reason}. Nothing was sent.")
        scores.append(baseline_score(run))
    return tuple(scores)


def baseline_score(run: FinishedRun) -> BaselineScore:
    """Return the run's score as a card says it."""
    metrics = run.results.metrics
    name = run.manifest.memory.name
    return BaselineScore(
        assistant=f"{name} ({run.results.losses})" if run.results.losses else name,
        model=run.manifest.models["assistant"],
        users=len(run.manifest.users),
        accuracy=metrics["overall"],
        memory=metrics.get("memory", Estimate(value=None, low=None, high=None)),
        gap=run.fresh.gap if run.fresh else None,
    )


def _reason_not_to_publish(run: FinishedRun, data: DatasetInfo) -> str:
    """Return the reason why a run's score may not stand on the release's card; "" where it may."""
    manifest = run.manifest
    if manifest.dataset_digest != data.digest:
        return f"it is of {manifest.dataset} with another digest ({manifest.dataset_digest[:8]}, not {data.digest[:8]})"
    if len(manifest.users) < len(data.users):
        return f"it is over {len(manifest.users)} of {counted(len(data.users), data.noun)}; evaluate without --users"
    if run.results.errors:
        return f"it could not finish {counted(len(run.results.errors), data.noun)}; give the same evaluate command again"
    if manifest.is_off_policy:
        return "it replays the dialogues of another run; evaluate without replay"
    if run.fresh is not None and run.fresh.knows_release:
        return f"{run.fresh.sentence[0].lower()}{run.fresh.sentence[1:].rstrip('.')}"
    for role, model in manifest.models.items():
        if model.startswith(MODEL_FAMILY):
            return f"the embedded model plays its {role}, which says nothing about memories; evaluate with a real model"
    return ""
