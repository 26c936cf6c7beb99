"""What commands print: live progress on a terminal, finished lines elsewhere, notes and reports."""

import os
import sys
import time
from collections.abc import Callable
from io import UnsupportedOperation
from types import TracebackType
from typing import Self

from pydantic_core import to_json
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from assets.engine.ports import StageProgress
from assets.engine.progress import progress_details, progress_line
from pipelines.resources.llm.batch.settings import BatchProgress, describe_batch

# Without a terminal, a stage under way says where it is so often, so that a log shows that it lives.
LINE_SECONDS = 30.0


def stderr_console() -> Console:
    """A console on what is stderr now. Dagster points the descriptor elsewhere while a step runs, so this one has its own."""
    try:
        own = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)
    except UnsupportedOperation:  # in place of stderr, something that is no file
        return Console(stderr=True)
    return Console(file=own)


class LiveProgress:
    """Shows each stage under way as one line: items done, calls, rate, cost and time left. A finished stage's line stays.

    While no stage is under way, a line says what the run is at.
    """

    def __init__(self, console: Console, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._quiet, self._clock = console, quiet, clock
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
            console=console,
            disable=quiet or not console.is_terminal,
        )
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._finished: set[tuple[str, str]] = set()
        self._printed: dict[tuple[str, str], float] = {}
        self._between = self._bars.add_task("starting", total=None, text="")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def show(self, progress: StageProgress) -> None:
        """Show how far a stage is."""
        finished = progress.done == progress.total
        details = [] if finished else progress_details(progress)
        self._show(
            (progress.unit, progress.stage),
            ", ".join([progress_line(progress), *details]),
            finished=finished,
            bar=f"{progress.unit}: {progress.stage}",
            of=(progress.done, progress.total),
            text=", ".join(
                [f"{progress.done}/{progress.total} {progress.noun}s", f"{progress.calls} calls", *_rate(progress), *details]
            ),
        )

    def show_batch(self, progress: BatchProgress) -> None:
        """Show how far a batch job is."""
        self._show(
            ("batch", progress.batch_id),
            describe_batch(progress),
            finished=progress.ended,
            bar=f"batch {progress.batch_id[-12:]}",
            of=(progress.done + progress.failed, progress.lines or None),
            text=f"{progress.done + progress.failed}/{progress.lines} calls, {progress.status}, {progress.model}",
        )

    def _show(
        self, key: tuple[str, str], line: str, *, finished: bool, bar: str, of: tuple[int, int | None], text: str
    ) -> None:
        if self._quiet or key in self._finished:
            return
        if finished:
            self._finished.add(key)
            if key in self._tasks:
                self._bars.remove_task(self._tasks.pop(key))
            self._console.print(line, highlight=False, soft_wrap=True)
            self._bars.reset(self._between, description=f"{bar}: its checks, and what follows", visible=not self._tasks)
        elif self._console.is_terminal:
            self._bars.update(self._between, visible=False)
            if key not in self._tasks:
                self._tasks[key] = self._bars.add_task(bar, total=of[1], text="")
            self._bars.update(self._tasks[key], completed=of[0], total=of[1], text=text)
        elif self._clock() - self._printed.setdefault(key, self._clock()) >= LINE_SECONDS:
            self._printed[key] = self._clock()
            self._console.print(line, highlight=False, soft_wrap=True)


def _rate(progress: StageProgress) -> list[str]:
    return [] if progress.rate is None else [f"{progress.rate:.{0 if progress.rate >= 10 else 1}f}/s"]


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


def print_json(value: object) -> None:
    """Print records, dataclasses, and lists and mappings of them as JSON, on stdout alone."""
    print(to_json(value, indent=2, inf_nan_mode="null").decode())


def print_markdown(text: str) -> None:
    """Print a report, rendered on a terminal and as it is elsewhere."""
    console = Console()
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        print(text)
