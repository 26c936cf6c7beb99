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
    """Options of an evaluation, in addition to its dataset and memories."""

    model: str = option("One model for every chat role that has no option of its own.")
    memory_model: str = option("Model for the memory's own work.")
    embedding_model: str = option("Model for the memory's embeddings.")
    user_model: str = option("Model that plays the user, and checks what it says.")
    judge_model: str = option("Model that checks what the user says; by default the user's model.")
    extra_body: Optional[list[str]] = option(  # noqa: RUF009 (its default is None)
        "Further fields of requests to all chat models, or to one role's model: assistant, memory, embedding, user or judge.",
        None,
        metavar="[ROLE=]JSON",
    )
    tokens: Optional[int] = option(
        "Most tokens that a memory may return; by default 100,000 in dialogues, 6,000 with documents.", None
    )
    reply_tokens: int = option("Most tokens of a reply, including a model's reasoning.", MAX_REPLY_TOKENS, least=1)
    curve: str = option(
        "Further token budgets at which all questions are asked too, as in 500,1000,4000.", metavar="TOKENS,..."
    )
    conditions: str = option(
        "Conditions of isolated scores in addition to the memory itself; '' for none.", ",".join(CONDITIONS[1:])
    )
    arms: bool = option("Ask also with chance, stale, foreign and buried texts, as controls of gain and harm.", False)
    probes: Literal["question", "none"] = option(
        "Whether states are probed: for each question (as in the reference code), or not at all.", "question"
    )
    wording: Literal["own", "paper"] = option(
        "Form of the questions: own, or the paper's, with its order of options and its prompt for notes.", "own"
    )
    recall_query: Literal["question-and-options", "question"] = option(
        "The text of a memory's query in dialogues; the reasoner always sees the options.", "question-and-options"
    )
    recall_at: Optional[RecallAt] = option(  # noqa: RUF009 (its default is None)
        "When an acting agent asks its memory: start (once), step (before each action), write (also before a call that "
        "changes something) or tool (when the agent calls it). By default start; on tau2, swe and webarena step.",
        None,
    )
    native_tools: bool = option("An acting agent uses tool calls of the model's API, not replies in JSON.", False)
    window: Optional[int] = option(
        "Tokens of an episode that stay in the agent's window; by default 2,000 on tau2, 8,000 on swe and webarena.",
        None,
        least=1,
    )
    users: Optional[int] = option("Number of users, or of tasks at all their lengths; by default all.", None, least=1)
    replay: str = option(
        "Off-policy: replay the dialogues of this run; on swe and webarena the first half of each of its episodes.",
        metavar="RUN",
    )
    seed: int = option("Seed of the order of options, and of all calls.", 42, most=2**63 - 1)
    again: bool = option("Evaluate again, even if there is a finished run of this plan.", False)
    concurrency: int = option("Users, or tasks, evaluated at the same time.", 32, least=1)
    deadline: int = option("Timeout in seconds of one call to a memory that is not built in.", 300, least=1)
    settle: float = option("Seconds until a memory's writes can be recalled; a canary checks that they can.", 0.0, least=0)
    in_process: bool = option(
        "Run a memory's own code in this process, for debugging. The code could read the answers, so the run is marked.", False
    )
    max_cost: Optional[float] = option("US dollars that each run may spend, over all its starts; at the limit it pauses.", None)
    max_tokens: Optional[int] = option("Tokens that each run may spend, over all its starts; at the limit it pauses.", None)
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
        bool, typer.Option("--plan", help="Print models, calls, tokens and price of each run, and ask no model.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print all tables of the report, not just the scores.")] = False,
    quiet: QuietOption = False,
    reward: Annotated[
        Optional[Path], typer.Option(help="Model of `amemgym reward train`; prints its predicted score beside the true one.")
    ] = None,
    as_json: Annotated[bool, json_option("runs", "page; with --plan: runs")] = False,
    *,
    options: EvaluateOptions,
) -> None:
    """Evaluate memories on a release of any benchmark, each with the same reasoner. Run it again to continue."""
    request = evaluation_request(dataset, options, settings=parse_overrides(set_ or ()))
    requests = [replace(request, memory=name) for name in each_once(memory)]
    requests += [replace(request, memory=name, whole=True) for name in each_once(assistant)]
    if not requests:
        raise Problem("Name what to evaluate with --memory, as in: amemgym evaluate demo --memory bm25 --memory full-history")
    if reward and assistant:
        raise Problem("--reward scores what a memory recalls, and --assistant recalls nothing; leave one of them out.")
    model = load_scorer(reward) if reward else None  # refuse a bad file before the first call
    console = stderr_console()
    notice = cache(partial(print_plain, console))  # print each notice once for all memories
    if plan:
        with evaluation_errors(), prints_of_others_apart():
            plans = [run_to_end(_plan(request, console, notice)) for request in requests]
        if as_json:
            print_json({"runs": plans})
        return
    folder = runs_folder(home())
    page = None
    with evaluation_errors(), prints_of_others_apart():
        if len(requests) > 1:  # a single one is checked when it begins
            requests = run_to_end(check_memories(requests, home=home(), notice=notice))
        runs = [_evaluate(request, console, notice, quiet=quiet) for request in requests]
        if len(runs) > 1:
            page = write_leaderboard(compare_runs(runs), runs=folder)
    scores = [score_run(folder / run.manifest.run_id, *model, name=run.manifest.memory.name) for run in runs] if model else []
    if as_json:
        records = list(map(run_record, runs))
        for record, score in zip(records, scores, strict=False):  # empty without a reward model
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
    """Raise Problem if a user or a task could not be evaluated completely."""
    errors = sum(len(run.results.errors) for run in runs)
    if errors:
        failed = counted(errors, runs[0].manifest.noun)
        raise Problem(f"Finished with errors: {failed} could not be evaluated completely. The same command tries these again.")


