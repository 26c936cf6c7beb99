"""`amemgym evaluate`: score memories on a release."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Annotated, Optional

import typer
from rich.console import Console

from assets.llm.async_calls import run_to_end
from assets.llm.ports import BudgetReached
from pipelines.cli.options import (
    DatasetArgument,
    QuietOption,
    json_option,
)
from pipelines.cli.scoring.run_options import evaluation_options
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
    check_memories,
    plan_evaluations,
    refuse_errors,
    run_evaluation,
)
from pipelines.evaluation.folder import PAGE, FinishedRun, runs_folder
from pipelines.evaluation.forecast import EvaluationForecast
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.report.numbers import format_estimate
from pipelines.evaluation.run import Run
from pipelines.experiments.scoring.all_datasets import share_fired
from pipelines.experiments.scoring.ranking import run_warnings, summary
from pipelines.home import home
from pipelines.memories.settings import swept_memories

SCORING = "scores and report"
RUN = "Folder or id of a finished run; the beginning of an id is enough."


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


@evaluation_options()
def evaluate(
    dataset: DatasetArgument,
    memory: MemoryOption = None,
    assistant: AssistantOption = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print models, calls, tokens and price of each run, and ask no model.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print all tables of the report, not just the scores.")] = False,
    quiet: QuietOption = False,
    as_json: Annotated[bool, json_option("runs", "page; with --plan: runs")] = False,
    *,
    options: EvaluationOptions,
    settings: Mapping[str, object],
) -> None:
    """Evaluate memories on a release of any benchmark, each with the same reasoner. Run it again to continue."""
    request = partial(EvaluationRequest, dataset, options=options, budget=options.budget, settings=settings)
    requests = [request(name) for name in each_once(memory)]
    requests += [request(name, whole=True) for name in each_once(assistant)]
    if not requests:
        raise Problem("Name what to evaluate with --memory, as in: amemgym evaluate demo --memory bm25 --memory full-history")
    console = stderr_console()
    notice = cache(partial(print_plain, console))  # print each notice once for all memories
    if plan:
        with evaluation_errors(), prints_of_others_apart():
            plans = run_to_end(_plan(requests, console, notice))
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
            # Imported late, as in `_report`: a single run, which is what most evaluate, stands on no board.
            from pipelines.experiments.scoring.compare import compare_runs
            from pipelines.experiments.scoring.leaderboard import write_leaderboard

            page = write_leaderboard(compare_runs(runs), runs=folder)
    if as_json:
        print_json({"runs": list(map(run_record, runs)), "page": page and str(page)})
        for warning in run_warnings(runs):
            print_plain(console, warning)
    else:
        print_markdown(_report(runs) if full else summary(runs))
        for run in runs:
            print_plain(console, f"Page: {folder / run.manifest.run_id / PAGE}")
        if page:
            print_plain(console, f"All of them: {page}")
        if not full:
            print_plain(console, "--full prints all tables of the page here.")
    for run in runs:
        refuse_errors(run)


def _report(runs: Sequence[FinishedRun]) -> str:
    """Return all tables as Markdown: one run's report, or several runs' leaderboard followed by their tables."""
    if len(runs) == 1:
        parts = [run_report(runs[0])]
    else:
        from pipelines.experiments.scoring.board_tables import leaderboard_section

        parts = [leaderboard_section(runs), *run_warnings(runs)]
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
    parts = {
        "manifest": run.manifest,
        "results": run.results,
        "latency": run.latency,
        "fresh": run.fresh,
    }
    return {"page": str(folder / PAGE), "fired": share_fired(run), **parts}


def _latency(run: FinishedRun) -> str:
    """Return sentences on the time of answers and of the memory's own calls."""
    latency = run.latency
    calls = ", ".join(f"{call} {seconds.quantiles} s" for call, seconds in latency.by_call.items() if call != "answer")
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
        raise Problem(f"{error} For an evaluation these are --max-cost and --set max_tokens=NUMBER.") from error


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


async def _plan(
    requests: Sequence[EvaluationRequest], console: Console, notice: Callable[[str], None]
) -> list[dict[str, object]]:
    """Print the plans of runs, and return them for JSON."""
    plans = list[dict[str, object]]()

    def announce(run: Run, size: EvaluationForecast) -> None:
        request = requests[len(plans)]
        print_run(run, _size(size, request), console=console, notice=notice)
        plan = {"manifest": run.manifest, "finished": run.folder.finished, "by_purpose": size.sizes}
        numbers = {"calls": size.calls, "tokens": size.tokens, "usd": size.usd}
        plans.append({**plan, **numbers, "warning": size.warning(request.budget)})

    await plan_evaluations(requests, home=home(), progress=EvaluationProgress(announce, notice=notice))
    return plans


def _evaluate(request: EvaluationRequest, console: Console, notice: Callable[[str], None], *, quiet: bool) -> FinishedRun:
    with LiveProgress(console, quiet=quiet, after=SCORING) as live:

        def announce(run: Run, size: EvaluationForecast) -> None:
            print_run(run, "" if run.folder.finished else _size(size, request), console=console, notice=notice)

        progress = EvaluationProgress(announce, live.show, notice, live.show_batch)
        return run_to_end(run_evaluation(request, home=home(), progress=progress))
