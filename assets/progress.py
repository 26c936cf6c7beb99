"""Progress of a running stage, for the run page."""

from collections.abc import Callable

from assets.ports import StageProgress

LOG_SECONDS = 5.0


class LoggedProgress:
    """Writes a line at most every five seconds."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._next = LOG_SECONDS

    def __call__(self, progress: StageProgress) -> None:
        """Take note; write when it is time."""
        if progress.seconds >= self._next:
            self._next = progress.seconds + LOG_SECONDS
            self._write(progress_line(progress))


def progress_line(progress: StageProgress) -> str:
    """Users done, calls with rate and cache hits, and the time left at the present rate."""
    rate = progress.calls / max(progress.seconds, 0.001)
    parts = [
        f"{progress.stage} of {progress.unit}: {progress.done} of {progress.total} users",
        f"{progress.calls} calls ({progress.repeated} from the cache, {rate:.0f}/s)",
    ]
    if progress.failed:
        parts.append(f"{progress.failed} given up")
    if 0 < progress.done < progress.total:
        left = progress.seconds / progress.done * (progress.total - progress.done)
        parts.append(f"about {left:.0f} s left")
    return ", ".join(parts)