def _report(runs: Sequence[FinishedRun]) -> str:
    """Return all tables as Markdown: one run's report, or several runs' leaderboard followed by their tables."""
    parts = [run_report(runs[0])] if len(runs) == 1 else [leaderboard_section(runs), *run_warnings(runs)]
    parts += [f"{run.manifest.run_id}: {_latency(run)}" for run in runs]
    return "\n\n".join(parts)


def each_once(sources: Sequence[str] | None) -> list[str]:
    """Return the memories without duplicates. A sweep such as bm25?topk=5,10 becomes several memories."""
    found = list[str]()
    for source in sources or ():
        found += swept_memories(source)
    return list(dict.fromkeys(found))


def run_record(run: FinishedRun) -> dict[str, object]:
    """Return a run's settings and results for JSON, as in the files of its folder."""
    folder = runs_folder(home()) / run.manifest.run_id
    parts = {"manifest": run.manifest, "results": run.results, "latency": run.latency}
    return {"page": str(folder / PAGE), "fired": share_fired(run), **parts}


def evaluation_request(
    dataset: str, options: EvaluateOptions, *, memory: str = "", settings: Mapping[str, object] | None = None
) -> EvaluationRequest:
    """Return the request that the options describe. Raises Problem for a budget of zero or a malformed curve."""
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
                f"{option} {word!r} is not a whole number; give whole numbers separated by commas, as in {option} 500,1000."
            )
    return tuple(map(int, words))


def _latency(run: FinishedRun) -> str:
    """Return sentences on the time of answers and of the memory's own calls."""
    latency = run.latency
    calls = ", ".join(f"{call} {one.quantiles} s" for call, one in latency.memory.items())
    memory = f" Of the memory, at p50 / p95 / p99: {calls}." if calls else ""
    if not latency.timed:
        return f"The time of answers was not measured: they came from the reply cache.{memory}"
    return (
        f"An answer took {format_estimate(latency.mean, digits=2)} s of model time "
        f"({latency.timed:,} of {latency.answers:,} measured).{memory}"
    )


@contextmanager
def evaluation_errors() -> Generator[None, None, None]:
    """Turn the error of a reached budget into a Problem that names the options to raise it."""
    try:
        yield
    except BudgetReached as error:
        raise Problem(f"{error} For an evaluation these are --max-cost and --max-tokens.") from error


def print_run(run: Run, size: str, *, console: Console, notice: Callable[[str], None]) -> None:
    """Print before the first call which models are asked, and where.

    `size`: the sentence on calls and price. `notice`: prints a sentence once, because memories share models.
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
    """Print the plan of a run, and return it for JSON."""
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
