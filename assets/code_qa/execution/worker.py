"""The program inside the sandbox: `python worker.py < job`. It imports modules once and makes calls in forked children.

It is run as a script by an interpreter that has the standard library alone, and imports nothing of this project. The job is
JSON: `root`, `limits`, and `functions`, each with module, name, source if it is changed, and `calls`, which are lists of
arguments. One line of JSON for each call goes to where standard output was; the package itself has no output. What is kept
from the code, and what cannot be, is said in `sandbox.py`.
"""

import ast
import contextlib
import ctypes
import gc
import importlib
import json
import linecache
import os
import resource
import select
import signal
import sys
import sysconfig
from types import FrameType, TracebackType
from typing import Any

NEW_USER, NEW_PROCESSES, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
MOST_BYTES = 65_536  # of one report
MOST_CHARACTERS = 2000  # of a result
MOST_FILES, MOST_PROCESSES = 64, 32
TOO_MANY_LINES = 77  # exit code
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events of sys.audit, by how their names begin, that no function has to cause.
FORBIDDEN = (
    *("ctypes.", "fcntl.", "ftplib.", "gc.", "http.", "imaplib.", "mmap.", "nntplib.", "os.chdir", "os.chflags", "os.chmod"),
    *(
        "os.chown",
        "os.exec",
        "os.fork",
        "os.kill",
        "os.link",
        "os.lockf",
        "os.mkdir",
        "os.posix_spawn",
        "os.putenv",
        "os.remove",
    ),
    *(
        "os.rename",
        "os.rmdir",
        "os.setxattr",
        "os.spawn",
        "os.startfile",
        "os.symlink",
        "os.system",
        "os.truncate",
        "os.unsetenv",
    ),
    *("os.utime", "poplib.", "pty.", "resource.", "shutil.", "signal.", "smtplib.", "socket.", "sqlite3.", "subprocess."),
    *("sys.addaudithook", "sys.setprofile", "sys.settrace", "syslog.", "telnetlib.", "tempfile.", "urllib.", "webbrowser."),
)
FORBIDDEN_IMPORTS = frozenset(("_ctypes", "_posixsubprocess", "_socket", "ctypes", "multiprocessing"))
LISTING = frozenset(("os.listdir", "os.scandir", "os.walk", "glob.glob"))


class Refused(PermissionError):
    """The sandbox does not allow it."""


class Guard:
    """The audit hook: refuses what is forbidden once it is armed, and remembers that it did."""

    def __init__(self, readable: tuple[str, ...]) -> None:
        self.readable = readable
        self.armed = False
        self.refused = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.armed and self._is_forbidden(event, arguments):
            self.refused = True
            if event == "sys.settrace":
                # The interpreter itself takes out a tracer in which the stack came to its end; it must not fail then.
                return
            if event == "import":
                raise ImportError(f"{arguments[0]} is not there")
            raise Refused(event)

    def _is_forbidden(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "import":
            return arguments[0] in FORBIDDEN_IMPORTS
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and bool(flags & WRITING)
            return writes or not self._is_readable(path)
        if event in LISTING:
            return not self._is_readable(arguments[0])
        return event.startswith(FORBIDDEN)

    def _is_readable(self, path: object) -> bool:
        if not isinstance(path, str | bytes):
            return path is None
        real = os.path.realpath(os.fsdecode(path))
        return any(real == root or real.startswith(root + os.sep) for root in self.readable)


def main() -> None:
    reports = os.dup(1)
    job = json.load(sys.stdin.buffer)
    _silence()
    _isolate()
    limits, root = job["limits"], os.path.realpath(job["root"])
    _limit(limits["memory_mb"])
    sys.path.insert(0, root)
    os.chdir(root)
    standard = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    guard = Guard((root, *standard, *(os.path.realpath(path) for path in sys.path if path)))
    _no_new_programs(guard)
    sys.addaudithook(guard)
    modules = {name: _imported(name, guard) for name in dict.fromkeys(one["module"] for one in job["functions"])}
    gc.freeze()
    for function in job["functions"]:
        module = modules[function["module"]]
        if isinstance(module, str):
            told = [{"status": "unimportable", "text": module}] * len(function["calls"])
        else:
            told = _reports(module, function, limits, guard)
        with os.fdopen(os.dup(reports), "wb") as out:
            out.writelines(json.dumps(report).encode() + b"\n" for report in told)


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.close(nothing)


def _isolate() -> None:
    """Where the system lets us, go where there is no network and no process but our own children, who end with us."""
    unshare: Any = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare is None or unshare(NEW_USER | NEW_PROCESSES | NEW_NETWORK) != 0:
        return
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0x7F)
    # The number of processes is limited by user, which is ours alone from here on.
    resource.setrlimit(resource.RLIMIT_NPROC, (MOST_PROCESSES, MOST_PROCESSES))


def _limit(memory_mb: int) -> None:
    pages = 0
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123
        pages = int(statm.read().split()[0])
    memory = pages * resource.getpagesize() + memory_mb * 1024 * 1024
    for name, most in (("AS", memory), ("FSIZE", 0), ("NOFILE", MOST_FILES), ("CORE", 0)):
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def _no_new_programs(guard: Guard) -> None:
    """The one way to start a program that tells no audit hook."""
    import _posixsubprocess  # pyright: ignore[reportMissingModuleSource]

    def refuse(*_: object) -> None:
        guard.refused = True
        raise Refused("fork_exec")

    _posixsubprocess.fork_exec = refuse  # pyright: ignore[reportAttributeAccessIssue]


def _imported(name: str, guard: Guard) -> Any:
    """The module; the name of what was raised where it cannot be imported."""
    guard.armed = True
    try:
        return importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - anything may come out of foreign code
        return type(error).__name__
    finally:
        guard.armed = False


