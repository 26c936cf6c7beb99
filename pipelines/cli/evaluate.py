"""Commands about evaluation: evaluate assistants on a release, and compare runs."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from assets.ports import EndpointError
from pipelines.cli.problems import Problem
from pipelines.evaluation.command import Order, Watch, carry_out, runs_folder
from pipelines.evaluation.compare import comparison
from pipelines.evaluation.folder import FinishedRun, read_run
from pipelines.evaluation.forecast import Forecast
from pipelines.evaluation.problems import EvaluationError
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report import leaderboard, run_report
from pipelines.home import home

T = TypeVar("T")


def evaluate_all(orders: Sequence[Order]) -> list[FinishedRun]:
    """Carry the orders out one after another and tell the results. Raises Problem with one sentence."""
    console = Console(stderr=True)
    runs = [_in_one_sentence(lambda order=order: _evaluate(order, console)) for order in orders]
    told = leaderboard(runs) if len(runs) > 1 else run_report(runs[0])
    _print(told)
    for run in runs:
        console.print(f"Results: {runs_folder(home()) / run.manifest.run_id}", highlight=False, soft_wrap=True)
    return runs


def compare_runs(names: Sequence[str]) -> None:
    """Print the comparison of two or more runs. Raises Problem."""
    if len(names) < 2:
        raise Problem("Give two or more runs to compare, by their folders or ids, as in: amemgym compare RUN RUN")
    place = runs_folder(home())
    _print(_in_one_sentence(lambda: comparison([read_run(name, runs=place) for name in names])))


def _in_one_sentence(work: Callable[[], T]) -> T:
    try:
        return work()
    except (EvaluationError, EndpointError, OSError) as error:
        raise Problem(str(error)) from error


def _evaluate(order: Order, console: Console) -> FinishedRun:
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("steps"))
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bars:
        task = bars.add_task(order.assistant, total=None)

        def begun(manifest: RunManifest, size: Forecast) -> None:
            console.print(f"{manifest.run_id}: {size.sentence}", highlight=False, soft_wrap=True)
            bars.update(task, total=size.steps)

        return carry_out(order, place=home(), watch=Watch(begun=begun, step=lambda key: bars.advance(task)))


def _print(markdown: str) -> None:
    console = Console()
    if console.is_terminal:
        console.print(Markdown(markdown))
    else:
        print(markdown)
