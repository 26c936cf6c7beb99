"""Close a boundary of the system around this process, then run a program in it: `python confine.py OPTIONS < job`.

An interpreter that has the standard library alone runs this file as a script, which imports the modules of its own folder and
no more of this project. What it promises, and what it does not, is in `pipelines/guide/reference/security.md`. Two processes
take part:
- the server, which runs our program and none of the foreign code. Where namespaces are to be had it is process 1 of its own,
  without network, and sees the interpreter and one folder, both read-only;
- a child for each piece of foreign work, sealed before it begins: Landlock leaves it the same folders to read, and seccomp
  leaves it the calls that computing takes. It starts no process, opens no socket and signals nobody but itself.
A child answers through a pipe of its own. The server reads it, ends the child with all that came of it, and answers in turn.
A resident program, such as a memory of others, is the foreign code itself: it stays, is asked and answers by lines, may start
threads and programs, write to a folder for scratch alone, and reaches the network only where that was declared. Its server is
the keeper (`keeper.py`).
"""

import builtins
import contextlib
import errno
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

from assets.isolation.keeper import keep_child
from assets.isolation.kernel import die_with_parent, drop_privileges, system_call
from assets.isolation.landlock import RESTRICT_SELF, SCOPES_SIGNALS, landlock_version, make_ruleset
from assets.isolation.limits import ResidentLimits
from assets.isolation.namespaces import enter_namespaces
from assets.isolation.seccomp import refuse_all_but_computing, refuse_all_but_living

MOST_BYTES = 65_536  # of one line of an answer
MOST_FILES = 64
INTERPRETER_MB = 128  # address space before a program has anything of its own

Tell = Callable[[bytes], None]


class ProcessOutcome(NamedTuple):
    """Lines that a child told, its exit code (negative: the signal), and whether it was never silent for too long."""

    lines: list[bytes]
    exit_code: int
    on_time: bool


class Boundary:
    """The closed boundary, as the program inside it uses it."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._kind: str = options["kind"]
        resident: dict[str, Any] | None = options.get("resident")
        self._answers = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        # Lines that come after the job, for a resident program.
        self.requests = os.fdopen(os.dup(0), "rb")
        self.job: dict[str, Any] = json.loads(self.requests.readline())
        os.dup2(nothing, 0)
        # What a resident program prints is for whoever reads the messages of the program that started it.
        os.dup2(nothing if resident is None else 2, 1)
        if resident is None:
            os.dup2(nothing, 2)
        os.close(nothing)
        hidden: list[str] = options["hidden"]
        processes = os.open("/proc", os.O_RDONLY) if resident is not None and self._kind != "none" else -1
        if self._kind == "namespaces":
            shown: list[str] = options["shown"]
            enter_namespaces(options["root"], shown, hidden=hidden, answers=self._answers, resident=resident)
        if resident is not None:
            _settle(options, answers=self._answers, processes=processes)
            return
        self._ruleset = None
        if self._kind != "none":
            drop_privileges()
            die_with_parent(self._answers)
            self._ruleset = make_ruleset(options["shown"], hidden=hidden)
            if self._ruleset is None and self._kind == "landlock":
                raise OSError(errno.ENOSYS, "Landlock is not there")
        # What has a handler would reach process 1 from its own children.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def answer(self, line: bytes) -> None:
        """Write a line to whoever started this process."""
        with os.fdopen(os.dup(self._answers), "wb") as answers:
            answers.write(line + b"\n")

    def answers(self) -> BinaryIO:
        """Return a file for lines to whoever started this process."""
        return os.fdopen(os.dup(self._answers), "wb")

    def run(
        self, work: Callable[[Tell], None], *, most_lines: int, memory_mb: int, silent: tuple[float, float], seconds: float
    ) -> ProcessOutcome:
        """Do the work in a sealed child, which tells lines of what comes of it.

        `silent`: for how many seconds it may tell nothing before its first line, and before each later one. `seconds`: in all.
        """
        # It tells our lines from others that the child writes. Code that searches the interpreter finds it, for its own child.
        secret = os.urandom(16).hex().encode() + b" "
        reading, writing = os.pipe()
        server = os.getpid()
        child = os.fork()
        if child == 0:
            try:
                os.dup2(writing, self._answers)
                self._seal(server, memory_mb=memory_mb, cpu_seconds=int(seconds) + 1)
                work(_teller(self._answers, secret))
                os._exit(0)
            finally:
                os._exit(1)
        os.close(writing)
        lines, on_time = _read_lines(reading, secret, most_lines=most_lines, silent=silent, seconds=seconds)
        os.close(reading)
        return ProcessOutcome(lines, self._end(child), on_time)

    def _seal(self, server: int, *, memory_mb: int, cpu_seconds: int) -> None:
        """Give up all that the work does not need. Raises OSError where the system does not take it."""
        memory = (INTERPRETER_MB + memory_mb) * 1024 * 1024
        limits = {"AS": memory, "FSIZE": 0, "CORE": 0, "NOFILE": MOST_FILES, "CPU": cpu_seconds}
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for name, most in limits.items():
            # A limit that is lower already stays, and macOS takes none of the address space.
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        if self._kind == "none":
            os.setpgid(0, 0)
            os.closerange(self._answers + 1, MOST_FILES)
            return
        die_with_parent(self._answers)
        if os.getppid() != server:
            os._exit(1)
        if self._ruleset is not None:
            system_call(RESTRICT_SELF, self._ruleset, 0)
        os.closerange(self._answers + 1, MOST_FILES)
        refuse_all_but_computing()

    def _end(self, child: int) -> int:
        """Kill the child, where the kernel has a list of them all that came of it, and return its exit code."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpid() == 1:
                os.kill(-1, signal.SIGKILL)
            elif self._kind == "none":
                os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        code = 0
        while True:
            try:
                ended, status = os.waitpid(-1, 0)
            except ChildProcessError:
                return code
            if ended == child:
                code = os.waitstatus_to_exitcode(status)


