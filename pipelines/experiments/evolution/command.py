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
    begin,
    evolutions_folder,
    finish,
    finished,
    read_evolution,
)
from pipelines.home import Home
from pipelines.resources.open import OpenModels, open_models
from pipelines.resources.storage.open_stores import open_release_store


@dataclass(frozen=True)
class EvolutionRequest:
    """What is asked for: the order of one life, and the plan of the evolution."""

    life: EvaluationRequest
    plan: EvolutionPlan


@dataclass(frozen=True)
class EvolutionProgress:
    """Who is told: the manifest and size before the first call, and every finished step."""

    begun: Callable[[EvolutionManifest, EvolutionForecast], None] = field(default=lambda manifest, size: None)
    step: Callable[[str], None] = field(default=lambda key: None)


async def run_evolution(order: EvolutionRequest, *, place: Home, watch: EvolutionProgress | None = None) -> FinishedEvolution:
    """The finished evolution, which may have been finished before.

    Raises EvaluationError or EndpointError with one sentence; what was done is kept, and the same order goes on with it.
    """
    watch = watch or EvolutionProgress()
    # Diagnosis goes by the forced probes, so those that allow "don't know" are not asked.
    order = replace(order, life=replace(order.life, options=replace(order.life.options, unknown_probe=False)))
    dataset = load_dataset(order.life.dataset, release_store=open_release_store(place)).first(order.life.users)
    with open_models(place, mode=order.life.cache) as models:
        work = _prepare(order, dataset, models=models, place=place)
        one = forecast(dataset, work.run.manifest.assistant, order.life.options, roles=work.run.roles, prices=models.prices)
        watch.begun(work.manifest, size_of(work.manifest, dataset, life=one))
        if work.run.folder.finished:
            return read_evolution(work.run.folder.path)
        return await carry_on(replace(work, run=replace(work.run, report=watch.step)))


def _prepare(order: EvolutionRequest, dataset: Dataset, *, models: OpenModels, place: Home) -> Evolution:
    """Check everything before the first call; the evolution's name needs the assistant's own section."""
    life = order.life
    roles = RoleModels.of(life.options, embedded=models.embedded)
    spec = find_spec(life.assistant)
    one = manifest_of(dataset, spec, life.options, roles=roles)
    recipe = roles.recipe(one, budget=life.budget)
    run = Run(
        one,
        dataset,
        models.for_recipe(recipe),
        roles,
        recipe,
        RunFolder(evolutions_folder(place)),
        users_at_once=life.users_at_once,
    )
    section = evolvable(run.step("").assistant("dialogue"), name=spec.name).policy
    manifest = evolution_manifest(dataset, order.plan, run=one, initial_policy=section, improver=roles.assistant)
    recipe = roles.recipe(manifest.run, budget=life.budget)
    folder = RunFolder(evolutions_folder(place) / manifest.run.run_id)
    return Evolution(
        manifest, replace(run, manifest=manifest.run, models=models.for_recipe(recipe), recipe=recipe, folder=folder)
    )


async def carry_on(work: Evolution) -> FinishedEvolution:
    """Do what is left, and write it."""
    folder, dataset = work.run.folder, work.run.dataset
    begin(folder, work.manifest)
    try:
        done = finished(work.manifest, await evolve(work), episodes=dataset.episodes)
        finish(folder, done, report=evolution_report(done), page=evolution_page(done, dataset))
    finally:
        folder.close()
    return done
