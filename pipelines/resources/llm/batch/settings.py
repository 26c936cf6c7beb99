"""Settings of gathering and watching batch jobs, and their progress."""

from collections.abc import Callable
from dataclasses import dataclass

from assets.reporting.plurals import counted

MAX_LINES = 20_000  # OpenAI takes 50 000, but smaller jobs are scheduled sooner
MAX_BYTES = 100_000_000  # OpenAI takes 200 MB
MAX_JOBS_PER_LINE = 4
ASK_LIVE = "send the calls live (the transport of the recipe's models, or batch of an evaluation)"
MAX_PAUSES = 24  # up to an hour each: a day, in which every other job of the account has ended


@dataclass(frozen=True)
class BatchSettings:
    """Seconds and sizes. A job is sent when no call has joined for `quiet`, at the latest `longest_gathering` after the
    first, or when it is full. Looks at it begin `first_look` after it was sent and get rarer up to `longest_look`.
    """

    quiet: float = 2.0
    longest_gathering: float = 60.0
    first_look: float = 1.0
    longest_look: float = 60.0
    most_lines: int = MAX_LINES
    most_bytes: int = MAX_BYTES


@dataclass(frozen=True)
class BatchProgress:
    """The progress of a job. `batch_id` and `status` are the provider's."""

    batch_id: str
    model: str
    status: str
    lines: int
    done: int
    failed: int
    seconds: float
    ended: bool


OnBatchProgress = Callable[[BatchProgress], None]


def describe_batch(progress: BatchProgress) -> str:
    """Return the progress of a job in one line for the terminal or a log."""
    parts = [f"{progress.batch_id} to {progress.model}: {progress.done} of {counted(progress.lines, 'call')} done"]
    if progress.failed:
        parts.append(f"{progress.failed} to be asked again or failed")
    return f"{', '.join(parts)}, {progress.status} after {progress.seconds:.0f} s"
