"""`amemgym evaluate`: score memories on a release."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal, Optional

import typer
from rich.console import Console

from assets.llm.async_calls import run_to_end
from assets.llm.ports import BudgetReached
from assets.reporting.plurals import counted
from pipelines.cli.options import (
    DatasetArgument,
    DataSettingsOption,
    QuietOption,
    json_option,
    option,
    options_of,
    parse_overrides,
)
from pipelines.cli.terminal import (
    LiveProgress,
    print_json,
    print_markdown,
    print_plain,
    prints_of_others_apart,
    stderr_console,
)
from pipelines.errors import Problem
from pipelines.evaluation.command import (
    EvaluationProgress,
    EvaluationRequest,
    budget_of,
    check_memories,
    plan_evaluation,
    run_evaluation,
)
from pipelines.evaluation.folder import PAGE, FinishedRun, runs_folder
from pipelines.evaluation.forecast import EvaluationForecast
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.records import RecallAt
from pipelines.evaluation.report.formatting import format_estimate
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.run import Run
from pipelines.experiments.scoring.all_datasets import share_fired
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.leaderboard import write_leaderboard
from pipelines.experiments.scoring.ranking import (
    leaderboard_section,
    run_warnings,
    summary,
)
from pipelines.home import home
from pipelines.memories.contract import MAX_REPLY_TOKENS
from pipelines.memories.settings import swept_memories
from pipelines.reward.fine_tuned import load_scorer
from pipelines.reward.scoring import score_lines, score_run

SCORING = "scores and report"
RUN = "Folder or id of a finished run; the beginning of an id is enough."


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of an evaluation, beside dataset and memories."""

    model: str = option("One model for every role of a chat that no other option names.")
    memory_model: str = option("Model of the memory's own work.")
    embedding_model: str = option("Model of its embeddings.")
    user_model: str = option("Model that plays the user, and checks what it says.")
    judge_model: str = option("Model that checks what the user says; that of the user by default.")
    extra_body: Optional[list[str]] = option(  # noqa: RUF009 (its default is None)
        "Further fields of requests to all chat models, or to one role's: assistant, memory, embedding, user or judge.",
        None,
        metavar="[ROLE=]JSON",
    )
    tokens: Optional[int] = option("Tokens that a memory may give back; else 100,000 in dialogues, 6,000 of documents.", None)
    reply_tokens: int = option("Tokens that a reply may have, a model's thoughts included.", MAX_REPLY_TOKENS, least=1)
    curve: str = option("Further budgets at which to ask all questions, as in 500,1000,4000.", metavar="TOKENS,...")
    conditions: str = option("Conditions of isolated scores beside the memory's own; '' for none.", ",".join(CONDITIONS[1:]))
    arms: bool = option("Ask with chance, stale, foreign and buried texts too, as controls of gain and harm.", False)
    probes: Literal["question", "none"] = option(
        "Whether states are probed: for each question, as the reference does, or not at all.", "question"
    )
    wording: Literal["own", "paper"] = option(
        "Form of the questions: own, or the paper's, with its order of options and its prompt for notes.", "own"
    )
    recall_query: Literal["question-and-options", "question"] = option(
        "What a memory is asked with in dialogues; the reasoner always sees the options.", "question-and-options"
    )
    recall_at: Optional[RecallAt] = option(  # noqa: RUF009 (its default is None)
        "When the memory of an acting agent is asked: start (once), step (before each action), write (also before a call that "
        "changes something) or tool (when the agent calls it). By default start; on tau2, swe and webarena step.",
        None,
    )
    native_tools: bool = option("An acting agent uses tool calls of the model's API, not replies in JSON.", False)
    window: Optional[int] = option(
        "Tokens of an episode that stay in sight: by default 2,000 on tau2, 8,000 on swe and webarena.", None, least=1
    )
    users: Optional[int] = option("Only the first so many users, or tasks at all their lengths.", None, least=1)
    replay: str = option(
        "Off-policy: replay the dialogues of this run; on swe and webarena the first half of each of its episodes.",
        metavar="RUN",
    )
    seed: int = option("Seed of the order of options, and of all calls.", 42, most=2**63 - 1)
    again: bool = option("Evaluate once more, though there is a finished run of this plan.", False)
    concurrency: int = option("Users, or tasks, evaluated at once.", 32, least=1)
    deadline: int = option("Seconds that one call of a memory that is not ours may take.", 300, least=1)
    settle: float = option("Seconds until a memory's writes can be recalled; a canary checks that they can.", 0.0, least=0)
    in_process: bool = option(
        "Run a memory's own code in this process, for debugging. It could read the answers, so the run is marked.", False
    )
    max_cost: Optional[float] = option("US dollars that each run may spend, over all its tries; at the limit it pauses.", None)
    max_tokens: Optional[int] = option("Tokens that each run may spend, likewise.", None)
    offline: bool = option("Ask no model; use recorded replies only.", False)


