"""The output of commands: live progress on a terminal, finished lines elsewhere, tables, notes and JSON."""

import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import UnsupportedOperation
from types import TracebackType
from typing import Self

from pydantic_core import to_json
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markdown import Markdown
from rich.progress import BarColumn, Progress, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from assets.engine.ports import StageProgress
from assets.engine.progress import duration, progress_details, progress_line, rate_words
from assets.records.readable import without_controls
from assets.reporting.plurals import counted
from assets.reporting.text_table import UNBROKEN, print_table
from pipelines.resources.llm.batch.settings import BatchProgress, describe_batch

# How often a running stage prints its progress to a log, which shows that it is still running.
LINE_SECONDS = 30.0
WIDE = 100  # columns from which a line has room for a bar and a clock
BAR = 16  # columns, which leave most of a terminal of 100 to the text
SHOWN_FAILURES = 3  # a bad prompt fails all items in the same way, so a few are enough
CONTROLS_AFTER_ASCII = re.compile("[\x7f-\x9f]")  # JSON does not escape these


class TextConsole(Console):
    """A console that removes control characters from texts, so that none can control the terminal. Colours still work."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=without_controls(segment.text))


def stdout_console() -> Console:
    """Return a console on stdout. In a pipe lines are not wrapped or cut, unless COLUMNS gives a width."""
    console = TextConsole(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = UNBROKEN
    return console


def stderr_console() -> Console:
    """Return a console on the current stderr, with its own file descriptor, because Dagster redirects stderr's in a step."""
    try:
        own = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)
    except UnsupportedOperation:  # stderr was replaced with an object that is not a file
        return TextConsole(stderr=True)
    return TextConsole(file=own)


@contextmanager
def prints_of_others_apart() -> Generator[None]:
    """Send the output of other people's code to stderr, because stdout is for the command's own output."""
    try:
        place = sys.stdout.fileno()
        other = sys.stderr.fileno()
    except UnsupportedOperation:  # one was replaced with an object that is not a file
        with redirect_stdout(sys.stderr):
            yield
        return
    # Redirect the descriptor, because programs started by that code print to it too.
    sys.stdout.flush()
    own = os.dup(place)
    os.dup2(other, place)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(own, place)
        os.close(own)


class FittedProgress(Progress):
    """Shows each task on one line, with as many of the first `fields["parts"]` as fit the terminal's width."""

    def __init__(self, console: Console, *, disable: bool) -> None:
        self._terminal = console  # rich draws once before it sets its own attribute
        super().__init__(console=console, disable=disable)

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        shown = [task for task in tasks if task.visible]
        names = [cell_len(task.description) for task in shown]
        room = self._terminal.width - max(names, default=0) - 2  # a blank before and after the text
        name = TextColumn("{task.description}")
        words = TextColumn("{task.fields[text]}")
        if self._terminal.width >= WIDE:
            room -= BAR + len(" 0:00:00 ")
            self.columns = (name, BarColumn(bar_width=BAR), words, TimeElapsedColumn())
        else:
            self.columns = (name, words)
        for task in shown:
            task.fields["text"] = fit_parts(task.fields["parts"], room)
        return super().make_tasks_table(shown)


def fit_parts(parts: Sequence[str], width: int) -> str:
    """Return the first parts that fit in `width` columns, joined with commas; always at least the first part."""
    line, *others = parts or [""]
    for part in others:
        if cell_len(f"{line}, {part}") > width:
            break
        line = f"{line}, {part}"
    return line


@dataclass(frozen=True)
class ProgressLine:
    """The progress of one stage or batch job: `sentence` for a log, `name` and `parts` for a line on a terminal."""

    key: tuple[str, str]
    name: str
    sentence: str
    parts: Sequence[str]
    done: int
    total: int | None
    finished: bool


