"""Scores on a release's card: which runs may stand there, and whether those that do follow from the rows of runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from assets.records.estimate import Estimate
from assets.reporting.plurals import counted
from dataset_card.hub.layout import BaselineScore
from pipelines.embedded.bank import MODEL_FAMILY
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun, read_run
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.verifying.verdict import problems_without_data


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


def published_problems(scores: Sequence[BaselineScore], *, digest: str, runs: Sequence[FinishedRun]) -> Iterator[str]:
    """Yield a sentence for each published score that the rows of its runs do not give.

    `digest`: of the release; `runs`: those on this machine. A score without a run here is in `not_here`.
    """
    for score in scores:
        own = _runs_of(score, digest=digest, runs=runs)
        sound = [run for run in own if not any(problems_without_data(run))]
        scores = [baseline_score(run) for run in sound]
        # Somebody may have tried fresh users since.
        scores += [own_score.model_copy(update={"gap": None}) for own_score in scores]
        if own and score not in scores:
            names = ", ".join(run.manifest.run_id for run in own)
            yield f"The published score of {score.assistant} with {score.model} does not follow from the rows of {names}."


def not_here(scores: Sequence[BaselineScore], *, digest: str, runs: Sequence[FinishedRun]) -> list[str]:
    """Return the published scores whose runs are not on this machine, so that nothing of them can be recomputed."""
    return [f"{score.assistant} with {score.model}" for score in scores if not _runs_of(score, digest=digest, runs=runs)]


def _runs_of(score: BaselineScore, *, digest: str, runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    found = list[FinishedRun]()
    for run in runs:
        own = baseline_score(run)
        same = (own.assistant, own.model, own.users) == (score.assistant, score.model, score.users)
        if same and run.manifest.dataset_digest == digest:
            found.append(run)
    return found