MemoryOption = Annotated[
    Optional[list[str]],
    typer.Option(
        help="Name of a memory, FILE.py:CLASS, the address of a service, or a YAML file; may be repeated. "
        "Settings follow as in 'bm25?topk=5', and 'bm25?topk=5,10' is two memories."
    ),
]
AssistantOption = Annotated[
    Optional[list[str]],
    typer.Option(help="A whole agent with a reasoner of its own: FILE.py:CLASS, or a YAML file; may be repeated."),
]


@options_of(EvaluateOptions, keyword="options")
def evaluate(
    dataset: DatasetArgument,
    memory: MemoryOption = None,
    assistant: AssistantOption = None,
    set_: DataSettingsOption = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say models, calls, tokens and price of each run, and ask nothing.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print all tables of the report, not only the scores.")] = False,
    quiet: QuietOption = False,
    reward: Annotated[
        Optional[Path], typer.Option(help="Model of `amemgym reward train`; prints its predicted score beside the true one.")
    ] = None,
    as_json: Annotated[bool, json_option("runs", "page; with --plan: runs")] = False,
    *,
    options: EvaluateOptions,
) -> None:
    """Evaluate memories on a release of any benchmark, each with the same reasoner. The same command again goes on."""
    request = evaluation_request(dataset, options, settings=parse_overrides(set_ or ()))
    requests = [replace(request, memory=name) for name in each_once(memory)]
    requests += [replace(request, memory=name, whole=True) for name in each_once(assistant)]
    if not requests:
        raise Problem("Name what to evaluate with --memory, as in: amemgym evaluate demo --memory bm25 --memory full-history")
    if reward and assistant:
        raise Problem("--reward scores what a memory recalls, and --assistant recalls nothing; leave one of them out.")
    model = load_scorer(reward) if reward else None  # refused before the first call
    console = stderr_console()
    notice = cache(partial(print_plain, console))  # once, however many memories
    if plan:
        with evaluation_errors(), prints_of_others_apart():
            plans = [run_to_end(_plan(request, console, notice)) for request in requests]
        if as_json:
            print_json({"runs": plans})
        return
    folder = runs_folder(home())
    page = None
    with evaluation_errors(), prints_of_others_apart():
        if len(requests) > 1:  # one alone is checked as it begins
            requests = run_to_end(check_memories(requests, home=home(), notice=notice))
        runs = [_evaluate(request, console, notice, quiet=quiet) for request in requests]
        if len(runs) > 1:
            page = write_leaderboard(compare_runs(runs), runs=folder)
    scores = [score_run(folder / run.manifest.run_id, *model, name=run.manifest.memory.name) for run in runs] if model else []
    if as_json:
        records = list(map(run_record, runs))
        for record, score in zip(records, scores, strict=False):  # there are none without a model
            record["reward"] = score
        print_json({"runs": records, "page": page and str(page)})
        for warning in run_warnings(runs):
            print_plain(console, warning)
    else:
        print_markdown(_report(runs) if full else summary(runs))
        for line in score_lines(scores, model[0]) if model else ():
            print_plain(console, line)
        _print_pages(runs, page, console=console)
        if not full:
            print_plain(console, "--full prints all tables of the page here.")
    _refuse_errors(runs)


def _print_pages(runs: Sequence[FinishedRun], together: Path | None, *, console: Console) -> None:
    for run in runs:
        print_plain(console, f"Page: {runs_folder(home()) / run.manifest.run_id / PAGE}")
    if together:
        print_plain(console, f"All of them: {together}")


def _refuse_errors(runs: Sequence[FinishedRun]) -> None:
    """Raise Problem where a user or a task could not be evaluated to the end."""
    errors = sum(len(run.results.errors) for run in runs)
    if errors:
        failed = counted(errors, runs[0].manifest.noun)
        raise Problem(f"Finished with errors: {failed} could not be evaluated to the end. The same command tries these again.")


def _report(runs: Sequence[FinishedRun]) -> str:
    """Return all tables: the report of one run, or the leaderboard of several with the tables below it."""
    parts = [run_report(runs[0])] if len(runs) == 1 else [leaderboard_section(runs), *run_warnings(runs)]
    parts += [f"{run.manifest.run_id}: {_latency(run)}" for run in runs]
    return "\n\n".join(parts)


def each_once(sources: Sequence[str] | None) -> list[str]:
    """Return the memories, those of sweeps too, each once, however often one is named."""
    found = list[str]()
    for source in sources or ():
        found += swept_memories(source)
    return list(dict.fromkeys(found))


