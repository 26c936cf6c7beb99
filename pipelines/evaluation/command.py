"""One evaluation from end to end: reading and checks, forecast, the run or what is left of it, scores, files."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Container, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from assets.engine.ports import StageProgress
from assets.engine.progress import StepProgress
from assets.llm.async_calls import wait_for_shielded_calls
from assets.llm.ports import BudgetReached, EndpointError
from assets.llm.usage import Usage
from assets.recipe.recipe import Budget
from assets.reporting.plurals import counted
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import (
    RESULTS,
    FinishedRun,
    RunFolder,
    alone_folder,
    read_record_of_run,
    read_run,
    runs_folder,
    set_damage_aside,
)
from pipelines.evaluation.forecast import WORDS, EvaluationForecast, forecast_run, price_sizes
from pipelines.evaluation.fresh_users import fresh_users_of
from pipelines.evaluation.metrics.fresh import FreshScore, compare_with_fresh, count_users
from pipelines.evaluation.metrics.results import Results
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import RunAccount, alone_manifest, manifest_of
from pipelines.evaluation.reasoning import end_tasks
from pipelines.evaluation.records import AnswerRow, RunManifest
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.report.page import page_items, run_page
from pipelines.evaluation.run import BenchmarkTasks, ReplayableTasks, Run, play_items, score_items
from pipelines.evaluation.sources import open_tasks
from pipelines.evaluation.timeline.perceived import events_of_run
from pipelines.evaluation.verifying.verdict import read_judged_run
from pipelines.home import Home, obstacles
from pipelines.memories.check import check_memory
from pipelines.memories.code_identity import code_files
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting.confinement import Confinement
from pipelines.memories.kinds import embeds, is_ours
from pipelines.memories.registry import find_memory
from pipelines.memories.settings import MODELS
from pipelines.opening.models import ModelPorts, OpenModels, embedded_ports, open_models
from pipelines.planning.forecast import Terms
from pipelines.resources.llm.batch.settings import OnBatchProgress
from pipelines.resources.llm.settings import NO_ENDPOINT
from pipelines.resources.storage.open_stores import open_release_store


@dataclass(frozen=True)
class EvaluationRequest:
    """One evaluation to do. `memory`: name, file or address. `whole`: it is an agent with a reasoner of its own.

    `budget`: over all tries, in place of the options' own. `checked`: its memory was held to the contract already. `settings`:
    rounds and language of a bare data.json. `hidden`: folders that a memory's code must not see, beside the data folder.
    `planned`: no model is asked, so that any may be named before there is an endpoint.
    """

    dataset: str
    memory: str
    options: EvaluationOptions
    whole: bool = False
    budget: Budget = field(default_factory=Budget)
    checked: bool = False
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    hidden: tuple[Path, ...] = ()
    planned: bool = False


@dataclass(frozen=True)
class EvaluationProgress:
    """Called with the run and its size before its first call, and twice a second with how far it is.

    `notice` gets sentences on the data set: what it does not say, and what of it is left out. `show_batch`: that of batch jobs.
    """

    begun: Callable[[Run, EvaluationForecast], None] = field(default=lambda run, size: None)
    show: Callable[[StageProgress], None] = field(default=lambda progress: None)
    notice: Callable[[str], None] = field(default=lambda sentence: None)
    show_batch: OnBatchProgress = field(default=lambda progress: None)


async def run_evaluation(request: EvaluationRequest, *, home: Home, progress: EvaluationProgress) -> FinishedRun:
    """Return the finished run, which may have been finished before.

    Raises EvaluationError or EndpointError with one sentence. Finished steps stay, and the same request goes on after them.
    """
    async with open_run(request, home=home, progress=progress) as (run, size):
        finished = await _finish(run, size, request, home=home, progress=progress)
    if request.options.fresh and not finished.results.errors:
        finished = await _with_fresh_score(finished, run, request, home=home, progress=progress)
    return finished


async def _finish(
    run: Run, size: EvaluationForecast, request: EvaluationRequest, *, home: Home, progress: EvaluationProgress
) -> FinishedRun:
    """Do what is left of the run, unless it is finished, and return all of it."""
    if not run.folder.finished:
        # Before there is a folder of the run: a refused memory leaves nothing.
        for sentence in obstacles(home):
            raise EvaluationError(sentence)
        refuse(await _objections(run, checked=request.checked, notice=progress.notice))
        async with run.folder.locked(progress.notice):
            # Meanwhile another process may have finished it.
            if not run.folder.finished:
                watch = StepProgress(
                    run.manifest.memory.name,
                    on=run.manifest.dataset,
                    meter=run.meter,
                    steps=size.steps,
                    calls=size.calls,
                    show=progress.show,
                )
                async with watch.display():
                    return await evaluate_and_write(replace(run, report=watch.step), notice=progress.notice)
    return _read_again(run.folder, notice=progress.notice)


def _read_again(folder: RunFolder, *, notice: Callable[[str], None]) -> FinishedRun:
    """Return a run that was finished before, and say what shows that its files were changed since."""
    run = read_judged_run(str(folder.path), runs=folder.path.parent)
    if run.problems:
        remedy = f"Remove {folder.path}, and the same command makes the run again from stored replies."
        notice(f"The scores of {folder.path.name} cannot be believed: {run.problems[0]} {remedy}")
    # That nobody verified it is said on boards of many runs.
    return replace(run, unverified=())


async def _with_fresh_score(
    finished: FinishedRun, run: Run, request: EvaluationRequest, *, home: Home, progress: EvaluationProgress
) -> FinishedRun:
    """Return the run with its score on fresh users, which its folder holds then as well.

    Raises EvaluationError where one of these users could not be evaluated to the end.
    """
    fresh = await _score_on_fresh(finished, request, home=home, progress=EvaluationProgress(show=progress.show))
    scored = replace(finished, fresh=fresh)
    if scored != finished:
        page = run_page(scored, page_items(run.timelines, scored.turns))
        run.folder.keep_fresh_score(fresh, report=run_report(scored), page=page)
    return scored


async def _score_on_fresh(
    finished: FinishedRun, request: EvaluationRequest, *, home: Home, progress: EvaluationProgress
) -> FreshScore:
    """Score the same memory in the same way on fresh users, and return what came of it."""
    options = request.options
    manifest = finished.manifest
    users = fresh_users_of(request.dataset, home=home)
    release = await users.make(options.fresh, home=home, budget=request.budget, offline=options.offline)
    on_fresh = _options_on_fresh(options, manifest)
    again = replace(request, dataset=str(release), options=on_fresh, checked=True, hidden=(home.root,))
    try:
        fresh = refuse_errors(await run_evaluation(again, home=Home(users.root), progress=progress))
    finally:
        await users.book(home)
    return compare_with_fresh(
        count_users(finished.answers, users=manifest.users),
        count_users(fresh.answers, users=fresh.manifest.users),
        run_id=fresh.manifest.run_id,
        noun=manifest.noun,
    )


def refuse_errors(run: FinishedRun) -> FinishedRun:
    """Return the run. Raises EvaluationError where an item of it could not be evaluated to the end."""
    if run.results.errors:
        failed = counted(len(run.results.errors), f"{run.manifest.noun}")
        raise EvaluationError(
            f"{failed} of {run.manifest.dataset} could not be evaluated to the end; the same command tries these again."
        )
    return run


def _options_on_fresh(options: EvaluationOptions, manifest: RunManifest) -> EvaluationOptions:
    """Return the options with all that a memory can see, and without what is asked beside its questions."""
    beside = {"conditions": (), "arms": (), "curve": (), "baselines": False, "probes": "none"}
    own = {"users": options.fresh, "fresh": 0, "again": False, "attempt": manifest.attempt}
    return options.model_copy(update={**beside, **own})


async def plan_evaluations(requests: Sequence[EvaluationRequest], *, home: Home, progress: EvaluationProgress) -> None:
    """Tell `progress.begun` what the runs would be, and ask no model. What they share is in the size of the first alone.

    Raises EvaluationError, as the runs themselves would.
    """
    planned = set[str]()
    for request in requests:
        async with open_run(replace(request, planned=True), home=home, progress=progress, planned=planned) as (run, _):
            planned.add(run.manifest.alone)


@asynccontextmanager
async def open_run(
    request: EvaluationRequest, *, home: Home, progress: EvaluationProgress, planned: Container[str] = ()
) -> AsyncGenerator[tuple[Run, EvaluationForecast]]:
    """Open the run with its models and its size, after `progress` was told about it.

    `planned`: runs of what is the same for every memory that an earlier one is to ask.
    """
    tasks = open_tasks(request.dataset, release_store=open_release_store(home), settings=request.settings)
    # Said before a model is opened, which may fail.
    for sentence in tasks.info.notices:
        progress.notice(sentence)
    options = request.options
    tasks = tasks.first(options.users)
    if options.replay:
        if not isinstance(tasks, ReplayableTasks):
            raise tasks.info.refusal_of("replay")
        recorded = read_run(options.replay, runs=runs_folder(home))
        tasks = tasks.replaying(recorded)
        options = options.model_copy(update={"replay": recorded.manifest.run_id})
    with open_models(home, mode=options.cache_mode, on_batch_progress=progress.show_batch) as models:
        run = await prepare_run(request, tasks, options, models=models, home=home)
        if not request.planned:
            for folder in (run.folder, *([run.alone.folder] if run.alone else [])):
                _set_damage_aside(folder, notice=progress.notice)
        size = await _forecast(run, planned)
        if options.fresh:
            progress.notice(await _plan_fresh(run, request, models=models, home=home))
        progress.begun(run, size)
        # The models are open as long as the run lasts.
        yield run, size


def _set_damage_aside(folder: RunFolder, *, notice: Callable[[str], None]) -> None:
    """Let a finished run with a damaged file be made again, and say so."""
    damage = set_damage_aside(folder.path)
    if damage:
        notice(f"The run {folder.path.name} was damaged: {damage}. It is made again from stored replies.")


async def _plan_fresh(run: Run, request: EvaluationRequest, *, models: OpenModels, home: Home) -> str:
    """Return what fresh users will take, to make and to ask. Raises EvaluationError where they cannot be made."""
    options = request.options
    if run.manifest.replayed_run:
        raise EvaluationError("Nobody recorded dialogues with fresh users; leave out replay, or --fresh.")
    users = fresh_users_of(request.dataset, home=home)
    await users.check_models(models)
    terms = Terms(models.prices, models.chat.settings.max_in_flight, options.concurrency)
    on_fresh = _options_on_fresh(options, run.manifest)
    manifest = run.manifest.model_copy(
        update=on_fresh.model_dump(include={"conditions", "arms", "curve", "baselines", "probes"})
    )
    size = await forecast_run(replace(run, manifest=manifest), embedded=embedded_ports(models.prices))
    return f"{users.plan(options.fresh, terms=terms)} {size.for_other_items(options.fresh / len(run.manifest.users))}"


async def _forecast(run: Run, planned: Container[str]) -> EvaluationForecast:
    """Return what the run takes, or took, and the one that it shares with others where that is to do and not `planned`."""
    if run.folder.finished:
        taken = read_record_of_run(run.folder.path, RESULTS, Results).spending
        sizes = {purpose: taken.get(purpose, Usage()) for purpose in WORDS}
        usd = price_sizes(sizes, run.manifest, prices=run.models.prices, batch=run.batch)
        return EvaluationForecast(sizes, 0, usd, rehearsed=True)
    embedded = embedded_ports(run.models.prices)
    size = await forecast_run(run, embedded=embedded)
    if run.alone and not run.alone.folder.finished and run.manifest.alone not in planned:
        size += await forecast_run(run.alone, embedded=embedded)
    return size


async def prepare_run(
    request: EvaluationRequest, tasks: BenchmarkTasks, options: EvaluationOptions, *, models: OpenModels, home: Home
) -> Run:
    """Return the run, with its memory tried out, so that wrong settings show before the first call."""
    spec = find_memory(request.memory).model_copy(update={"whole": request.whole})
    # A model that is never asked is neither named nor part of the run's id.
    roles = [role for role in tasks.info.roles if role != "embedding" or embeds(spec.kind)]
    embedded = models.embedded
    if request.planned and options.model not in ("", embedded):
        embedded = None  # priced as if there were an endpoint
    names = options.models(roles, embedded=embedded)
    for role, setting in MODELS.items():
        # A memory's own settings name what it asks.
        if role in names and spec.settings.get(setting):
            names[role] = str(spec.settings[setting])
    asked = [*names.items(), *(("memory", name) for name in options.more_models)]
    for role, name in asked:
        if embedded and not request.planned and not options.offline and name != embedded:
            raise EvaluationError(f"The embedded model does not know the model {name!r} of the {role}; {NO_ENDPOINT}.")
    if options.batch and embedded:
        raise EvaluationError(f"The embedded model does not take batch jobs; leave out batch, or {NO_ENDPOINT}.")
    places = {name: await models.place.of(name) for _, name in asked}
    manifest = manifest_of(tasks, spec, options, models=names, places=places)
    # --again: the first attempt that is not finished.
    while options.again and RunFolder(runs_folder(home) / manifest.run_id).finished:
        options = options.model_copy(update={"attempt": options.attempt + 1})
        manifest = manifest_of(tasks, spec, options, models=names, places=places)
    run = Run(
        manifest=manifest,
        tasks=tasks,
        models=models.for_account(RunAccount(variant=manifest.run_id, budget=request.budget, batched=options.batch)),
        folder=RunFolder(runs_folder(home) / manifest.run_id),
        items_at_once=options.concurrency,
        batch=options.batch,
        deadline=options.deadline,
        # The data set may be a file beside the memory's own.
        confinement=Confinement(options.in_process, (home.root, Path(request.dataset), *request.hidden)),
    )
    # A memory that is not ours is held to the contract before its first call.
    if is_ours(spec.kind):
        try:
            await run.host("").new_memory()
        except MemoryFailed as failed:
            raise EvaluationError(str(failed)) from failed
    if not manifest.alone:
        return run
    account = RunAccount(variant=manifest.alone, budget=request.budget, batched=options.batch)
    return with_alone(run, places=places, models=models.for_account(account))


def with_alone(run: Run, *, places: Mapping[str, str], models: ModelPorts) -> Run:
    """Return the run with the one that asks what is the same for every memory, whose calls `models` make and count.

    `places`: what serves each model.
    """
    manifest = alone_manifest(run.manifest, places=places)
    folder = RunFolder(alone_folder(run.folder.path, manifest.run_id))
    alone = Run(
        manifest=manifest,
        tasks=run.tasks,
        models=models,
        folder=folder,
        items_at_once=run.items_at_once,
        batch=run.batch,
    )
    return replace(run, alone=alone)


async def _objections(run: Run, *, checked: bool, notice: Callable[[str], None]) -> list[str]:
    """Try the embedding model, and hold a memory to the contract that was not `checked`; what speaks against the run."""
    memory = run.manifest.memory
    if is_ours(memory.kind) and embeds(memory.kind):
        try:
            await run.tools("").embed(["Do you know this model?"])
        except BudgetReached:
            # It is an EndpointError too, and not the embedding model's fault.
            raise
        except EndpointError as error:
            # A model that is not there would end a paid run.
            return [f"{error} That model makes embeddings; the option embedding_model names another."]
    return [] if checked else await broken_promises(run, notice=notice)


async def check_memories(
    requests: Sequence[EvaluationRequest], *, home: Home, notice: Callable[[str], None]
) -> list[EvaluationRequest]:
    """Return the requests with their memories tried and held to the contract, before the first of them costs anything.

    Raises EvaluationError that names every memory that is refused.
    """
    refused = list[str]()
    for request in requests:
        try:
            async with open_run(request, home=home, progress=EvaluationProgress()) as (run, _):
                if not run.folder.finished:
                    refused += await _objections(run, checked=False, notice=notice)
        except EvaluationError as error:
            refused.append(str(error))
    refuse(refused)
    return [replace(request, checked=True) for request in requests]


async def broken_promises(run: Run, *, notice: Callable[[str], None]) -> list[str]:
    """Return a sentence for each promise of the contract that a memory which is not ours breaks.

    `notice` gets one on what could not be tried, or is not shown to it.
    """
    memory = run.manifest.memory
    if is_ours(memory.kind) or memory.whole:
        return []
    verdicts = await check_memory(
        memory, run.tools("check"), deadline=run.deadline, settle=run.manifest.settle, confinement=run.confinement
    )
    for verdict in verdicts:
        if not verdict.broken and verdict.sentence:
            notice(verdict.sentence)
    return [verdict.sentence for verdict in verdicts if verdict.broken]


def refuse(sentences: Sequence[str]) -> None:
    """Raise EvaluationError where there are any. What several memories are refused for is said once."""
    if not sentences:
        return
    ended = list[str]()
    for sentence in dict.fromkeys(sentences):
        ended.append(sentence if sentence.endswith((".", "?", "!")) else f"{sentence}.")
    raise EvaluationError(f"{' '.join(ended)} Nothing was asked yet; `amemgym memory check MEMORY` tries a memory alone.")


async def evaluate_and_write(run: Run, *, notice: Callable[[str], None] = print) -> FinishedRun:
    """Do what is left of the run, and of the one that it shares with others, and write everything into their folders.

    `notice` is told where another process is waited for.
    """
    run.folder.begin(run.manifest.shared())
    if run.manifest.boundary not in ("", "service"):
        memory = run.manifest.memory
        run.folder.keep_code(code_files(memory.code, texts=memory.texts))
    # Dialogues leave the endpoint idle, for each message waits for the one before: then it is asked the rest.
    own = asyncio.create_task(play_items(run, run.timelines))
    shared = asyncio.create_task(_shared_answers(run, notice))
    try:
        finished = score_items(run, *await asyncio.gather(own, shared))
        page = run_page(finished, page_items(run.timelines, finished.turns))
        events = events_of_run(run.timelines, finished.turns)
        run.folder.finish(finished, events=events, report=run_report(finished), page=page)
    finally:
        await end_tasks([own, shared])
        await wait_for_shielded_calls()
        run.folder.close()
    return finished


async def _shared_answers(run: Run, notice: Callable[[str], None]) -> Sequence[AnswerRow]:
    """Return the answers of what is the same for every memory, asked now where they are not there."""
    if run.alone is None:
        return ()
    alone = replace(run.alone, report=run.report, meter=run.meter)
    async with alone.folder.locked(notice):
        if alone.folder.finished:
            return _read_again(alone.folder, notice=notice).answers
        return (await evaluate_and_write(alone)).answers
