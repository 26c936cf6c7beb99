"""The program that makes calls inside the boundary: a sealed child for each function imports its module, and calls it.

An interpreter that has the standard library alone runs it, and it imports nothing of this project. The job is JSON: `root`,
`limits`, and `functions`, each with module, name, source if it is changed, and `calls`, which are lists of arguments. It
answers a line of JSON for each call.

The system keeps the code in (`assets/isolation/`). What stands here decides what is a behaviour: a budget of lines, after
which a call is too slow on any machine, and an audit hook for what reaches outside of the function. What it refused is no
behaviour, even where the function went on.
"""

import ast
import gc
import importlib
import importlib.machinery
import json
import linecache
import os
import signal
import sys
import sysconfig
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it runs where this project is not to be seen
    from assets.isolation.confine import Boundary, Tell

MOST_CHARACTERS = 2000  # of a result
MOST_MESSAGE = 200  # characters of an exception's message
MOST_TRACED = 12  # lines of a traceback, two for each frame
TOO_MANY_LINES = 77  # exit code
IMPORTED = b"imported"
# On a machine that has other things to do, a call may wait for so many times its processing time, and an import for more.
SLOW = 5
SLOW_IMPORT = 10
# Packages of the standard library of which a module may be imported ahead; one of another may do something when it is.
WARMED_PACKAGES = frozenset(("collections", "email", "html", "importlib", "json", "logging", "urllib", "xml"))
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events of sys.audit, by how their names begin, that no function has to cause.
FORBIDDEN_EVENTS = """
ctypes. fcntl. ftplib. gc. http. imaplib. mmap. nntplib. os.chdir os.chflags os.chmod os.chown os.exec os.fork
os.kill os.link os.lockf os.mkdir os.posix_spawn os.putenv os.remove os.rename os.rmdir os.setxattr os.spawn
os.startfile os.symlink os.system os.truncate os.unsetenv os.utime poplib. pty. resource. shutil. signal. smtplib.
socket. sqlite3. subprocess. sys.addaudithook sys.setprofile sys.settrace syslog. telnetlib. tempfile. urllib.
webbrowser.
"""
FORBIDDEN = tuple(FORBIDDEN_EVENTS.split())
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


def main(boundary: "Boundary") -> None:
    job = boundary.job
    root = os.path.realpath(job["root"])
    readable = [root, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *filter(None, sys.path)]
    guard = Guard(tuple(map(os.path.realpath, readable)))
    _no_new_programs(guard)
    sys.addaudithook(guard)
    _prepare(root, _files_that_compile(root, boundary, job["limits"]), guard)
    os.chdir(root)
    sys.path.insert(0, root)
    gc.freeze()
    worker = _Worker(boundary, job["limits"], guard)
    for function in job["functions"]:
        for report in worker.reports(function):
            boundary.answer(json.dumps(report).encode())


def _files_that_compile(root: str, boundary: "Boundary", limits: dict[str, Any]) -> list[str]:
    """Return the files that a sealed child could compile within its limits: a few lines may take gigabytes to compile."""
    due = [os.path.join(folder, file) for folder, _, files in os.walk(root) for file in sorted(files)]  # noqa: PTH118
    found: list[str] = []

    def compile_files(tell: "Tell") -> None:
        for path in due:
            tell(b"1" if _compile_file(path) else b"0")

    silent = (limits["seconds"] * SLOW_IMPORT, limits["seconds"] * SLOW_IMPORT)
    while due:
        seconds = silent[0] * len(due)
        memory = limits["memory_mb"]
        told = boundary.run(compile_files, most_lines=len(due), memory_mb=memory, silent=silent, seconds=seconds).lines
        found += [path for path, line in zip(due, told, strict=False) if line == b"1"]
        # One that ended the child is left out; whoever imports it is told.
        due = due[len(told) + 1 :]
    return found


