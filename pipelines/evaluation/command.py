"""One evaluation from end to end: reading and checks, forecast, the run or what is left of it, scores, files."""

import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from assets.engine.ports import StageProgress
from assets.llm.async_calls import wait_for_shielded_calls
from assets.llm.ports import BudgetReached, EndpointError
from assets.recipe.recipe import Budget
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun, RunFolder, read_run, runs_folder
from pipelines.evaluation.forecast import EvaluationForecast, forecast_run
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import RunAccount, manifest_of
from pipelines.evaluation.progress import StepProgress
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.report.page import run_page
from pipelines.evaluation.run import BenchmarkTasks, Run, evaluate_run
from pipelines.evaluation.sources import open_tasks
from pipelines.home import Home, obstacles
from pipelines.memories.check import RECALLED, check_memory
from pipelines.memories.code_identity import code_files
from pipelines.memories.hosting import DEADLINE, MemoryFailed
from pipelines.memories.registry import Confinement, embeds, find_memory, is_ours
from pipelines.opening.models import OpenModels, open_models
from pipelines.resources.cache.reply_cache import CacheMode
from pipelines.resources.storage.open_stores import open_release_store


@dataclass(frozen=True)
class EvaluationRequest:
    """One evaluation to do. `memory`: name, file or address. `whole`: it is an agent with a reasoner of its own.

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
    """Return the limits of a run, None for none. Raises EvaluationError for one that is no number above 0."""
    for limit in (max_cost_usd, max_tokens):
        if limit is not None and not 0 < limit < math.inf:
            raise EvaluationError(f"A budget must be a finite number above 0, not {limit:g}; leave it out for no limit.")
    return Budget(max_cost_usd=max_cost_usd, max_tokens=max_tokens)


async def run_evaluation(request: EvaluationRequest, *, home: Home, progress: EvaluationProgress) -> FinishedRun:
    """Return the finished run, which may have been finished before.

    Raises EvaluationError or EndpointError with one sentence. Finished steps stay, and the same request goes on after them.
    """
    async with open_run(request, home=home, progress=progress) as (run, size):
        if not run.folder.finished:
            async with run.folder.alone(progress.notice):
                # Meanwhile another process may have finished it.
                if not run.folder.finished:
                    for sentence in obstacles(home):
                        raise EvaluationError(sentence)
                    await _check_before_first_call(run, checked=request.checked, notice=progress.notice)
                    watch = StepProgress(run.manifest, meter=run.meter, steps=size.steps, calls=size.calls, show=progress.show)
                    async with watch.shown():
                        return await evaluate_and_write(replace(run, report=watch.step))
        return read_run(run.manifest.run_id, runs=runs_folder(home))


async def plan_evaluation(request: EvaluationRequest, *, home: Home, progress: EvaluationProgress) -> None:
    """Tell `progress.begun` what the run would be, and ask no model. Raises EvaluationError, as the run itself would."""
    async with open_run(request, home=home, progress=progress):
        pass


@asynccontextmanager
async def open_run(
    request: EvaluationRequest, *, home: Home, progress: EvaluationProgress
) -> AsyncGenerator[tuple[Run, EvaluationForecast]]:
    """Open the run with its models and its size, after `progress` was told about it."""
    tasks = open_tasks(request.dataset, release_store=open_release_store(home), settings=request.settings)
    # Said before a model is opened, which may fail.
    for sentence in tasks.info.notices:
        progress.notice(sentence)
    tasks = tasks.first(request.users)
    options = request.options
    if request.replayed:
        recorded = read_run(request.replayed, runs=runs_folder(home))
        tasks = tasks.replaying(recorded)
        options = replace(options, replayed_run=recorded.manifest.run_id)
    with open_models(home, mode=request.cache) as models:
        run = await prepare_run(request, tasks, options, models=models, home=home)
        size = forecast_run(tasks.sizes(run.manifest), run.manifest, prices=models.prices)
        progress.begun(run, size)
        # The models are open as long as the run lasts.
        yield run, size


async def prepare_run(
    request: EvaluationRequest, tasks: BenchmarkTasks, options: EvaluationOptions, *, models: OpenModels, home: Home
) -> Run:
    """Return the run, with its memory tried out, so that wrong settings show before the first call."""
    spec = find_memory(request.memory).model_copy(update={"whole": request.whole})
    # A model that is never asked is neither named nor part of the run's id.
    roles = [role for role in tasks.info.roles if role != "embedding" or embeds(spec.kind)]
    names = options.models(roles, embedded=models.embedded)
    places = {await models.place.of(name) for name in names.values()}
    places.discard("")
    manifest = manifest_of(tasks, spec, options, models=names, places=tuple(sorted(places)))
    # --again: the first attempt that is not finished.
    while request.again and RunFolder(runs_folder(home) / manifest.run_id).finished:
        options = replace(options, attempt=options.attempt + 1)
        manifest = manifest_of(tasks, spec, options, models=names, places=tuple(sorted(places)))
    run = Run(
        manifest=manifest,
        tasks=tasks,
        models=models.for_account(RunAccount(variant=manifest.run_id, budget=request.budget)),
        folder=RunFolder(runs_folder(home) / manifest.run_id),
        items_at_once=request.items_at_once,
        deadline=request.deadline,
        # The data set may be a file beside the memory's own.
        confinement=Confinement(options.in_process, (home.root, Path(request.dataset))),
    )
    # A memory that is not ours is held to the contract before its first call.
    if is_ours(spec.kind):
        try:
            await run.host("").new_memory()
        except MemoryFailed as failed:
            raise EvaluationError(str(failed)) from failed
    return run


async def _check_before_first_call(run: Run, *, checked: bool, notice: Callable[[str], None]) -> None:
    """Try the embedding model, and hold a memory to the contract that was not `checked`. Raises EvaluationError."""
    memory = run.manifest.memory
    if is_ours(memory.kind) and embeds(memory.kind):
        try:
            await run.tools("").embed(["Do you know this model?"])
        except BudgetReached:
            # It is an EndpointError too, and not the embedding model's fault.
            raise
        except EndpointError as error:
            # A model that is not there would end a paid run.
            raise EvaluationError(f"{error} That model makes embeddings; --embedding-model names another.") from error
    if not checked:
        refuse_broken(await broken_promises(run, notice=notice))


async def check_memories(
    requests: Sequence[EvaluationRequest], *, home: Home, notice: Callable[[str], None]
) -> list[EvaluationRequest]:
    """Return the requests with their memories held to the contract, before the first of them costs anything.

    Raises EvaluationError that names every memory that breaks it.
    """
    broken = list[str]()
    for request in requests:
        async with open_run(request, home=home, progress=EvaluationProgress()) as (run, _):
            if not run.folder.finished:
                broken += await broken_promises(run, notice=notice)
    refuse_broken(broken)
    return [replace(request, checked=True) for request in requests]


async def broken_promises(run: Run, *, notice: Callable[[str], None]) -> list[str]:
    """Return a sentence for each promise of the contract that a memory which is not ours breaks.

    `notice` gets one where it could not be tried whether the memory recalls what it is told.
    """
    memory = run.manifest.memory
    if is_ours(memory.kind) or memory.whole:
        return []
    verdicts = await check_memory(
        memory, run.tools("check"), deadline=run.deadline, settle=run.manifest.settle, confinement=run.confinement
    )
    for verdict in verdicts:
        if verdict.what == RECALLED and not verdict.broken and verdict.sentence:
            notice(verdict.sentence)
    return [verdict.sentence for verdict in verdicts if verdict.broken]


def refuse_broken(sentences: Sequence[str]) -> None:
    """Raise EvaluationError where there are any."""
    if not sentences:
        return
    ended = list[str]()
    for sentence in sentences:
        ended.append(sentence if sentence.endswith((".", "?", "!")) else f"{sentence}.")
    raise EvaluationError(f"{' '.join(ended)} Nothing was asked yet; try: amemgym memory check")


async def evaluate_and_write(run: Run) -> FinishedRun:
    """Do what is left of the run, and write everything of it into its folder."""
    run.folder.begin(run.manifest.shared())
    if run.manifest.boundary not in ("", "service"):
        run.folder.keep_code(code_files(run.manifest.memory.code))
    try:
        finished = await evaluate_run(run)
        page = run_page(finished, run.tasks.page_items(finished))
        run.folder.finish(finished, events=run.tasks.events(finished.turns), report=run_report(finished), page=page)
    finally:
        await wait_for_shielded_calls()
        run.folder.close()
    return finished
