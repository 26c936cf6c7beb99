"""`amemgym` as the tests and benches run it: with a data folder of its own, and nothing of whoever runs them around it."""

import io
import json
import math
import os
import pty
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import absl.logging

from pipelines.cli.main import run_command
from pipelines.embedded.bank import model_name
from tests.support.waiting import LONG, wait_until

AMEMGYM = (sys.executable, "-m", "pipelines")
# Dagster closes all handlers when it sets up logging, and this one, which comes with mlcroissant, would close the stream of
# whatever stood for standard error when it was imported: pytest's own.
absl.logging.get_absl_handler().python_handler.stream = sys.__stderr__
NOT_OURS = ("OPENAI_", "AMEMGYM_", "DAGSTER_", "HF_")


def clean_environment(home: Path | None = None, **further: str) -> dict[str, str]:
    """This environment without endpoint, key, store or folders, and then with these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_OURS)}
    return {**kept, **({"AMEMGYM_HOME": str(home)} if home else {}), **further}


def amemgym(home: Path, *words: str, **further: str) -> subprocess.Popen[str]:
    """Start the command in a process of its own; both its outputs come out of one pipe."""
    return subprocess.Popen(
        [*AMEMGYM, *words],
        env=clean_environment(home, **further),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=listen_to_signals,
    )


def listen_to_signals() -> None:
    """For a new process: a job in a shell's background inherits that SIGINT is ignored, one under `nohup` SIGHUP.

    SIGTERM as well, to which Dagster gives what SIGINT has.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end; return the exit status and all output."""
    output, _ = process.communicate(timeout=5 * LONG)
    return process.returncode, output


def kill(process: subprocess.Popen[str], *, when: Callable[[], object]) -> None:
    """Kill the process, once this is so, without a word of warning."""

    def is_so() -> bool:
        assert process.poll() is None, process.communicate()[0]
        return bool(when())

    wait_until(is_so, seconds=5 * LONG)
    process.kill()
    process.communicate()


# Marks in what several commands print that end one's output, and its exit status.
END, STATUS_END = "\x1e", "\x1f"
IN_TURN = f"""
import json, sys
from pipelines.cli.main import run_command
for words in json.load(sys.stdin):
    print(end=f"{END}{{run_command(words)}}{STATUS_END}", flush=True)
"""


def run_in_turn(
    commands: Sequence[Sequence[str]],
    environment: Mapping[str, str],
    *,
    folder: Path,
    before: Sequence[str] = (),
    errors: int = subprocess.PIPE,
) -> list[tuple[int, str]]:
    """Run these commands in one process, as each needs seconds to start; the exit status and the output of each.

    `before`: words before that of Python. `errors`: where standard error goes, which is no part of the output.
    """
    done = subprocess.run(
        [*before, sys.executable, "-c", IN_TURN],
        input=json.dumps(commands),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        check=False,
        timeout=14 * LONG,
    )
    assert done.returncode == 0, done.stderr
    ended = [part.rpartition(END) for part in done.stdout.split(STATUS_END)[:-1]]
    return [(int(status), output) for output, _, status in ended]


# At the import of one module it prints that it has begun, and waits.
IMPORTING = """
import sys, time

class Here:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            print("begun", flush=True)
            time.sleep(600)

sys.meta_path.insert(0, Here())
from pipelines.__main__ import amemgym
amemgym()
"""


def interrupted(
    home: Path,
    *words: str,
    until: str = "begun",
    after: float = 0.0,
    importing: str = "",
    surroundings: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Run the command in a terminal of its own and press Ctrl-C so many seconds after it printed `until`; status and output.

    `importing`: a module at whose import the command prints "begun" and waits. A status below 0 is the signal that killed it:
    SIGKILL where it did not end within minutes.
    """
    command = [sys.executable, "-c", IMPORTING.format(module=importing), *words]
    environment = clean_environment(home, **(surroundings or {}))
    process, terminal = pty.fork()
    if process == 0:  # as little as can be before the other program runs: a lock that another thread held is never released
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # which a shell ignores for what runs in the background
        os.execve(sys.executable, command, environment)
    output, pressed, give_up = b"", 0.0, time.monotonic() + 5 * LONG
    while time.monotonic() < give_up:
        if select.select([terminal], [], [], 0.01)[0]:
            try:
                output += os.read(terminal, 65536)
            except OSError:  # as a terminal ends on Linux
                break
        if not pressed and until.encode() in output:
            pressed = time.monotonic() + after
        if pressed and time.monotonic() >= pressed:
            os.write(terminal, b"\x03")
            pressed = math.inf
    else:
        os.kill(process, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.close(terminal)
    return status, output.decode(errors="replace")


def priced_embedded_model(folder: Path) -> Path:
    """A price file by which the embedded model costs a dollar for a million tokens, so that budgets count it."""
    path = folder / "prices.yaml"
    path.write_text(f"{model_name()}: {{input: 1, output: 1}}\n", encoding="utf-8")
    return path


def amemgym_here(home: Path, *words: str, **further: str) -> tuple[int, str]:
    """Run the command in this process, without the seconds that one takes to start; the exit status and all output."""
    output = io.StringIO()
    with own_surroundings(home, **further), redirect_stdout(output), redirect_stderr(output):
        status = run_command(words)
    return status, output.getvalue()


@contextmanager
def own_surroundings(home: Path, **further: str) -> Generator[None, None, None]:
    """The same environment for what runs in this process; what it sets there goes with it."""
    before = dict(os.environ)
    try:
        _set_environment(clean_environment(home, **further))
        yield
    finally:
        _set_environment(before)


def _set_environment(wanted: dict[str, str]) -> None:
    for name in set(os.environ) - set(wanted):
        del os.environ[name]
    os.environ.update(wanted)


def free_port() -> int:
    """A port that nobody has, of those that no system gives away: a connection of another test would have it by then."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
