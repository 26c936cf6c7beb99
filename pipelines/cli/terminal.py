"""What commands print: live progress on a terminal, finished lines elsewhere, tables, notes and JSON."""

import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Sequence
from io import UnsupportedOperation
from types import TracebackType
from typing import Self

from pydantic_core import to_json
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, Progress, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from assets.engine.ports import StageProgress
from assets.engine.progress import duration, progress_details, progress_line
from assets.reporting.plurals import counted
from pipelines.resources.llm.batch.settings import BatchProgress, describe_batch

# Without a terminal, a stage under way says where it is so often, so that a log shows that it lives.
LINE_SECONDS = 30.0
# Columns from which a line has a bar and a clock beside its words.
WIDE, BAR = 100, 16
# Columns that a cell of words may be broken to where a table is wider than the terminal.
LEAST_WORDS = 24
GAP = 3  # between columns of a table
Columns = Sequence[Sequence[str]]
# Rows that may become columns.
MOST_TURNED = 4
SHOWN_FAILURES = 3
NUMBER = re.compile(r"[-+~$]?[\d.,]*\d[\d.,]*(-[\d.,]+)?( ?%|[KM])?( \[.*\]\S*)?|-?|unknown")


def stderr_console() -> Console:
    """A console on what is stderr now. Dagster points the descriptor elsewhere while a step runs, so this one has its own."""
    try:
        own = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)
    except UnsupportedOperation:  # in place of stderr, something that is no file
        return Console(stderr=True)
    return Console(file=own)


class FittedProgress(Progress):
    """Tasks in one line each, however narrow the terminal: of `fields["parts"]`, the first ones that have room are shown."""

    def __init__(self, console: Console, *, disable: bool) -> None:
        self._terminal = console  # rich draws once before it has its own
        super().__init__(console=console, disable=disable)

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        shown, width = [task for task in tasks if task.visible], self._terminal.width
        wide = width >= WIDE
        self.columns = (
            TextColumn("{task.description}"),
            *((BarColumn(bar_width=BAR),) if wide else ()),
            TextColumn("{task.fields[text]}"),
            *((TimeElapsedColumn(),) if wide else ()),
        )
        names = max((cell_len(task.description) for task in shown), default=0)
        for task in shown:
            task.fields["text"] = fitted(task.fields["parts"], width - names - (BAR + len(" 0:00:00 ") if wide else 0) - 2)
        return super().make_tasks_table(shown)


def fitted(parts: Sequence[str], width: int) -> str:
    """The parts with commas between, as many of the first as fit into so many columns; always the first."""
    line, *others = parts or [""]
    for part in others:
        if cell_len(f"{line}, {part}") > width:
            break
        line = f"{line}, {part}"
    return line


class LiveProgress:
    """Shows each stage under way as one line: items done, calls, rate, cost and time left. A finished stage's line stays.

    While no stage is under way, a line says what the run is at; `after` is what follows a finished stage.
    """

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        after: str = "its checks, and what follows",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console, self._quiet, self._after, self._clock = console, quiet, after, clock
        self._bars = FittedProgress(console, disable=quiet or not console.is_terminal)
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._finished: set[tuple[str, str]] = set()
        self._printed: dict[tuple[str, str], float] = {}
        self._between = self._bars.add_task("starting", total=None, parts=())

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def show(self, progress: StageProgress) -> None:
        """Show how far a stage is, and, when it is done, why items were given up."""
        key, name, done = (progress.unit, progress.stage), f"{progress.unit}: {progress.stage}", progress.done == progress.total
        counts, state = [f"{progress.done:,}/{counted(progress.total, progress.noun)}"], list[str]()
        if progress.calls or progress.awaited:  # not where nothing is asked
            counts += [counted(progress.calls, "call"), *_rate(progress)]
            state = ["cost unknown" if progress.cost_usd is None else f"${progress.cost_usd:.4f}"]
            state += [f"{duration(progress.seconds_left)} left"] if progress.seconds_left is not None else []
            state += [f"{progress.awaited:,} awaited"]
        cached = [f"{progress.repeated:,} from the cache"] if progress.repeated else []
        if done and key not in self._finished and self._console.is_terminal:
            parts = [*counts[:2], *cached, *counts[2:], duration(progress.seconds)]
            line = f"{name} {fitted(parts, self._console.width - cell_len(name) - 1)}"
        else:
            line = ", ".join([progress_line(progress), *([] if done else progress_details(progress))])
        parts = [*counts, *state, *cached]
        told = self._show(
            key,
            line,
            finished=done,
            bar=name,
            of=(progress.done, progress.total),
            parts=parts,
        )
        if told and progress.given_up:
            for sentence in given_up_sentences(progress):
                print_plain(self._console, sentence)

    def show_batch(self, progress: BatchProgress) -> None:
        """Show how far a batch job is."""
        done = progress.done + progress.failed
        self._show(
            ("batch", progress.batch_id),
            describe_batch(progress),
            finished=progress.ended,
            bar=f"batch {progress.batch_id[-12:]}",
            of=(done, progress.lines or None),
            parts=(f"{done:,}/{counted(progress.lines, 'call')}", progress.status, progress.model),
        )

    def _show(
        self,
        key: tuple[str, str],
        line: str,
        *,
        finished: bool,
        bar: str,
        of: tuple[int, int | None],
        parts: Sequence[str],
    ) -> bool:
        """Whether this ended the stage, which it does once."""
        if self._quiet or key in self._finished:
            return False
        if finished:
            self._finished.add(key)
            if key in self._tasks:
                self._bars.remove_task(self._tasks.pop(key))
            print_plain(self._console, line)
            self._bars.reset(self._between, description=f"{bar}: {self._after}", visible=not self._tasks)
        elif self._console.is_terminal:
            self._bars.update(self._between, visible=False)
            if key not in self._tasks:
                self._tasks[key] = self._bars.add_task(bar, total=of[1], parts=parts)
            self._bars.update(self._tasks[key], completed=of[0], total=of[1], parts=parts)
        elif self._clock() - self._printed.setdefault(key, self._clock()) >= LINE_SECONDS:
            self._printed[key] = self._clock()
            print_plain(self._console, line)
        return finished