def _compile_file(path: str) -> tuple[ast.Module, CodeType] | None:
    """Return a file of the package as a tree and as code; None for one that is no Python, or takes too much."""
    try:
        with open(path, encoding="utf-8") as opened:  # noqa: PTH123 - pathlib takes a while to import
            tree = ast.parse(opened.read())
        return tree, compile(tree, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _prepare(root: str, files: list[str], guard: Guard) -> None:
    """Compile these files once, and import what they take of the standard library, for all children. None of them is run."""
    compiled: dict[str, CodeType] = {}
    wanted: dict[str, None] = {}
    for path in files:
        both = _compile_file(path)
        if both is not None:
            compiled[path] = both[1]
            wanted.update(dict.fromkeys(_imported_names(both[0])))
    for name in wanted:
        top, dot, _ = name.partition(".")
        if top in (WARMED_PACKAGES if dot else sys.stdlib_module_names - {"antigravity"}):
            _import_module(name, guard)

    class Loader(importlib.machinery.SourceFileLoader):
        def get_code(self, fullname: str) -> CodeType | None:
            return compiled.get(self.path) or super().get_code(fullname)

    def finder(path: str) -> Any:
        if path != root and not path.startswith(root + os.sep):
            raise ImportError(path)
        return importlib.machinery.FileFinder(path, (Loader, importlib.machinery.SOURCE_SUFFIXES))

    sys.path_hooks.insert(0, finder)


def _imported_names(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return names


class _Worker:
    """Makes the calls of functions, each in a child of its own, which imports the function's module first."""

    def __init__(self, boundary: "Boundary", limits: dict[str, Any], guard: Guard) -> None:
        self._boundary = boundary
        self._limits = limits
        self._guard = guard
        self._failures: dict[str, dict[str, Any]] = {}  # of modules that cannot be imported

    def reports(self, function: dict[str, Any]) -> list[dict[str, Any]]:
        """A report for each call. One child makes them, and the next one those after a call that ended it."""
        module = function["module"]
        calls = function["calls"]
        reports: list[dict[str, Any]] = []
        while len(reports) < len(calls):
            if module in self._failures:
                reports.append(self._failures[module])
            else:
                reports += self._in_child(function, calls[len(reports) :])
        return reports

    def _in_child(self, function: dict[str, Any], calls: list[list[str]]) -> list[dict[str, Any]]:
        """Return what a child told of the calls, and of the one that ended it if it did not tell of all."""

        def work(tell: "Tell") -> None:
            _tell_calls(function, calls, self._limits, self._guard, tell)

        silent = (self._limits["seconds"] * SLOW_IMPORT, self._limits["seconds"] * SLOW)
        outcome = self._boundary.run(
            work,
            most_lines=1 + len(calls),
            memory_mb=self._limits["memory_mb"],
            silent=silent,
            seconds=silent[0] + silent[1] * len(calls),
        )
        first, *told = outcome.lines or [b""]
        if first != IMPORTED:
            name = first.decode(errors="replace")
            self._failures[function["module"]] = {"status": "unimportable", "text": name} if name else {"status": "died"}
            return []
        reports = [_report(line) for line in told]
        if len(reports) < len(calls):
            slow = not outcome.on_time or outcome.exit_code in (TOO_MANY_LINES, -signal.SIGPROF)
            reports.append({"status": "too_slow" if slow else "died"})
        return reports


def _report(line: bytes) -> dict[str, Any]:
    """A report as the child wrote it, which is checked where it is read."""
    try:
        status, own, text, trace, *lines = line.decode("ascii").split(",")
        report = {"status": status, "own": own == "1", "text": bytes.fromhex(text).decode()}
        return {**report, "traceback": bytes.fromhex(trace).decode(), "lines": [int(number) for number in lines]}
    except ValueError:
        return {"status": "died"}


def _no_new_programs(guard: Guard) -> None:
    """The one way to start a program that tells no audit hook."""
    import _posixsubprocess  # pyright: ignore[reportMissingModuleSource]

    def refuse(*_: object) -> None:
        guard.refused = True
        raise Refused("fork_exec")

    _posixsubprocess.fork_exec = refuse  # pyright: ignore[reportAttributeAccessIssue]


def _import_module(name: str, guard: Guard) -> Any:
    """The module; the name of what was raised where it cannot be imported."""
    guard.armed = True
    try:
        return importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - anything may come out of foreign code
        return type(error).__name__
    finally:
        guard.armed = False


def _tell_calls(function: dict[str, Any], calls: list[list[str]], limits: dict[str, Any], guard: Guard, tell: "Tell") -> None:
    """Import the module, make the calls, and tell what came of each."""
    prepared = [_arguments(literals) for literals in calls]  # before foreign code can change how literals are read
    module = _import_module(function["module"], guard)
    if isinstance(module, str):
        tell(module.encode())
        return
    tell(IMPORTED)
    if function["source"]:
        # A changed function takes the place of the one in its module, in this child alone.
        exec(compile(function["source"], module.__file__, "exec"), module.__dict__)  # noqa: S102
    for arguments in prepared:
        signal.setitimer(signal.ITIMER_PROF, limits["seconds"])
        report = _make_call(module, function["name"], arguments, limits["lines"], guard)
        signal.setitimer(signal.ITIMER_PROF, 0)
        # Methods of plain values and no function of a module, which foreign code may have changed.
        texts = (report.get(name, "").encode(errors="replace").hex() for name in ("text", "traceback"))
        fields = (report["status"], f"{report.get('own', False):d}", *texts)
        tell(",".join((*fields, *(f"{line}" for line in report.get("lines", ())))).encode())


def _arguments(literals: list[str]) -> tuple[list[Any], dict[str, Any]]:
    """The values of literals, and of those that are written name=literal by name."""
    values: list[Any] = []
    named: dict[str, Any] = {}
    for argument in literals:
        keyword, equals, literal = argument.partition("=")
        if equals and keyword.isidentifier():
            named[keyword] = ast.literal_eval(literal)
        else:
            values.append(ast.literal_eval(argument))
    return values, named


def _make_call(module: Any, name: str, arguments: tuple[list[Any], dict[str, Any]], lines: int, guard: Guard) -> dict[str, Any]:
    values, named = arguments
    function = getattr(module, name)
    counter = _LineCounter(lines, module.__file__)
    sys.settrace(counter.enter)
    guard.armed = True
    guard.refused = False
    try:
        report = _describe_result(function(*values, **named))
    except BaseException as error:  # noqa: BLE001 - anything may come out of foreign code
        guard.armed = False
        sys.settrace(None)  # or lines of the standard library that looks for a raise statement count
        last = sys.exc_info()[2]
        report = {"status": "raises", "text": type(error).__name__, "own": _is_raised_on_purpose(last, module)}
        if report["own"]:
            report["traceback"] = _traceback(error, last)
    guard.armed = False
    sys.settrace(None)
    if guard.refused and report.get("text") != "RecursionError":
        return {"status": "refused"}
    return {**report, "lines": sorted(counter.seen)}


def _is_raised_on_purpose(last: TracebackType | None, module: Any) -> bool:
    """Return True where a raise statement of the package has raised it, not an operation that its arguments do not allow."""
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    line = linecache.getline(last.tb_frame.f_code.co_filename, last.tb_lineno)
    if not line.strip().startswith("raise "):
        return False
    package = module.__name__.partition(".")[0]
    return str(last.tb_frame.f_globals.get("__name__", "")).startswith(package)


def _traceback(error: BaseException, last: TracebackType | None) -> str:
    """Return the traceback as an interpreter prints it, of the package's own frames, with paths inside the package."""
    root = os.getcwd() + os.sep  # noqa: PTH109 - pathlib takes a while to import; it is the package's folder
    lines: list[str] = []
    while last is not None:
        path = last.tb_frame.f_code.co_filename
        if path.startswith(root):
            lines.append(f'  File "{path[len(root) :]}", line {last.tb_lineno}, in {last.tb_frame.f_code.co_name}')
            lines.append(f"    {linecache.getline(path, last.tb_lineno).strip()}")
        last = last.tb_next
    try:
        message = str(error).partition("\n")[0]
    except Exception:  # noqa: BLE001 - foreign code writes the message
        message = ""
    name = type(error).__name__
    end = f"{name}: {message[:MOST_MESSAGE]}" if message else name
    return "\n".join(("Traceback (most recent call last):", *lines[-MOST_TRACED:], end))


class _LineCounter:
    """Ends the process when a call runs too many lines, and knows which lines of the function's file it ran."""

    def __init__(self, most: int, file: str) -> None:
        self.seen: set[int] = set()
        self._left = most
        self._file = file

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


def _describe_result(result: object) -> dict[str, Any]:
    if not _is_literal(result, depth=6):
        return {"status": "no_literal"}
    try:
        text = repr(result)
    except ValueError:  # an integer of thousands of digits
        return {"status": "too_long"}
    if len(text) > MOST_CHARACTERS:
        return {"status": "too_long"}
    return {"status": "returns", "text": text}


def _is_literal(value: object, *, depth: int) -> bool:
    """Return True for a value that is written and read back the same, and has no order of its own making."""
    if value is None or type(value) in (bool, int, str, bytes):
        return True
    if type(value) is float:
        return value - value == 0  # neither infinite nor no number
    if depth and type(value) in (list, tuple) and len(value) <= MOST_CHARACTERS:  # pyright: ignore
        return all(_is_literal(item, depth=depth - 1) for item in value)  # pyright: ignore
    if depth and type(value) is dict and len(value) <= MOST_CHARACTERS:  # pyright: ignore
        return all(_is_literal(item, depth=depth - 1) for item in (*value.keys(), *value.values()))  # pyright: ignore
    return False
