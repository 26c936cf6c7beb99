"""One evolution from end to end: read and check, forecast, evolve or go on, score, write."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pipelines.evaluation.assistants.registry import find_spec
from pipelines.evaluation.command import EvaluationRequest
from pipelines.evaluation.dataset import Dataset, load_dataset
from pipelines.evaluation.folder import RunFolder
from pipelines.evaluation.forecast import forecast
from pipelines.evaluation.plan import RoleModels, manifest_of
from pipelines.evaluation.run import Run
from pipelines.experiments.evolution.loop import Evolution, evolve
from pipelines.experiments.evolution.plan import EvolutionForecast, EvolutionPlan, evolution_manifest, evolvable, size_of
from pipelines.experiments.evolution.records import EvolutionManifest
from pipelines.experiments.evolution.report import evolution_page, evolution_report
from pipelines.experiments.evolution.results import (
    FinishedEvolution,
    evolutions_folder,
    finish,
    read_evolution,
    score_evolution,
)
from pipelines.home import Home
from pipelines.resources.open import OpenModels, open_models
from pipelines.resources.storage.open_stores import open_release_store


@dataclass(frozen=True)
class EvolutionRequest:
    """What is asked for: one evaluation, and the plan of the evolution."""

    evaluation: EvaluationRequest
    plan: EvolutionPlan


@dataclass(frozen=True)
class EvolutionProgress:
    """Called with manifest and size before the first call, and with the key of every finished step."""

    begun: Callable[[EvolutionManifest, EvolutionForecast], None] = field(default=lambda manifest, size: None)
    step: Callable[[str], None] = field(default=lambda key: None)


async def run_evolution(
    request: EvolutionRequest, *, home: Home, progress: EvolutionProgress | None = None
) -> FinishedEvolution:
    """The finished evolution, which may have been finished before.

    Raises EvaluationError or EndpointError with one sentence; finished steps stay, and the same request goes on.
    """
    progress = progress or EvolutionProgress()
    # Diagnosis goes by the forced probes, so those that allow "don't know" are not asked.
    options = replace(request.evaluation.options, unknown_probe=False)
    request = replace(request, evaluation=replace(request.evaluation, options=options))
    dataset = load_dataset(request.evaluation.dataset, release_store=open_release_store(home)).first(request.evaluation.users)
    with open_models(home, mode=request.evaluation.cache) as models:
        work = _prepare(request, dataset, models=models, home=home)
        size = forecast(
            dataset, work.run.manifest.assistant, request.evaluation.options, roles=work.run.roles, prices=models.prices
        )
        progress.begun(work.manifest, size_of(work.manifest, dataset, evaluation=size))
        if work.run.folder.finished:
            return read_evolution(work.run.folder.path)
        return await evolve_and_write(replace(work, run=replace(work.run, report=progress.step)))


def _prepare(request: EvolutionRequest, dataset: Dataset, *, models: OpenModels, home: Home) -> Evolution:
    """Check everything before the first call; the evolution's name needs the assistant's own section."""
    evaluation = request.evaluation
    roles = RoleModels.of(evaluation.options, embedded=models.embedded)
    spec = find_spec(evaluation.assistant)
    run_manifest = manifest_of(dataset, spec, evaluation.options, roles=roles)
    recipe = roles.recipe(run_manifest, budget=evaluation.budget)
    run = Run(
        run_manifest,
        dataset,
        models.for_recipe(recipe),
        roles,
        recipe,
        RunFolder(evolutions_folder(home)),
        users_at_once=evaluation.users_at_once,
    )
    section = evolvable(run.step("").assistant("dialogue"), name=spec.name).policy
    manifest = evolution_manifest(dataset, request.plan, run=run_manifest, initial_policy=section, improver=roles.assistant)
    recipe = roles.recipe(manifest.run, budget=evaluation.budget)
    folder = RunFolder(evolutions_folder(home) / manifest.run.run_id)
    return Evolution(
        manifest, replace(run, manifest=manifest.run, models=models.for_recipe(recipe), recipe=recipe, folder=folder)
    )


async def evolve_and_write(work: Evolution) -> FinishedEvolution:
    """Do what is left of the evolution, and write its files."""
    folder, dataset = work.run.folder, work.run.dataset
    folder.begin(work.manifest)
    try:
        done = score_evolution(work.manifest, await evolve(work), episodes=dataset.episodes)
        finish(folder, done, report=evolution_report(done), page=evolution_page(done, dataset))
    finally:
        folder.close()
    return done