def run_record(run: FinishedRun) -> dict[str, object]:
    """Return a run as JSON: its settings and results, as its folder has them."""
    folder = runs_folder(home()) / run.manifest.run_id
    parts = {"manifest": run.manifest, "results": run.results, "latency": run.latency}
    return {"page": str(folder / PAGE), "fired": share_fired(run), **parts}


def evaluation_request(
    dataset: str, options: EvaluateOptions, *, memory: str = "", settings: Mapping[str, object] | None = None
) -> EvaluationRequest:
    """Return what the options ask for. Raises Problem for a budget of nothing, or a curve that is none."""
    budget = budget_of(max_cost_usd=options.max_cost, max_tokens=options.max_tokens)
    chosen = EvaluationOptions(
        model=options.model,
        memory_model=options.memory_model,
        embedding_model=options.embedding_model,
        user_model=options.user_model,
        judge_model=options.judge_model,
        extra_body=tuple(options.extra_body or ()),
        tokens=options.tokens,
        reply_tokens=options.reply_tokens,
        curve=_numbers("--curve", options.curve),
        conditions=tuple(_words(options.conditions)),
        arms=options.arms,
        seed=options.seed,
        probes=options.probes,
        wording=options.wording,
        settle=options.settle,
        recall_query=options.recall_query,
        recall_at=options.recall_at,
        window=options.window,
        native_tools=options.native_tools,
        in_process=options.in_process,
    )
    return EvaluationRequest(
        dataset,
        memory,
        chosen,
        settings=settings or {},
        users=options.users,
        replayed=options.replay,
        budget=budget,
        items_at_once=options.concurrency,
        cache="replay" if options.offline else "use",
        again=options.again,
        deadline=options.deadline,
    )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(option: str, text: str) -> tuple[int, ...]:
    words = _words(text)
    for word in words:
        if not word.isdecimal():
            raise Problem(
                f"{option} {word!r} is no whole number; give whole numbers with commas between, as in {option} 500,1000."
            )
    return tuple(map(int, words))


def _latency(run: FinishedRun) -> str:
    """Return sentences on how long answers and the memory's own calls took."""
    latency = run.latency
    calls = ", ".join(f"{call} {one.quantiles} s" for call, one in latency.memory.items())
    memory = f" Of the memory, at p50 / p95 / p99: {calls}." if calls else ""
    if not latency.timed:
        return f"How long answers took was not measured: the reply cache gave them.{memory}"
    return (
        f"An answer took {format_estimate(latency.mean, digits=2)} s of model time "
        f"({latency.timed:,} of {latency.answers:,} measured).{memory}"
    )


@contextmanager
def evaluation_errors() -> Generator[None, None, None]:
    """Raise Problem for a budget that is reached, with its options."""
    try:
        yield
    except BudgetReached as error:
        raise Problem(f"{error} For an evaluation these are --max-cost and --max-tokens.") from error


def print_run(run: Run, size: str, *, console: Console, notice: Callable[[str], None]) -> None:
    """Say before the first call which models are asked, and where; each such notice once, as memories share models.

    `size`: the sentence on calls and price.
    """
    manifest = run.manifest
    models = ", ".join(f"{role} {manifest.model_of(role)}" for role in manifest.models)
    notice(f"Asks {manifest.asks}. Models: {models}.")
    if run.folder.finished:
        made = f"{run.folder.made_at:%Y-%m-%d %H:%M} UTC"
        size = f"{size} It was run before, at {made}, and is shown again; --again runs it once more.".lstrip()
    print_plain(console, f"{manifest.run_id}: {size}")


def _size(size: EvaluationForecast, request: EvaluationRequest) -> str:
    return f"{size.sentence} {size.warning(request.budget)}".strip()


async def _plan(request: EvaluationRequest, console: Console, notice: Callable[[str], None]) -> dict[str, object]:
    """Say what a run would be, and return it for JSON."""
    told = dict[str, object]()

    def begun(run: Run, size: EvaluationForecast) -> None:
        print_run(run, _size(size, request), console=console, notice=notice)
        told.update(manifest=run.manifest, finished=run.folder.finished, calls=size.calls, tokens=size.tokens, usd=size.usd)
        told.update(by_purpose=size.sizes, warning=size.warning(request.budget))

    await plan_evaluation(request, home=home(), progress=EvaluationProgress(begun, notice=notice))
    return told


def _evaluate(request: EvaluationRequest, console: Console, notice: Callable[[str], None], *, quiet: bool) -> FinishedRun:
    with LiveProgress(console, quiet=quiet, after=SCORING) as live:

        def begun(run: Run, size: EvaluationForecast) -> None:
            print_run(run, "" if run.folder.finished else _size(size, request), console=console, notice=notice)

        return run_to_end(run_evaluation(request, home=home(), progress=EvaluationProgress(begun, live.show, notice)))
