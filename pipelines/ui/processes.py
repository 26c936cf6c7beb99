"""The processes of `amemgym ui`. They run in their own session and end together, however the command ends."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

SECONDS_TO_END = 10.0  # for running runs to finish, before they are killed
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, `kill`, and a closed terminal
ROOT = Path(__file__).parent.parent.parent


class Ending(BaseException):
    """Raised in the main thread when a signal tells the command to end."""


def run_until_ended(listening: socket.socket, environment: Mapping[str, str], *, host: str) -> int:
    """Serve Dagster and our pages on this socket until a signal of ENDING. Return the exit status.

    `host`: the address that the user asked for. The server holds the other end of a pipe to this process. It ends when the
    pipe closes, with everything that it started, so even a kill of this process leaves nothing running.
    """
    with _told_to_end() as ended, contextlib.ExitStack() as started:
        try:
            server = subprocess.Popen(  # noqa: S603 (a fixed command)
                [sys.executable, "-m", "pipelines.ui.server", str(listening.fileno()), host],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[listening.fileno()],
                start_new_session=True,
            )
            printing = threading.Thread(target=_print_until, args=(ended, server), daemon=True)
            printing.start()
            started.callback(_end, server, printing)
            status = server.wait()
            printing.join(1)
            return status
        except Ending:
            with contextlib.suppress(OSError):  # the terminal may be closed
                print("Dagster is ending.", flush=True)
            return 0


@contextlib.contextmanager
def _told_to_end() -> Generator[threading.Event, None, None]:
    """Set the yielded event and raise Ending at the first signal. Later signals are ignored, because the end has begun.

    A signal that is already ignored stays ignored: `nohup` and shells ignore it so that the command survives its terminal.
    """
    ended = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        if ended.is_set():
            return
        ended.set()
        raise Ending

    before: dict[signal.Signals, Any] = {}
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, end)
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_until(ended: threading.Event, server: "subprocess.Popen[bytes]") -> None:
    """Print the server's output until `ended` is set; after that, Dagster's processes print tracebacks."""
    assert server.stdout is not None
    while output := os.read(server.stdout.fileno(), 65536):
        if not ended.is_set():
            with contextlib.suppress(OSError):  # the terminal may be closed
                sys.stdout.buffer.write(output)
                sys.stdout.buffer.flush()


def _end(server: "subprocess.Popen[bytes]", printing: threading.Thread) -> None:
    """Close the server's stdin, wait until no process holds its output pipe any more, and kill the processes left."""
    assert server.stdin is not None
    server.stdin.close()
    printing.join(SECONDS_TO_END)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def end_with_starter() -> tuple[threading.Event, threading.Thread]:
    """In the server: end the session's processes when the starter's pipe closes, and kill those that do not end.

    Return an event, set when the end begins, and the thread that ends the processes.
    """
    ending = threading.Event()

    def end() -> None:
        # Not through sys.stdin: a thread that waits in it makes the process abort when it exits by itself.
        while os.read(0, 65536):
            pass
        ending.set()
        os.killpg(0, signal.SIGINT)
        time.sleep(SECONDS_TO_END + 2)
        os.killpg(0, signal.SIGKILL)

    watching = threading.Thread(target=end, daemon=True)
    watching.start()
    return ending, watching