def _teller(pipe: int, secret: bytes) -> Tell:
    write = os.write  # before foreign code can put something else there

    def tell(line: bytes) -> None:
        write(pipe, secret + line + b"\n")

    return tell


def _read_lines(
    pipe: int, secret: bytes, *, most_lines: int, silent: tuple[float, float], seconds: float
) -> tuple[list[bytes], bool]:
    """The lines that begin with the secret, and whether they came in time."""
    lines: list[bytes] = []
    rest = b""
    last = time.monotonic() + seconds
    end = time.monotonic() + silent[0]
    while len(lines) < most_lines and len(rest) <= MOST_BYTES:
        ready, _, _ = select.select([pipe], [], [], max(0.0, min(end, last) - time.monotonic()))
        if not ready:
            return lines, False
        more = os.read(pipe, MOST_BYTES)
        if not more:
            break
        *whole, rest = (rest + more).split(b"\n")
        told = [line.removeprefix(secret) for line in whole if line.startswith(secret)]
        if told:
            lines += told
            end = time.monotonic() + silent[1]
    return lines[:most_lines], True


def _settle(options: dict[str, Any], *, answers: int, processes: int) -> None:
    """Return in a process that has given up for good all that a resident program does not need, and that has a keeper.

    Raises OSError where the system does not take it.
    """
    kind: str = options["kind"]
    resident: dict[str, Any] = options["resident"]
    if kind == "none":
        return
    own_processes = kind != "landlock"
    drop_privileges()
    if own_processes:
        # All others end with process 1. Without one, the keeper has to outlive whoever started it, to end them.
        die_with_parent(answers)
    scratch = "" if own_processes else resident["scratch"]
    keep_child(ResidentLimits(*resident["limits"]), processes=processes, scratch=scratch, answers=answers)
    if not own_processes:
        ruleset = make_ruleset(options["shown"], hidden=options["hidden"], resident=resident)
        if ruleset is None:
            raise OSError(errno.ENOSYS, "Landlock is not there")
        system_call(RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)
    refuse_all_but_living(network=resident["network"], signals=own_processes or landlock_version() >= SCOPES_SIGNALS)


def _forget_project() -> None:
    """Leave no trace of how this file found its own modules: foreign code may have some of the same names."""
    sys.path.remove(os.environ.pop("PYTHONPATH"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "assets"]:
        del sys.modules[name]


def main() -> None:
    options = json.loads(sys.argv.pop())
    if signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
        # As Dagster leaves it where a shell has started it in the background. No program of the code could be stopped.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Paths of this machine are no business of the code: PWD is set by bubblewrap.
    os.environ.pop("PWD", None)
    _forget_project()
    sys.orig_argv.clear()
    os.chdir("/")
    with open(options["program"], encoding="utf-8") as file:  # noqa: PTH123
        program = compile(file.read(), options["program"], "exec")
    boundary = Boundary(options)
    # A copy of the built-in names: foreign code that changes `builtins` changes nothing of the program.
    names: dict[str, Any] = {"__name__": "program", "__builtins__": {**vars(builtins)}}
    exec(program, names)  # noqa: S102
    names["main"](boundary)


if __name__ == "__main__":
    main()