def _rate(progress: StageProgress) -> list[str]:
    return [] if progress.rate is None else [f"{progress.rate:.{0 if progress.rate >= 10 else 1}f}/s"]


def given_up_sentences(progress: StageProgress) -> Iterable[str]:
    """Who was given up at a stage and why, the first few, and where all of them stand."""
    for failure in progress.given_up[:SHOWN_FAILURES]:
        yield f"  given up: {progress.noun} {failure.item_id} at {failure.stage}: {failure.message}"
    if (more := len(progress.given_up) - SHOWN_FAILURES) > 0:
        yield f"  and {counted(more, f'more {progress.noun}')}."
    yield "  Others of the reserve take their places; all of them are in the table failures of: amemgym explore"


def print_plain(console: Console, sentence: str) -> None:
    """Print a sentence as it is, without markup or colours."""
    console.print(sentence, highlight=False, soft_wrap=True, markup=False)


def print_json(value: object) -> None:
    """Print records, dataclasses, and lists and mappings of them as JSON, on stdout alone."""
    print(to_json(value, indent=2, inf_nan_mode="null").decode())


def print_table(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """Print a table in which nothing is cut. Numbers are aligned to the right, and columns of sentences are broken.

    Of one that is wider than the terminal all the same, rows become columns where they are few, or columns follow in several
    tables, each with the names of the rows; where even that does not do, each row is a block of lines.
    """
    if title:
        console.print(Text(title, style="italic"), soft_wrap=True)
    if not rows:
        return
    turned = list(zip(head, *rows, strict=True))
    parts = _parts(turned, width=console.width)
    if len(parts) == 1:
        console.print(_table(turned))
    elif len(rows) <= MOST_TURNED and _width(list(zip(*turned, strict=True))) <= console.width:
        console.print(_table([head, *rows]))
    elif parts:
        for part in parts:
            console.print(_table(part))
            console.print()
    else:
        _print_blocks(console, head, rows)


def _names(columns: Columns) -> int:
    """How many columns it takes to tell the rows apart."""
    return next((count for count, (_, *cells) in enumerate(columns, start=1) if len({*cells}) == len(cells)), 1)


def _parts(columns: Columns, *, width: int) -> Sequence[Columns]:
    """The columns in as many tables as the width needs, each with the names of the rows; none where some would not fit."""
    names, parts = columns[: _names(columns)], list[list[Sequence[str]]]()
    for column in columns[len(names) :]:
        if not parts or _width([*parts[-1], column]) > width:
            parts.append([*names])
        parts[-1].append(column)
    return [] if any(_width(part) > width for part in parts) else parts or [columns]


def _print_blocks(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for name, *cells in rows:
        console.print(Text(name or head[0], style="bold"), soft_wrap=True)
        for about, cell in zip(head[1:], cells, strict=True):
            words, width = f"{about}: {cell}" if about else cell, max(LEAST_WORDS, console.width)
            if cell:
                lines = textwrap.fill(words, width, initial_indent="  ", subsequent_indent="    ")
                console.print(Text(lines), soft_wrap=True)


def _is_prose(cells: Iterable[str]) -> bool:
    """Whether a column may be broken: it holds words that are longer than a broken one has to be."""
    return any(cell_len(cell) > LEAST_WORDS and " " in cell for cell in cells)


def _least(cells: Iterable[str]) -> int:
    return LEAST_WORDS if _is_prose(cells := list(cells)) else max(map(cell_len, cells))


def _width(columns: Columns) -> int:
    """The columns of a terminal that a table takes at least."""
    return sum(map(_least, columns)) + GAP * (len(columns) - 1)


def _table(columns: Columns) -> Table:
    """Rows without a cell beside their name are left out."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    for number, (name, *cells) in enumerate(columns):
        numeric = number > 0 and all(NUMBER.fullmatch(cell) for cell in cells)
        table.add_column(Text(name), justify="right" if numeric else "left", min_width=_least((name, *cells)), overflow="fold")
    for row in list(zip(*columns, strict=True))[1:]:
        if any(row[_names(columns) :]) or len(row) == _names(columns):
            table.add_row(*map(Text, row))
    return table


def print_markdown(text: str) -> None:
    """Print a report: its tables as aligned tables, the rest rendered. The report's file has it in Markdown."""
    console = Console()
    for block in re.split(r"\n{2,}", text.strip()):
        lines = block.splitlines()
        if len(lines) > 1 and lines[0].startswith("|"):
            head, _, *rows = map(_cells, lines)
            print_table(console, head, rows)
        elif block.startswith("#"):
            console.print(Text(block.lstrip("# "), style="bold"))
        else:
            with console.capture() as captured:
                console.print(Markdown(block))
            print(*(line.rstrip() for line in captured.get().splitlines()), sep="\n")  # rich fills lines with blanks
        console.print()


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]
