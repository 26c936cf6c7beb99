"""One evaluation from end to end: reading and checks, forecast, the run or what is left of it, scores, files."""

import math
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from assets.llm.async_calls import wait_for_shielded_calls
from assets.recipe.recipe import Budget
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.benchmarks import open_tasks
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun, RunFolder, read_run, runs_folder
from pipelines.evaluation.forecast import EvaluationForecast, forecast
from pipelines.evaluation.hosting import DEADLINE, MemoryFailed
from pipelines.evaluation.memories.check import check_memory
from pipelines.evaluation.memories.registry import EMBEDDING, find_memory, is_ours
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import manifest_of, places_of, recipe_of
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.report.page import run_page
from pipelines.evaluation.run import BenchmarkTasks, Run, evaluate
from pipelines.home import Home
from pipelines.resources.cache.reply_cache import CacheMode
from pipelines.resources.open import OpenModels, open_models
from pipelines.resources.storage.open_stores import open_release_store


@dataclass(frozen=True)
class EvaluationRequest:
    """What is asked for. `memory`: name, file or address. `whole`: it is an agent with a reasoner of its own.

    `users`: only the first so many, or so many tasks. `replayed`: run whose dialogues are replayed, by folder or id. `budget`:
    over all tries. `again`: a new attempt, though an earlier one is finished. `deadline`: seconds for one call of code that is
    not ours.
    `settings`: rounds and language of a bare data.json.
    """

    dataset: str
    memory: str
    options: EvaluationOptions
    whole: bool = False
    users: int | None = None
    replayed: str = ""
    budget: Budget = field(default_factory=Budget)
    items_at_once: int = 32
    cache: CacheMode = "use"
    again: bool = False
    deadline: float = DEADLINE
    settings: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class EvaluationProgress:
    """Called with the run and its size before its first call, and with the key of every finished step.

    `notice` gets sentences on the data set: what it does not say, and what of it is left out.
    """

    begun: Callable[[Run, EvaluationForecast], None] = field(default=lambda run, size: None)
    step: Callable[[str], None] = field(default=lambda key: None)
    notice: Callable[[str], None] = field(default=lambda sentence: None)


def budget_of(*, max_cost_usd: float | None, max_tokens: int | None) -> Budget:
    """The limits of a run, None for none. Raises EvaluationError for one that is no number above 0."""
    for limit in (max_cost_usd, max_tokens):
        if limit is not None and not 0 < limit < math.inf:
            raise EvaluationError(f"A budget of {limit:g} lets no call through or has no end; raise it above 0, or give none.")
    return Budget(max_cost_usd=max_cost_usd, max_tokens=max_tokens)


async def run_evaluation(request: EvaluationRequest, *, home: Home, progress: EvaluationProgress | None = None) -> FinishedRun:
    """The finished run, which may have been finished before.

    Raises EvaluationError or EndpointError with one sentence. Finished steps stay, and the same request goes on after them.
    """
    progress = progress or EvaluationProgress()
    async with _prepared(request, home=home, progress=progress) as run:
        if run.folder.finished:
            return read_run(run.manifest.run_id, runs=runs_folder(home))
        if run.manifest.memory.kind in EMBEDDING:
            await run.tools("").embed(["Do you know this model?"])  # else a model that is not there would end a paid run
        if not is_ours(run.manifest.memory.kind) and not run.manifest.memory.whole:
            await check_before(run)
        return await _evaluate_and_write(replace(run, report=progress.step))


async def plan_evaluation(request: EvaluationRequest, *, home: Home, progress: EvaluationProgress) -> None:
    """Tell `progress.begun` what the run would be, and ask no model. Raises EvaluationError, as the run itself would."""
    async with _prepared(request, home=home, progress=progress):
        pass


@asynccontextmanager
async def _prepared(request: EvaluationRequest, *, home: Home, progress: EvaluationProgress) -> AsyncGenerator[Run]:
    """The run with its models open, after `progress` was told about it."""
    tasks = open_tasks(request.dataset, release_store=open_release_store(home), settings=request.settings)
    for sentence in tasks.info.notices:
        progress.notice(sentence)
    tasks, options = tasks.first(request.users), request.options
    if request.replayed and isinstance(tasks, AMemGymTasks):
        recorded = read_run(request.replayed, runs=runs_folder(home))
        tasks, options = tasks.replaying(recorded), replace(options, replayed_run=recorded.manifest.run_id)
    elif request.replayed:
        options = replace(options, replayed_run=request.replayed)  # which the benchmark refuses
    with open_models(home, mode=request.cache) as models:
        run = await prepare_run(request, tasks, options, models=models, home=home)
        progress.begun(run, forecast(tasks.sizes(run.manifest), run.manifest, prices=models.prices))
        yield run


async def prepare_run(
    request: EvaluationRequest, tasks: BenchmarkTasks, options: EvaluationOptions, *, models: OpenModels, home: Home
) -> Run:
    """The run, and its memory tried out, so that wrong settings show before the first call."""
    spec = find_memory(request.memory).model_copy(update={"whole": request.whole})
    names = options.models(tasks.info.roles, embedded=models.embedded)
    places = await places_of(names, models.place)
    manifest = manifest_of(tasks, spec, options, models=names, places=places)
    # --again: the first attempt that is not finished.
    while request.again and RunFolder(runs_folder(home) / manifest.run_id).finished:
        options = replace(options, attempt=options.attempt + 1)
        manifest = manifest_of(tasks, spec, options, models=names, places=places)
    recipe = recipe_of(manifest, budget=request.budget)
    run = Run(
        manifest=manifest,
        tasks=tasks,
        models=models.for_recipe(recipe),
        recipe=recipe,
        folder=RunFolder(runs_folder(home) / manifest.run_id),
        items_at_once=request.items_at_once,
        deadline=request.deadline,
    )
    try:
        if is_ours(spec.kind):
            await run.host("").new_memory()
    except MemoryFailed as failed:
        raise EvaluationError(str(failed)) from failed
    return run


async def check_before(run: Run) -> None:
    """Hold a memory that is not ours to the contract, before it costs anything. Raises EvaluationError."""
    broken = [verdict for verdict in await check_memory(run.manifest.memory, run.tools("check")) if verdict.broken]
    if broken:
        raise EvaluationError(f"{broken[0].sentence} Nothing was asked yet; try: amemgym memory check")


async def _evaluate_and_write(run: Run) -> FinishedRun:
    run.folder.begin(run.manifest)
    try:
        finished = await evaluate(run)
        write_files(run, finished)
    finally:
        await wait_for_shielded_calls()
        run.folder.close()
    return finished


def write_files(run: Run, finished: FinishedRun) -> None:
    """Everything of a scored run, into its folder."""
    page = run_page(finished, run.tasks.page_items(finished))
    run.folder.finish(finished, events=run.tasks.events(finished.turns), report=run_report(finished), page=page)
