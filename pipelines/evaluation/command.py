"""One evaluation from end to end: reading and checks, forecast, the run or what is left of it, scores, files."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from assets.recipe.recipe import Budget
from pipelines.evaluation.assistants.registry import find_spec
from pipelines.evaluation.dataset import Dataset, load_dataset
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun, RunFolder, read_run
from pipelines.evaluation.forecast import EvaluationForecast, forecast
from pipelines.evaluation.plan import EvaluationOptions, RoleModels, manifest_of
from pipelines.evaluation.records import DialogueTurn, RunManifest
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.report.page import run_page
from pipelines.evaluation.run import Run, evaluate
from pipelines.home import Home
from pipelines.resources.cache.reply_cache import CacheMode
from pipelines.resources.open import OpenModels, open_models
from pipelines.resources.storage.open_stores import open_release_store


@dataclass(frozen=True)
class EvaluationRequest:
    """What is asked for. `replayed`: run whose dialogues are replayed, by folder or id. `budget`: over all tries."""

    dataset: str
    assistant: str
    options: EvaluationOptions
    users: int | None = None
    replayed: str = ""
    budget: Budget = field(default_factory=Budget)
    users_at_once: int = 32
    cache: CacheMode = "use"


@dataclass(frozen=True)
class EvaluationProgress:
    """Called with the run's manifest and size before its first call, and with the key of every finished step."""

    begun: Callable[[RunManifest, EvaluationForecast], None] = field(default=lambda manifest, size: None)
    step: Callable[[str], None] = field(default=lambda key: None)


def budget_of(*, max_cost_usd: float | None, max_tokens: int | None) -> Budget:
    """The limits of a run, None for none. Raises EvaluationError for one that is no number above 0."""
    for limit in (max_cost_usd, max_tokens):
        if limit is not None and not 0 < limit < math.inf:
            raise EvaluationError(f"A budget of {limit:g} lets no call through or has no end; raise it above 0, or give none.")
    return Budget(max_cost_usd=max_cost_usd, max_tokens=max_tokens)


def runs_folder(home: Home) -> Path:
    return home.root / "runs"


async def run_evaluation(request: EvaluationRequest, *, home: Home, progress: EvaluationProgress | None = None) -> FinishedRun:
    """The finished run, which may have been finished before.

    Raises EvaluationError or EndpointError with one sentence. Finished steps stay, and the same request goes on after them.
    """
    progress = progress or EvaluationProgress()
    dataset = load_dataset(request.dataset, release_store=open_release_store(home)).first(request.users)
    recorded = read_run(request.replayed, runs=runs_folder(home)) if request.replayed else None
    options = replace(request.options, replayed_run=recorded.manifest.run_id if recorded else "")
    with open_models(home, mode=request.cache) as models:
        run = _prepare(request, dataset, options, models=models, home=home)
        if recorded is not None:
            run = replace(run, recorded=turns_by_user(recorded, dataset))
        size = forecast(dataset, run.manifest.assistant, options, roles=run.roles, prices=models.prices)
        progress.begun(run.manifest, size)
        if run.folder.finished:
            return read_run(run.manifest.run_id, runs=runs_folder(home))
        return await _evaluate_and_write(replace(run, report=progress.step))


def _prepare(
    request: EvaluationRequest, dataset: Dataset, options: EvaluationOptions, *, models: OpenModels, home: Home
) -> Run:
    roles = RoleModels.of(options, embedded=models.embedded)
    manifest = manifest_of(dataset, find_spec(request.assistant), options, roles=roles)
    recipe = roles.recipe(manifest, budget=request.budget)
    run = Run(
        manifest=manifest,
        dataset=dataset,
        models=models.for_recipe(recipe),
        roles=roles,
        recipe=recipe,
        folder=RunFolder(runs_folder(home) / manifest.run_id),
        users_at_once=request.users_at_once,
    )
    run.step("").assistant("dialogue")  # so that wrong settings show before the first call
    return run


async def _evaluate_and_write(run: Run) -> FinishedRun:
    run.folder.begin(run.manifest)
    try:
        finished = await evaluate(run)
        run.folder.finish(finished, report=run_report(finished), page=run_page(finished, run.dataset))
    finally:
        run.folder.close()
    return finished


def turns_by_user(recorded: FinishedRun, dataset: Dataset) -> dict[str, list[DialogueTurn]]:
    """The recorded turns of the dataset's users. Raises EvaluationError when the recording is of other episodes."""
    manifest = recorded.manifest
    missing = [episode.user_id for episode in dataset.episodes if episode.user_id not in manifest.users]
    if manifest.dataset_digest != dataset.digest or missing:
        raise EvaluationError(
            f"The dialogues of {manifest.run_id} are of {manifest.dataset} with {len(manifest.users)} users; "
            f"they cannot be replayed on {dataset.name} with {len(dataset.episodes)} users."
        )
    turns: dict[str, list[DialogueTurn]] = {episode.user_id: [] for episode in dataset.episodes}
    for turn in recorded.turns:
        turns.get(turn.user_id, []).append(turn)
    return turns
