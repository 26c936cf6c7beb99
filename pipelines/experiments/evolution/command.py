"""One evolution from end to end: read and check, forecast, evolve or go on, score, write."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from assets.engine.ports import StageProgress
from assets.engine.progress import StepProgress
from assets.llm.async_calls import wait_for_shielded_calls
from pipelines.errors import EvaluationError
from pipelines.evaluation.amemgym.tasks import AMemGymTasks, open_amemgym
from pipelines.evaluation.command import EvaluationRequest, prepare_run
from pipelines.evaluation.folder import RunFolder
from pipelines.evaluation.forecast import forecast_run
from pipelines.evaluation.plan import RunAccount
from pipelines.evaluation.timeline.subjects import MemorySubject, new_subject
from pipelines.experiments.evolution.loop import Evolution, evolve_policies
from pipelines.experiments.evolution.plan import EvolutionForecast, EvolutionPlan, evolution_manifest, forecast_evolution
from pipelines.experiments.evolution.records import EvolutionManifest
from pipelines.experiments.evolution.report import evolution_report
from pipelines.experiments.evolution.results import (
    FinishedEvolution,
    evolutions_folder,
    finish,
    read_evolution,
    score_evolution,
)
from pipelines.home import Home
from pipelines.opening.models import OpenModels, embedded_ports, open_models
from pipelines.redaction import public_address
from pipelines.resources.storage.open_stores import open_release_store


@dataclass(frozen=True)
class EvolutionRequest:
    """One evaluation, and the plan of the evolution."""

    evaluation: EvaluationRequest
    plan: EvolutionPlan


@dataclass(frozen=True)
class EvolutionProgress:
    """Called with manifest and size before the first call, and twice a second with how far it is.

    `notice` is told where another process is waited for.
    """

    begun: Callable[[EvolutionManifest, EvolutionForecast], None]
    show: Callable[[StageProgress], None]
    notice: Callable[[str], None]


async def run_evolution(request: EvolutionRequest, *, home: Home, progress: EvolutionProgress) -> FinishedEvolution:
    """Return the finished evolution, which may have been finished before.

    Raises EvaluationError or EndpointError with one sentence; finished steps stay, and the same request goes on.
    """
    if request.evaluation.options.questions:
        raise EvaluationError("An evolution asks all questions; --questions is for an evaluation.")
    # Isolated scores are those of an evaluation; questions that are not taught are scored with probes of their own.
    probes = "none" if request.evaluation.options.probes == "none" else "question"
    options = request.evaluation.options.model_copy(update={"conditions": (), "curve": (), "again": False, "probes": probes})
    request = replace(request, evaluation=replace(request.evaluation, options=options))
    tasks = open_amemgym(request.evaluation.dataset, release_store=open_release_store(home)).first(options.users)
    with open_models(home, mode=options.cache_mode) as models:
        work = await _prepare(request, tasks, models=models, home=home)
        size = await forecast_run(work.run, embedded=embedded_ports(models.prices))
        whole = forecast_evolution(work.manifest, tasks.dataset, evaluation=size)
        progress.begun(work.manifest, whole)
        folder = work.run.folder
        if not folder.finished:
            async with folder.locked(progress.notice):
                # Meanwhile another process may have finished it.
                if not folder.finished:
                    watch = StepProgress(
                        work.manifest.run.memory.name,
                        on=work.manifest.run.dataset,
                        meter=work.run.meter,
                        steps=whole.steps,
                        calls=whole.evaluations * size.calls + whole.rewritings + whole.checks,
                        show=progress.show,
                    )
                    async with watch.display():
                        return await evolve_and_write(replace(work, run=replace(work.run, report=watch.step)))
        return read_evolution(folder.path)


async def _prepare(request: EvolutionRequest, tasks: AMemGymTasks, *, models: OpenModels, home: Home) -> Evolution:
    """Check everything before the first call; the evolution's name needs the memory's own section."""
    evaluation = request.evaluation
    run = await prepare_run(evaluation, tasks, evaluation.options, models=models, home=home)
    host = run.host("")
    try:
        subject = await new_subject(run, host, "")
        if not isinstance(subject, MemorySubject):
            raise EvaluationError(
                f"{public_address(evaluation.memory)!r} is a whole agent; only memories with a policy evolve, such as awi."
            )
        policy = subject.policy
    finally:
        await host.close()
    manifest = evolution_manifest(
        tasks.dataset, request.plan, run=run.manifest, initial_policy=policy, improver=run.manifest.models["memory"]
    )
    account = RunAccount(variant=manifest.run.run_id, budget=evaluation.budget)
    folder = RunFolder(evolutions_folder(home) / manifest.run.run_id)
    run = replace(run, manifest=manifest.run, models=models.for_account(account), folder=folder)
    return Evolution(manifest, run, tasks)


async def evolve_and_write(work: Evolution) -> FinishedEvolution:
    """Do what is left of the evolution, and write its files."""
    folder = work.run.folder
    manifest = work.manifest.model_copy(update={"run": work.manifest.run.shared()})
    folder.begin(manifest)
    try:
        done = score_evolution(manifest, await evolve_policies(work), episodes=work.tasks.dataset.episodes)
        finish(folder, done, report=evolution_report(done))
    finally:
        await wait_for_shielded_calls()
        folder.close()
    return done
