"""A program in a process of its own, asked and answering by lines of JSON."""

import asyncio
import contextlib
import json
import queue
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from assets.isolation.boundary import Residence, end_resident, start_resident
from assets.isolation.limits import describe_end
from assets.records.limits import MB
from assets.records.readable import without_controls

MOST_BYTES = 64 * MB  # of one line
MOST_PRINTED = 64_000  # bytes of a line that is printed, longer ones in pieces


class LineProgram:
    """A program that has begun. Threads write and read its lines, so that nothing here waits for what it does there.

    `hear` is told each line that it answers, and `hear_end` that no more will come, both on the loop that began it.
    """

    def __init__(
        self,
        program: Path,
        residence: Residence,
        job: Mapping[str, object],
        *,
        hear: Callable[[bytes], None],
        hear_end: Callable[[], None],
    ) -> None:
        self._residence = residence
        self._hear = hear
        self._hear_end = hear_end
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._process = start_resident(program, job=job, residence=residence)
        read_answers = partial(self._read_answers, asyncio.get_running_loop())
        threading.Thread(target=self._write_requests, name="memory-asked", daemon=True).start()
        threading.Thread(target=read_answers, name="memory-answers", daemon=True).start()
        threading.Thread(target=self._show_prints, name="memory-prints", daemon=True).start()

    def ask(self, message: Mapping[str, object]) -> None:
        """Send a line. Nobody waits for it to be read."""
        self._requests.put(json.dumps(message).encode() + b"\n")

    def ask_no_more(self) -> None:
        """Close its input, whereupon it ends by itself."""
        self._requests.put(None)

    def end(self, *, by_itself: bool) -> str:
        """End it with everything that it has started, and say how it ended. `by_itself`: its answers are at an end already."""
        code = end_resident(self._process, kind=self._residence.kind, by_itself=by_itself)
        self.ask_no_more()
        shutil.rmtree(self._residence.scratch, ignore_errors=True)
        return describe_end(code, self._residence.limits)

    def _write_requests(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError), self._process.stdin as requests:
            for line in iter(self._requests.get, None):
                requests.write(line)
                requests.flush()

    def _read_answers(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers, contextlib.suppress(RuntimeError):  # of a loop that is closed
            for line in iter(partial(answers.readline, MOST_BYTES), b""):
                loop.call_soon_threadsafe(self._hear, line)
            loop.call_soon_threadsafe(self._hear_end)

    def _show_prints(self) -> None:
        """Print what the process prints, without what would steer the terminal."""
        assert self._process.stderr is not None
        with contextlib.suppress(ValueError), self._process.stderr as prints:  # of a standard error that is closed
            for line in iter(partial(prints.readline, MOST_PRINTED), b""):
                print(without_controls(line.decode(errors="replace")), end="", file=sys.stderr, flush=True)
