"""Progress of whatever is running, for the run page: a line every few seconds, also while nothing moves."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

from assets.engine.ports import StageProgress
from assets.llm.usage import Meter
from assets.reporting.plurals import counted

# Lines reach the page within a second, so that a new one is seen every five.
LOG_SECONDS = 4.0
FIRST_SECONDS = 1.0  # after a start, so that a user soon sees that something happens
REPORT_SECONDS = 0.5  # a bar that moves looks alive, and a report costs next to nothing
RATE_SECONDS = 30.0  # several times what a call takes, so that the rate does not jump


@contextmanager
def heartbeat(
    write: Callable[[str], object], message: Callable[[], str], *, every: float = LOG_SECONDS
) -> Generator[None, None, None]:
    """Write the message of the moment after a second and then every so many, from a thread that nothing else blocks."""
    over = threading.Event()

    def beat() -> None:
        wait = min(FIRST_SECONDS, every)
        while not over.wait(wait):
            write(message())
            wait = every

    # A daemon, because a process that is told to end at once must not wait for it.
    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def report_regularly(report: Callable[[], None]) -> None:
    """Report twice a second, until it is cancelled."""
    while True:
        report()
        await asyncio.sleep(REPORT_SECONDS)


class ProgressLog:
    """A stage's progress as a line with rate, cost and time left.

    `first_line` stands there before the first progress; `expected` is how many calls an item takes, until one is done.
    `alike`: all that is left takes as many, whatever those took that are done.
    """

    def __init__(self, meter: Meter, *, first_line: str, expected: float = 0.0, alike: bool = False) -> None:
        self._meter = meter
        self._line = first_line
        self._expected = expected
        self._alike = alike
        self._recent: deque[tuple[float, int, int]] = deque([(0.0, 0, 0)])

    def update(self, progress: StageProgress) -> StageProgress:
        """Make the line say this progress; return it with rate, cost and time left."""
        if progress.seconds < FIRST_SECONDS:
            self._recent.clear()  # calls made before the stage began are no part of its rate
        self._recent.append((progress.seconds, progress.calls, progress.calls - progress.repeated))
        while len(self._recent) > 2 and self._recent[1][0] <= progress.seconds - RATE_SECONDS:
            self._recent.popleft()
        rate, fresh = self._rates()
        left = self._calls_left(progress)
        known = replace(
            progress,
            awaited=self._meter.waiting,
            cost_usd=None if self._meter.unpriced else self._meter.cost_usd,
            rate=rate,
            seconds_left=left / fresh if left and fresh > 0 else None,
        )
        self._line = ", ".join([progress_line(known), *progress_details(known)])
        return known

    def line(self) -> str:
        """The progress of the last update."""
        return self._line

    def _rates(self) -> tuple[float | None, float]:
        """Calls per second over the last while: all, and those that no cache answered, which decide how long the rest takes.

        None and 0 in the first second, when calls that were made ahead are counted.
        """
        if len(self._recent) < 2:
            return None, 0.0
        since, calls_before, fresh_before = self._recent[0]
        now, calls, fresh = self._recent[-1]
        seconds = max(now - since, 0.001)
        return (calls - calls_before) / seconds, (fresh - fresh_before) / seconds

    def _calls_left(self, progress: StageProgress) -> float:
        """Estimated from the items that are done, which are those with the most calls; 0 where nothing is known.

        Where items take more calls than was expected, as many are taken to be left as they are beyond it: nobody knows when
        rewrites end, and those that went on for long mostly go on. Never less than the replies awaited.
        """
        if progress.done == progress.total:
            return 0.0
        if self._alike:
            return max(self._expected * (progress.total - progress.done), self._meter.waiting)
        each = sorted(self._meter.items.values(), reverse=True)[: progress.done]
        typical = sum(each) / len(each) if each else self._expected
        items = progress.total + len(progress.given_up)  # a failed item took calls too, and has a replacement
        return max(abs(typical * items - progress.calls), self._meter.waiting) if typical else 0.0


class StepProgress:
    """Shows by `show` how far a run is by its finished steps; `calls`: the calls that all `steps` are expected to take."""

    def __init__(
        self, what: str, *, on: str, meter: Meter, steps: int, calls: float, show: Callable[[StageProgress], None]
    ) -> None:
        self._what = what
        self._on = on
        self._meter = meter
        self._show = show
        self._steps = steps
        self._done = 0
        self._began = time.monotonic()
        self._log = ProgressLog(meter, first_line="", expected=calls / max(1, steps), alike=True)

    def step(self, key: str) -> None:
        """Count a step that is done."""
        self._done += 1

    @asynccontextmanager
    async def display(self) -> AsyncGenerator[None]:
        """Show it as long as this lasts, and as finished where it ends well."""
        # A step more than expected may be under way; a run that goes on is never shown as finished.
        background = asyncio.create_task(report_regularly(lambda: self._show_now(max(self._steps, self._done + 1))))
        try:
            yield
        finally:
            background.cancel()
        self._show_now(self._done)

    def _show_now(self, total: int) -> None:
        progress = StageProgress(
            stage=self._what,
            unit=self._on,
            done=self._done,
            total=total,
            calls=self._meter.usage.calls,
            repeated=self._meter.repeated,
            seconds=time.monotonic() - self._began,
            noun="step",
        )
        self._show(self._log.update(progress))


def progress_line(progress: StageProgress) -> str:
    """Items done, calls and how many the cache answered, the rate where it is known, items failed.

    A finished stage has no rate: many of its calls were made ahead, while earlier stages ran.
    """
    line = f"{progress.stage} of {progress.unit}: {progress.done} of {counted(progress.total, progress.noun)}"
    if progress.reserve:
        line += f", {progress.reserve} of them in reserve"
    finished = progress.done == progress.total
    if finished and not progress.calls:
        return line
    about_calls = f"{progress.repeated} from the cache"
    if not finished and progress.rate is not None:
        about_calls += f", {rate_words(progress.rate)}"
    line += f", {counted(progress.calls, 'call')} ({about_calls})"
    return f"{line}, {len(progress.given_up)} given up" if progress.given_up else line


def rate_words(rate: float) -> str:
    """Return calls per second, as in 30/s or 2.5/s."""
    return f"{rate:.{0 if rate >= 10 else 1}f}/s"


def progress_details(progress: StageProgress) -> list[str]:
    """Further words on a stage under way: replies awaited, cost so far, and the time left where that is known."""
    cost = "cost unknown" if progress.cost_usd is None else f"${progress.cost_usd:.4f} so far"
    details = [f"{counted(progress.awaited, 'reply')} awaited", cost]
    if progress.seconds_left is not None:
        details.append(f"about {duration(progress.seconds_left)} left")
    return details


def duration(seconds: float) -> str:
    """Return seconds as a reader reads them: as they are, or in minutes."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Steps:
    """Progress where nothing counts items: the step under way, and how long everything has taken.

    `tell` gets a sentence on each step when it begins, and False; at the end one on the whole, and True.
    """

    def __init__(
        self, what: str, *, tell: Callable[[str, bool], None] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._tell = tell
        self._clock = clock
        self._began = clock()
        self._step = "beginning"

    def begin(self, step: str) -> None:
        """Set the step under way."""
        self._step = step
        if self._tell is not None:
            self._tell(f"{self._what}: {step}", False)

    def end(self, made: str) -> None:
        """Tell what was made, as in "3 users", and how long it took."""
        if self._tell is not None:
            self._tell(f"{self._what} {made}, {duration(self._clock() - self._began)}", True)

    def line(self) -> str:
        """Say which step is under way, and how long everything has taken so far."""
        return f"{self._what}: {self._step}, {duration(self._clock() - self._began)} so far"