def _reports(module: Any, function: dict[str, Any], limits: dict[str, Any], guard: Guard) -> list[dict[str, Any]]:
    """A report for each call. One child makes them, and the next one those after a call that ended it."""
    reports: list[dict[str, Any]] = []
    calls = function["calls"]
    while len(reports) < len(calls):
        told, failure = _in_child(module, function, calls[len(reports) :], limits, guard)
        reports += told[: len(calls) - len(reports)]
        if len(reports) < len(calls):
            reports.append({"status": failure})
    return reports


def _in_child(
    module: Any, function: dict[str, Any], calls: list[list[str]], limits: dict[str, Any], guard: Guard
) -> tuple[list[dict[str, Any]], str]:
    """What a child told of the calls, through a pipe of its own, and what ended it if it did not tell of all."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.closerange(3, writing)
        _tell(module, function, calls, limits, guard, writing)
    os.close(writing)
    told, on_time = _read(reading, 5 * limits["seconds"], len(calls))
    os.close(reading)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    slow = not on_time or os.waitstatus_to_exitcode(status) in (TOO_MANY_LINES, -signal.SIGPROF)
    reports: list[dict[str, Any]] = []
    with contextlib.suppress(ValueError, TypeError):
        reports.extend(dict(json.loads(line)) for line in told.split(b"\n")[:-1])
    return reports, "too_slow" if slow else "died"


def _read(pipe: int, seconds: float, calls: int) -> tuple[bytes, bool]:
    """What the child tells until it ends, and whether it never was silent for longer than so many seconds."""
    told = b""
    while len(told) <= MOST_BYTES * calls:
        ready, _, _ = select.select([pipe], [], [], seconds)
        if not ready:
            return told, False
        more = os.read(pipe, MOST_BYTES)
        if not more:
            break
        told += more
    return told, True


def _tell(
    module: Any, function: dict[str, Any], calls: list[list[str]], limits: dict[str, Any], guard: Guard, pipe: int
) -> None:
    """Make the calls, tell what came of each, and end the process. Never returns."""
    if function["source"]:
        # A changed function takes the place of the one in its module, in this child alone.
        exec(compile(function["source"], module.__file__, "exec"), module.__dict__)  # noqa: S102
    for arguments in calls:
        signal.setitimer(signal.ITIMER_PROF, limits["seconds"])
        report = _called(module, function["name"], arguments, limits["lines"], guard)
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.write(pipe, json.dumps(report).encode()[: MOST_BYTES - 1] + b"\n")
    os._exit(0)


def _called(module: Any, name: str, arguments: list[str], lines: int, guard: Guard) -> dict[str, Any]:
    values: list[Any] = []
    named: dict[str, Any] = {}
    for argument in arguments:
        keyword, equals, literal = argument.partition("=")
        if equals and keyword.isidentifier():
            named[keyword] = ast.literal_eval(literal)
        else:
            values.append(ast.literal_eval(argument))
    function = getattr(module, name)
    counter = _LineCounter(lines, module.__file__)
    sys.settrace(counter.enter)
    guard.armed, guard.refused = True, False
    try:
        report = _described(function(*values, **named))
    except BaseException as error:  # noqa: BLE001 - anything may come out of foreign code
        name = type(error).__name__
        guard.armed = False
        report = {"status": "raises", "text": name, "own": _is_raised_on_purpose(sys.exc_info()[2], module)}
    guard.armed = False
    sys.settrace(None)
    if guard.refused and report.get("text") != "RecursionError":
        return {"status": "refused"}
    return {**report, "lines": sorted(counter.seen)}


def _is_raised_on_purpose(last: TracebackType | None, module: Any) -> bool:
    """Whether a raise statement of the package has raised it, rather than an operation that its arguments do not allow."""
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    line = linecache.getline(last.tb_frame.f_code.co_filename, last.tb_lineno)
    return line.strip().startswith("raise ") and str(last.tb_frame.f_globals.get("__name__", "")).startswith(
        module.__name__.partition(".")[0]
    )


class _LineCounter:
    """Ends the process when a call runs too many lines, and knows which lines of the function's file it ran."""

    def __init__(self, most: int, file: str) -> None:
        self.seen: set[int] = set()
        self._left, self._file = most, file

    def enter(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._line

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self._left -= 1
            if self._left < 0:
                os._exit(TOO_MANY_LINES)
            if frame.f_code.co_filename == self._file:
                self.seen.add(frame.f_lineno)
        return self._line


def _described(result: object) -> dict[str, Any]:
    if not _is_literal(result, depth=6):
        return {"status": "no_literal"}
    try:
        text = repr(result)
    except ValueError:  # an integer of thousands of digits
        return {"status": "too_long"}
    return {"status": "returns", "text": text} if len(text) <= MOST_CHARACTERS else {"status": "too_long"}


def _is_literal(value: object, *, depth: int) -> bool:
    """Whether the value is written and read back the same, and has no order of its own making."""
    if value is None or type(value) in (bool, int, str, bytes):
        return True
    if type(value) is float:
        return value - value == 0  # neither infinite nor no number
    if depth and type(value) in (list, tuple) and len(value) <= MOST_CHARACTERS:  # pyright: ignore
        return all(_is_literal(one, depth=depth - 1) for one in value)  # pyright: ignore
    if depth and type(value) is dict and len(value) <= MOST_CHARACTERS:  # pyright: ignore
        return all(_is_literal(one, depth=depth - 1) for pair in value.items() for one in pair)  # pyright: ignore
    return False


if __name__ == "__main__":
    main()
