"""What commands print: live progress on a terminal, finished lines elsewhere, notes and reports."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from assets.engine.ports import StageProgress
from assets.engine.progress import progress_line
from pipelines.resources.llm.batch.settings import BatchProgress, describe_batch


class LiveProgress:
    """Shows every stage's users, calls, rate and time left while a variant is made."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Progress(
            TextColumn("{task.description:<24}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}  {task.fields[calls]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._printed: set[tuple[str, str]] = set()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def show(self, progress: StageProgress) -> None:
        """Show how far a stage is."""
        key = (progress.unit, progress.stage)
        if not self._console.is_terminal:
            if progress.done == progress.total and key not in self._printed:
                self._printed.add(key)
                self._console.print(progress_line(progress), highlight=False, soft_wrap=True)
            return
        if key not in self._tasks:
            name = f"{progress.unit}: {progress.stage}"
            self._tasks[key] = self._bars.add_task(name, total=progress.total, unit="users", calls="")
        rate = progress.calls / max(progress.seconds, 0.001)
        calls = f"{progress.calls} calls, {progress.repeated} cached, {rate:.0f}/s"
        self._bars.update(self._tasks[key], completed=progress.done, total=progress.total, calls=calls)

    def show_batch(self, progress: BatchProgress) -> None:
        """Show how far a batch job is."""
        key = ("batch", progress.batch_id)
        if not self._console.is_terminal:
            if progress.ended or key not in self._printed:
                self._printed.add(key)
                self._console.print(describe_batch(progress), highlight=False, soft_wrap=True)
            return
        if key not in self._tasks:
            self._tasks[key] = self._bars.add_task(f"batch {progress.batch_id[-12:]}", total=None, unit="calls", calls="")
        self._bars.update(
            self._tasks[key],
            completed=progress.done + progress.failed,
            total=progress.lines or None,
            calls=f"{progress.status}, {progress.model}",
            visible=not progress.ended,
        )


def step_progress(console: Console) -> Progress:
    """A bar that counts steps, drawn on terminals only."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("steps"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def print_plain(console: Console, sentence: str) -> None:
    """Print a sentence as it is, without markup or colours."""
    console.print(sentence, highlight=False, soft_wrap=True, markup=False)


def print_markdown(text: str) -> None:
    """Print a report, rendered on a terminal and as it is elsewhere."""
    console = Console()
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        print(text)