class LiveProgress:
    """Shows each running stage on one line: items done, calls, rate, cost and time left. A finished stage's line stays.

    While no stage runs, a line shows the step of the report or the release. `after` names the work that follows a finished
    stage; `seconds_after` is how long that work took, over all stages so far.
    """

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        after: str = "its checks",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._quiet = quiet
        self._after = after
        self._clock = clock
        self._bars = FittedProgress(console, disable=quiet or not console.is_terminal)
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._finished: set[tuple[str, str]] = set()
        self._printed: dict[tuple[str, str], float] = {}
        self._between = self._bars.add_task("starting", total=None, parts=())
        self._ended_at: float | None = None
        self.seconds_after = 0.0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._count_after()
        self._bars.update(self._between, visible=False)
        self._bars.stop()

    def show(self, progress: StageProgress) -> None:
        """Show a stage's progress and, when it is done, why items were given up."""
        finished = progress.done == progress.total
        name = f"{progress.unit}: {progress.stage}"
        counts = [f"{progress.done:,}/{counted(progress.total, progress.noun)}"]
        state: list[str] = []
        if progress.calls or progress.awaited:  # not for a stage that asks no model
            counts += [counted(progress.calls, "call"), *([] if progress.rate is None else [rate_words(progress.rate)])]
            state.append("cost unknown" if progress.cost_usd is None else f"${progress.cost_usd:.4f}")
            if progress.seconds_left is not None:
                state.append(f"{duration(progress.seconds_left)} left")
            state.append(f"{progress.awaited:,} awaited")
        cached = [f"{progress.repeated:,} from the cache"] if progress.repeated else []
        if not finished:
            sentence = ", ".join([progress_line(progress), *progress_details(progress)])
        elif self._console.is_terminal:
            parts = [*counts[:2], *cached, duration(progress.seconds)]
            sentence = f"{name} {fit_parts(parts, self._console.width - cell_len(name) - 1)}"
        else:
            sentence = progress_line(progress)
        ended = self._show(
            ProgressLine(
                key=(progress.unit, progress.stage),
                name=name,
                sentence=sentence,
                parts=[*counts, *state, *cached],
                done=progress.done,
                total=progress.total,
                finished=finished,
            )
        )
        if ended and progress.given_up:
            for given_up in given_up_sentences(progress):
                print_plain(self._console, given_up)

    def show_step(self, sentence: str, finished: bool) -> None:
        """Show a step without counts. A running step is shown on a terminal only; a finished step's sentence stays."""
        self._count_after()
        if self._quiet:
            return
        if finished:
            print_plain(self._console, sentence)
            self._begin_after(sentence.partition(":")[0])
        else:
            self._bars.reset(self._between, description=sentence, visible=not self._tasks)

    def _begin_after(self, name: str) -> None:
        self._ended_at = self._clock()
        self._bars.reset(self._between, description=f"{name}: {self._after}", visible=not self._tasks)

    def _count_after(self) -> None:
        if self._ended_at is not None:
            self.seconds_after += self._clock() - self._ended_at
            self._ended_at = None

    def show_batch(self, progress: BatchProgress) -> None:
        """Show a batch job's progress: calls done, its status and its model."""
        done = progress.done + progress.failed
        self._show(
            ProgressLine(
                key=("batch", progress.batch_id),
                name=f"batch {progress.batch_id[-12:]}",
                sentence=describe_batch(progress),
                parts=(f"{done:,}/{counted(progress.lines, 'call')}", progress.status, progress.model),
                done=done,
                total=progress.lines or None,
                finished=progress.ended,
            )
        )

    def _show(self, line: ProgressLine) -> bool:
        """Show the line. Return True for the last line of its stage, which is shown once."""
        key = line.key
        if self._quiet or key in self._finished:
            return False
        self._count_after()
        if line.finished:
            self._finished.add(key)
            if key in self._tasks:
                self._bars.remove_task(self._tasks.pop(key))
            print_plain(self._console, line.sentence)
            self._begin_after(line.name)
        elif self._console.is_terminal:
            self._bars.update(self._between, visible=False)
            if key not in self._tasks:
                self._tasks[key] = self._bars.add_task(line.name, total=line.total, parts=line.parts)
            self._bars.update(self._tasks[key], completed=line.done, total=line.total, parts=line.parts)
        elif self._clock() - self._printed.setdefault(key, self._clock()) >= LINE_SECONDS:
            self._printed[key] = self._clock()
            print_plain(self._console, line.sentence)
        return line.finished


def given_up_sentences(progress: StageProgress) -> Iterable[str]:
    """Yield why the first few items were given up at a stage, and where all of them are listed."""
    for failure in progress.given_up[:SHOWN_FAILURES]:
        yield f"  given up: {progress.noun} {failure.item_id} at {failure.stage}: {failure.message}"
    more = len(progress.given_up) - SHOWN_FAILURES
    if more > 0:
        yield f"  and {counted(more, f'more {progress.noun}')}."
    yield "  Items of the reserve replace them. The files failures.parquet of the snapshots list all that were given up."


def print_plain(console: Console, sentence: str) -> None:
    """Print a sentence without markup or colours. On a terminal its lines are wrapped between words."""
    if console.is_terminal:
        # A path longer than a line is not broken, so that it can be copied; rich would break it.
        wrapper = textwrap.TextWrapper(console.width, break_long_words=False, break_on_hyphens=False)
        sentence = "\n".join(wrapper.fill(line) for line in sentence.split("\n"))
    console.print(sentence, highlight=False, soft_wrap=True, markup=False)


def print_json(value: object) -> None:
    """Print records, dataclasses, and lists and mappings of them as JSON on stdout."""
    text = to_json(value, indent=2, inf_nan_mode="null").decode()
    print(CONTROLS_AFTER_ASCII.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_markdown(text: str) -> None:
    """Print a report given as Markdown: its tables are aligned, the rest is rendered."""
    console = stdout_console()
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
            for line in captured.get().splitlines():
                print(line.rstrip())  # rich pads lines with blanks
        console.print()


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]
