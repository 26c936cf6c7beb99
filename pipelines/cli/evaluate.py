"""Evaluate assistants on a release, compare runs, and rank them: what is told meanwhile and at the end."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from assets.llm.ports import BudgetReached, EndpointError
from pipelines.cli.evaluation import Choices
from pipelines.cli.problems import Problem
from pipelines.evaluation.command import Order, Watch, budget_of, carry_out, runs_folder
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import PAGE, FinishedRun, read_run
from pipelines.evaluation.forecast import Forecast
from pipelines.evaluation.plan import Options
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.formatting import shown
from pipelines.evaluation.report.markdown import leaderboard, run_report
from pipelines.experiments.compare import compared, comparison
from pipelines.experiments.leaderboard import all_boards, write_board
from pipelines.home import home

T = TypeVar("T")


def orders_of(dataset: str, assistants: Sequence[str], choices: Choices) -> list[Order]:
    """One order for each assistant. Raises Problem for a budget of nothing."""
    budget = in_one_sentence(lambda: budget_of(max_cost_usd=choices.max_cost, max_tokens=choices.max_tokens))
    options = Options(
        model=choices.model,
        embedding_model=choices.embedding_model,
        user_model=choices.user_model,
        seed=choices.seed,
        attempt=choices.attempt,
    )
    return [
        Order(
            dataset,
            name,
            options,
            users=choices.users,
            replayed=choices.replay,
            budget=budget,
            users_at_once=max(1, choices.concurrency),
            cache="replay" if choices.offline else "use",
        )
        for name in assistants
    ]


def evaluate_all(orders: Sequence[Order]) -> list[FinishedRun]:
    """Carry the orders out one after another and tell the results. Raises Problem with one sentence."""
    console = Console(stderr=True)
    runs = [in_one_sentence(lambda order=order: _evaluate(order, console)) for order in orders]
    tell(leaderboard(runs) if len(runs) > 1 else run_report(runs[0]))
    place = runs_folder(home())
    for run in runs:
        say(console, f"{run.manifest.run_id}: {latency_words(run)} Page: {place / run.manifest.run_id / PAGE}")
    if len(runs) > 1:
        say(console, f"All of them: {in_one_sentence(lambda: write_board(compared(runs), place=place))}")
    return runs


def compare_runs(names: Sequence[str]) -> None:
    """Print the comparison of two or more runs, and write its page. Raises Problem."""
    if len(names) < 2:
        raise Problem("Give two or more runs to compare, by their folders or ids, as in: amemgym compare RUN RUN")
    place = runs_folder(home())
    found = in_one_sentence(lambda: compared([read_run(name, runs=place) for name in names]))
    tell(comparison(found))
    say(Console(stderr=True), f"Page: {in_one_sentence(lambda: write_board(found, place=place))}")


def rank_runs(dataset: str) -> None:
    """Print a leaderboard of all finished runs for each dataset, and write its page. Raises Problem when there is none."""
    place = runs_folder(home())
    boards = in_one_sentence(lambda: all_boards(place, dataset=dataset))
    if not boards:
        raise Problem(f"There is no finished run{f' on {dataset}' if dataset else ''} in {place}; amemgym evaluate makes one.")
    for runs in boards:
        tell(f"# {runs[0].manifest.dataset}\n\n{leaderboard(runs)}\n")
        say(Console(stderr=True), f"Page: {in_one_sentence(lambda runs=runs: write_board(compared(runs), place=place))}")


def latency_words(run: FinishedRun) -> str:
    """How long answers took, as a sentence."""
    found = run.latency
    if not found.timed:
        return "How long answers took was not measured: the call cache gave them."
    return (
        f"An answer took {shown(found.mean, digits=2)} s of model time, half of them {found.median:.2f} s or less "
        f"({found.timed:,} of {found.answers:,} measured)."
    )


def in_one_sentence(work: Callable[[], T]) -> T:
    """What the work returns. Raises Problem for whatever the user can mend."""
    try:
        return work()
    except BudgetReached as error:
        raise Problem(f"{error} For an evaluation these are --max-cost and --max-tokens.") from error
    except (EvaluationError, EndpointError, OSError) as error:
        raise Problem(str(error)) from error


def _evaluate(order: Order, console: Console) -> FinishedRun:
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("steps"))
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bars:
        task = bars.add_task(order.assistant, total=None)

        def begun(manifest: RunManifest, size: Forecast) -> None:
            say(console, f"{manifest.run_id}: {size.sentence} {size.warning(order.budget)}".strip())
            bars.update(task, total=size.steps)

        return asyncio.run(carry_out(order, place=home(), watch=Watch(begun=begun, step=lambda key: bars.advance(task))))


def say(console: Console, sentence: str) -> None:
    """Print a sentence as it is."""
    console.print(sentence, highlight=False, soft_wrap=True, markup=False)


def tell(markdown: str) -> None:
    """Print a report, drawn on a terminal and as it is elsewhere."""
    console = Console()
    if console.is_terminal:
        console.print(Markdown(markdown))
    else:
        print(markdown)
