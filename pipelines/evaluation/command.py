"""One evaluation from end to end: reading and checks, forecast, the run or what is left of it, scores, files."""

import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from assets.engine.ports import StageProgress
from assets.llm.async_calls import wait_for_shielded_calls
from assets.llm.ports import BudgetReached, EndpointError
from assets.recipe.recipe import Budget
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.benchmarks import open_tasks
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun, RunFolder, read_run, runs_folder
from pipelines.evaluation.forecast import EvaluationForecast, forecast
from pipelines.evaluation.hosting import DEADLINE, MemoryFailed
from pipelines.evaluation.memories.check import check_memory
from pipelines.evaluation.memories.registry import EMBEDDING, embeds, find_memory, is_ours
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import manifest_of, places_of, recipe_of
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.report.page import run_page
from pipelines.evaluation.run import BenchmarkTasks, Run, StepProgress, evaluate
from pipelines.home import Home
from pipelines.resources.cache.reply_cache import CacheMode
from pipelines.resources.open import OpenModels, open_models
from pipelines.resources.storage.open_stores import open_release_store


@dataclass(frozen=True)
class EvaluationRequest:
    """What is asked for. `memory`: name, file or address. `whole`: it is an agent with a reasoner of its own.

    `users`: only the first so many, or so many tasks. `replayed`: run whose dialogues are replayed, by folder or id. `budget`:
    over all tries. `again`: a new attempt, though an earlier one is finished. `deadline`: seconds for one call of code that is
    not ours. `checked`: its memory was held to the contract already.
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
    checked: bool = False
    settings: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class EvaluationProgress:
    """Called with the run and its size before its first call, and twice a second with how far it is.

    `notice` gets sentences on the data set: what it does not say, and what of it is left out.
    """

    begun: Callable[[Run, EvaluationForecast], None] = field(default=lambda run, size: None)
    show: Callable[[StageProgress], None] = field(default=lambda progress: None)
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
    async with _prepared(request, home=home, progress=progress) as (run, size):
        if run.folder.finished:
            return read_run(run.manifest.run_id, runs=runs_folder(home))
        if run.manifest.memory.kind in EMBEDDING:
            await try_embedding(run)
        if not request.checked:
            refuse_broken(await broken_promises(run))
        watch = StepProgress(run.manifest, meter=run.meter, steps=size.steps, calls=size.calls, show=progress.show)
        async with watch.shown():
            return await _evaluate_and_write(replace(run, report=watch.step))


async def plan_evaluation(request: EvaluationRequest, *, home: Home, progress: EvaluationProgress) -> None:
    """Tell `progress.begun` what the run would be, and ask no model. Raises EvaluationError, as the run itself would."""
    async with _prepared(request, home=home, progress=progress):
        pass


@asynccontextmanager
async def _prepared(
    request: EvaluationRequest, *, home: Home, progress: EvaluationProgress
) -> AsyncGenerator[tuple[Run, EvaluationForecast]]:
    """The run with its models open and its size, after `progress` was told about it."""
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
        size = forecast(tasks.sizes(run.manifest), run.manifest, prices=models.prices)
        progress.begun(run, size)
        yield run, size


async def prepare_run(
    request: EvaluationRequest, tasks: BenchmarkTasks, options: EvaluationOptions, *, models: OpenModels, home: Home
) -> Run:
    """The run, and its memory tried out, so that wrong settings show before the first call."""
    spec = find_memory(request.memory).model_copy(update={"whole": request.whole})
    roles = [role for role in tasks.info.roles if role != "embedding" or embeds(spec.kind)]
    names = options.models(roles, embedded=models.embedded)
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


async def try_embedding(run: Run) -> None:
    """Ask for one vector, as a model that is not there would end a paid run. Raises EvaluationError."""
    try:
        await run.tools("").embed(["Do you know this model?"])
    except BudgetReached:
        raise
    except EndpointError as error:
        raise EvaluationError(f"{error} That model makes embeddings; --embedding-model names another.") from error


async def check_memories(requests: Sequence[EvaluationRequest], *, home: Home) -> list[EvaluationRequest]:
    """The requests with their memories held to the contract, before the first of them costs anything.

    Raises EvaluationError that names every memory that breaks it.
    """
    broken = list[str]()
    for request in requests:
        async with _prepared(request, home=home, progress=EvaluationProgress()) as (run, _):
            if not run.folder.finished:
                broken += await broken_promises(run)
    refuse_broken(broken)
    return [replace(request, checked=True) for request in requests]


async def broken_promises(run: Run) -> list[str]:
    """What a memory that is not ours breaks of the contract, as a sentence; nothing where it holds."""
    memory = run.manifest.memory
    if is_ours(memory.kind) or memory.whole:
        return []
    return [verdict.sentence for verdict in await check_memory(memory, run.tools("check")) if verdict.broken]


def refuse_broken(sentences: Sequence[str]) -> None:
    """Raise EvaluationError where there are any."""
    if sentences:
        told = " ".join(sentence if sentence.endswith((".", "?", "!")) else f"{sentence}." for sentence in sentences)
        raise EvaluationError(f"{told} Nothing was asked yet; try: amemgym memory check")


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
