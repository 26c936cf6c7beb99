"""The processes of `amemgym ui`: started in a session of their own, and ended all together, whatever ends the command."""

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

SECONDS_TO_END = 10.0  # for runs under way, before they are killed
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, `kill`, and a terminal that was closed
ROOT = Path(__file__).parent.parent.parent


class Ending(BaseException):
    """The command was told to end."""


def run_until_ended(listening: socket.socket, environment: Mapping[str, str], *, host: str) -> int:
    """Serve Dagster and our pages on this socket, which `host` was asked for, until one of ENDING; the exit status.

    The server holds the other end of a pipe, so that it ends, with all that it started, even where this process is killed.
    """
    with _told_to_end() as ended:
        server = subprocess.Popen(  # noqa: S603 (our own words)
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
        try:
            status = server.wait()
            printing.join(1)
            return status
        except Ending:
            with contextlib.suppress(OSError):  # of a terminal that was closed
                print("Dagster is ending.", flush=True)
            return 0
        finally:
            _end(server, printing)


@contextlib.contextmanager
def _told_to_end() -> Generator[threading.Event, None, None]:
    """Raise Ending at the first signal; the event is set then. Later ones are ignored, because all is ending.

    A signal that is ignored already stays so: `nohup` and shells say by it that the command outlives the terminal.
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
    """Print what the server prints; at its end Dagster's processes print tracebacks."""
    assert server.stdout is not None
    while words := os.read(server.stdout.fileno(), 65536):
        if not ended.is_set():
            with contextlib.suppress(OSError):  # of a terminal that was closed
                sys.stdout.buffer.write(words)
                sys.stdout.buffer.flush()


def _end(server: "subprocess.Popen[bytes]", printing: threading.Thread) -> None:
    """Close the pipe, wait until nobody holds the other one any more, in which all of them print, and kill what stays."""
    assert server.stdin is not None
    server.stdin.close()
    printing.join(SECONDS_TO_END)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def end_with_starter() -> tuple[threading.Event, threading.Thread]:
    """In the server: end the session's processes when the starter's pipe closes, and kill those that stay.

    Returned are whether that has begun, and the thread that does it.
    """
    told = threading.Event()

    def end() -> None:
        # Not through sys.stdin: a thread that waits there aborts a process that ends by itself.
        while os.read(0, 65536):
            pass
        told.set()
        os.killpg(0, signal.SIGINT)
        time.sleep(SECONDS_TO_END + 2)
        os.killpg(0, signal.SIGKILL)

    watching = threading.Thread(target=end, daemon=True)
    watching.start()
    return told, watching
