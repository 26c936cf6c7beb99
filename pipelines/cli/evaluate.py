"""`amemgym evaluate`, `compare` and `leaderboard`."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Optional

import typer
from rich.console import Console

from assets.llm.ports import BudgetReached, EndpointError
from pipelines.cli.errors import Problem
from pipelines.cli.options import DatasetArgument, option, options_of
from pipelines.cli.terminal import print_markdown, print_plain, step_progress
from pipelines.evaluation.command import EvaluationProgress, EvaluationRequest, budget_of, run_evaluation, runs_folder
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import PAGE, FinishedRun, read_run
from pipelines.evaluation.forecast import EvaluationForecast
from pipelines.evaluation.plan import EvaluationOptions
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.formatting import format_estimate
from pipelines.evaluation.report.markdown import leaderboard as leaderboard_table
from pipelines.evaluation.report.markdown import run_report
from pipelines.experiments.compare import compare as compare_finished
from pipelines.experiments.compare import comparison_report
from pipelines.experiments.leaderboard import runs_by_dataset, write_leaderboard
from pipelines.home import home

RUN = "Folder or id of a finished run; the beginning of an id is enough."


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of an evaluation, beside dataset and assistants."""

    model: str = option("Model of the assistant.")
    embedding_model: str = option("Model of its embeddings.")
    user_model: str = option("Model that plays the user, and checks what it says.")
    users: Optional[int] = option("Only the first so many users.", None)
    replay: str = option("Off-policy: replay the dialogues of this run.", metavar="RUN")
    seed: int = option("Seed of the order of options, and of all calls.", 42)
    attempt: int = option("Raise it to evaluate once more, with new replies.", 0)
    concurrency: int = option("Users evaluated at once.", 32)
    max_cost: Optional[float] = option("US dollars that each run may spend, over all its tries; at the limit it pauses.", None)
    max_tokens: Optional[int] = option("Tokens that each run may spend, likewise.", None)
    offline: bool = option("Ask no model; use recorded replies only.", False)


@options_of(EvaluateOptions, keyword="options")
def evaluate(
    dataset: DatasetArgument,
    assistant: Annotated[list[str], typer.Option(help="Name or YAML/JSON file of an assistant; may be repeated.")],
    *,
    options: EvaluateOptions,
) -> None:
    """Evaluate assistants on-policy and report their memory. Give the same command again to go on where it stopped."""
    requests = evaluation_requests(dataset, assistant, options)
    console = Console(stderr=True)
    with evaluation_errors():
        runs = [_evaluate(request, console) for request in requests]
    print_markdown(leaderboard_table(runs) if len(runs) > 1 else run_report(runs[0]))
    folder = runs_folder(home())
    for run in runs:
        print_plain(console, f"{run.manifest.run_id}: {_latency(run)} Page: {folder / run.manifest.run_id / PAGE}")
    if len(runs) > 1:
        with evaluation_errors():
            page = write_leaderboard(compare_finished(runs), runs=folder)
        print_plain(console, f"All of them: {page}")


def compare(runs: Annotated[list[str], typer.Argument(help=RUN)]) -> None:
    """Compare runs over the same users, in the terminal and as a page: differences with intervals, ranks on- and off-policy."""
    if len(runs) < 2:
        raise Problem("Give two or more runs to compare, by their folders or ids, as in: amemgym compare RUN RUN")
    folder = runs_folder(home())
    with evaluation_errors():
        results = compare_finished([read_run(name, runs=folder) for name in runs])
    print_markdown(comparison_report(results))
    with evaluation_errors():
        page = write_leaderboard(results, runs=folder)
    print_plain(Console(stderr=True), f"Page: {page}")


def leaderboard(
    dataset: Annotated[str, typer.Option(help="Only runs on datasets whose name begins so, as in: base 0.1.0")] = "",
) -> None:
    """Rank all finished runs, one page for each dataset."""
    folder = runs_folder(home())
    with evaluation_errors():
        groups = runs_by_dataset(folder, dataset=dataset)
    if not groups:
        raise Problem(f"There is no finished run{f' on {dataset}' if dataset else ''} in {folder}; amemgym evaluate makes one.")
    for runs in groups:
        print_markdown(f"# {runs[0].manifest.dataset}\n\n{leaderboard_table(runs)}\n")
        with evaluation_errors():
            page = write_leaderboard(compare_finished(runs), runs=folder)
        print_plain(Console(stderr=True), f"Page: {page}")


def evaluation_requests(dataset: str, assistants: Sequence[str], options: EvaluateOptions) -> list[EvaluationRequest]:
    """One request for each assistant. Raises Problem for a budget of nothing."""
    with evaluation_errors():
        budget = budget_of(max_cost_usd=options.max_cost, max_tokens=options.max_tokens)
    roles = EvaluationOptions(
        model=options.model,
        embedding_model=options.embedding_model,
        user_model=options.user_model,
        seed=options.seed,
        attempt=options.attempt,
    )
    return [
        EvaluationRequest(
            dataset,
            name,
            roles,
            users=options.users,
            replayed=options.replay,
            budget=budget,
            users_at_once=max(1, options.concurrency),
            cache="replay" if options.offline else "use",
        )
        for name in assistants
    ]


def _latency(run: FinishedRun) -> str:
    """How long answers took, as a sentence."""
    latency = run.latency
    if not latency.timed:
        return "How long answers took was not measured: the reply cache gave them."
    return (
        f"An answer took {format_estimate(latency.mean, digits=2)} s of model time, "
        f"half of them {latency.median:.2f} s or less ({latency.timed:,} of {latency.answers:,} measured)."
    )


@contextmanager
def evaluation_errors() -> Generator[None, None, None]:
    """Raise Problem for what the user can correct."""
    try:
        yield
    except BudgetReached as error:
        raise Problem(f"{error} For an evaluation these are --max-cost and --max-tokens.") from error
    except (EvaluationError, EndpointError, OSError) as error:
        raise Problem(str(error)) from error


def _evaluate(request: EvaluationRequest, console: Console) -> FinishedRun:
    with step_progress(console) as bars:
        task = bars.add_task(request.assistant, total=None)

        def begun(manifest: RunManifest, size: EvaluationForecast) -> None:
            print_plain(console, f"{manifest.run_id}: {size.sentence} {size.warning(request.budget)}".strip())
            bars.update(task, total=size.steps)

        return asyncio.run(
            run_evaluation(request, home=home(), progress=EvaluationProgress(begun=begun, step=lambda key: bars.advance(task)))
        )
