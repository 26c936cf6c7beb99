"""What goes wrong in a memory: errors that pass, how often a call is tried, what the sandbox refuses. Imports little."""

import asyncio
import errno
import re
import sysconfig
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

T = TypeVar("T")
WAITS = (1.0, 4.0)  # seconds before the second try of a call, and before the third
LONGEST_WAIT = 60.0  # seconds that a service may ask for
LOST_IN_A_ROW = 3  # calls; a memory that serves none in between is not there any more
PASSING_STATUSES = frozenset({408, 425, 429, *range(500, 600)} - {501, 505})
# Of libraries that others use: httpx, requests, aiohttp, openai, anthropic, grpc and botocore among them.
PASSING_NAMES = re.compile(
    r"Timeout|Connect(?:ion)?Error|RateLimit|Throttl|TooManyRequests|Unavailable|InternalServer|BadGateway|Overloaded"
    r"|RemoteProtocol|Disconnected|ReadError|WriteError|IncompleteRead|ChunkedEncoding"
)
PASSING_WORDS = re.compile(
    r"bad gateway|service unavailable|temporarily unavailable|too many requests|gateway time-?out|rate.?limit|timed out"
    r"|connection (?:was )?(?:reset|aborted|closed)|server disconnected|overloaded"
    r"|\b(?:http|status|code|error)\b\W{0,3}(?:code\W{1,2})?(?:429|50[0234]|529)\b",
    re.IGNORECASE,
)
NETWORK_NAMES = re.compile("Connect(?:ion)?Error|gaierror")
NETWORK_WORDS = re.compile(r"name resolution|network is unreachable|connection error|urlopen error|max retries", re.IGNORECASE)
FILE_WORDS = re.compile(r"unable to open database file|read-?only (?:database|file)|permission denied", re.IGNORECASE)
FRAME = re.compile(r'File "(?!<)(.+)", line (\d+), in ')
LIBRARIES = (sysconfig.get_path("stdlib"), str(Path(__file__).parents[1]))
VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
VARIABLE_WORDS = re.compile(r"environment variable|api_key", re.IGNORECASE)
OF_RIGHTS = {errno.EPERM, errno.EACCES}
OF_FILES = {*OF_RIGHTS, errno.EROFS, errno.ENOENT}
OF_NETWORKS = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EAFNOSUPPORT}

HINT_ON_NETWORK = "its process has no network; the setting network=true gives it one"
HINT_ON_FILES = (
    "its process reads its own folder, as by Path(__file__).parent, and writes only where `tempfile` makes files and folders"
)


class MemoryFailed(Exception):
    """A memory did not do what the contract asks. The message is one sentence; `trace` is the traceback, if there is one."""

    def __init__(self, sentence: str, *, trace: str = "") -> None:
        super().__init__(sentence)
        self.trace = trace


class CallLost(MemoryFailed):
    """A call failed at all of its tries, for a reason that may pass: the memory may serve the next one."""


class PassingFailure(MemoryFailed):
    """A try failed for a reason that may pass. `retry_after`: seconds that are asked for. `unreachable`: nobody listens."""

    def __init__(self, sentence: str, *, trace: str = "", retry_after: float = 0.0, unreachable: bool = False) -> None:
        super().__init__(sentence, trace=trace)
        self.retry_after = retry_after
        self.unreachable = unreachable


class CallCount(NamedTuple):
    """Calls that were made; of these, served when they were made again, and lost."""

    made: int = 1
    repeated: int = 0
    lost: int = 0


@dataclass
class Retries:
    """The tries of an item's calls of its memories: one more after each of the `waits` in seconds.

    `count` is told the method of a call and what became of it.
    """

    waits: Sequence[float] = WAITS
    count: Callable[[str, CallCount], None] = lambda method, count: None
    served: bool = False
    lost_in_a_row: int = 0

    async def call(self, method: str, work: Callable[[], Awaitable[T]]) -> T:
        """Return what the work gives. Raises CallLost after the last try, MemoryFailed where the memory serves no call."""
        waits = list(self.waits)
        while True:
            try:
                result = await work()
            except PassingFailure as failed:
                if not waits or (failed.unreachable and not self.served):
                    raise self._lose(method, failed) from failed
                await asyncio.sleep(max(waits.pop(0), min(failed.retry_after, LONGEST_WAIT)))
            else:
                self.served = True
                self.lost_in_a_row = 0
                self.count(method, CallCount(repeated=len(waits) < len(self.waits)))
                return result

    def of_parts(self) -> "Retries":
        """Return the tries of what a call consists of, such as requests; the call is counted where it is made."""

        def count_part(method: str, count: CallCount) -> None:
            self.count(method, count._replace(made=0))

        return Retries(self.waits, count_part)

    def _lose(self, method: str, failed: PassingFailure) -> MemoryFailed:
        self.count(method, CallCount(lost=1))
        self.lost_in_a_row += 1
        gone = not self.served or self.lost_in_a_row >= LOST_IN_A_ROW
        return (MemoryFailed if gone else CallLost)(str(failed), trace=failed.trace)


def place_in(trace: str) -> str:
    """Return where code of others raised what the trace tells, as ` (mine.py, line 3)`; "" where the trace has no such line."""
    frames = [frame for frame in FRAME.findall(trace) if not frame[0].startswith(LIBRARIES) or "-packages/" in frame[0]]
    own = [frame for frame in frames if "-packages/" not in frame[0]] or frames
    return f" ({Path(own[-1][0]).name}, line {own[-1][1]})" if own else ""


def may_pass(error: BaseException) -> bool:
    """Return True for an error of others' code that may pass: a dropped line, a timeout, 429 or 5xx of whom it asks."""
    for cause in _causes(error):
        status = _status_of(cause)
        if status is not None:
            return status in PASSING_STATUSES
        if isinstance(cause, ConnectionError | TimeoutError) or PASSING_NAMES.search(type(cause).__name__):
            return True
    return PASSING_WORDS.search(_words_of(error)) is not None


def sandbox_hint(error: BaseException, *, network: bool) -> str:
    """Return what to do where the sandbox, and no fault of the memory, is what an error comes from; else "".

    `network`: the memory has one.
    """
    words = " ".join(map(_words_of, _causes(error)))
    for cause in _causes(error):
        number = cause.errno if isinstance(cause, OSError) else None
        of_a_file = getattr(cause, "filename", None) is not None
        unconnected = NETWORK_NAMES.search(type(cause).__name__)
        if not network and (unconnected or number in OF_NETWORKS or (number in OF_RIGHTS and not of_a_file)):
            return HINT_ON_NETWORK
        if of_a_file and number in OF_FILES:
            return HINT_ON_FILES
        if isinstance(cause, KeyError) and VARIABLE.fullmatch(str(cause.args[0] if cause.args else "")):
            return _hint_on_variables(str(cause.args[0]))
    if FILE_WORDS.search(words):
        return HINT_ON_FILES
    if VARIABLE_WORDS.search(words) and _status_of(error) is None:
        named = VARIABLE.search(words)
        return _hint_on_variables(named[0] if named else "MY_KEY")
    return HINT_ON_NETWORK if NETWORK_WORDS.search(words) and not network else ""


def with_hint(sentence: str, hint: str) -> str:
    """Return the sentence, followed by what to do where it is the sandbox that refuses something."""
    return f"{sentence.rstrip('.')}. That was the sandbox: {hint}." if hint else sentence


def _hint_on_variables(name: str) -> str:
    return f"its process has no variables of the environment; give the class a parameter, and the setting api_key: ${name}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and what it came from, none twice."""
    seen = set[int]()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _status_of(error: BaseException) -> int | None:
    """Return the HTTP status that an error of a client library names; None for an error of another kind."""
    for holder in (error, _attribute(error, "response")):
        for name in ("status_code", "status", "code"):
            status = _attribute(holder, name)
            if type(status) is int and 400 <= status < 600:
                return status
    return None


def _attribute(holder: object, name: str) -> object:
    try:
        return cast(object, getattr(holder, name, None))
    except Exception:  # noqa: BLE001 - it is of foreign code, which may raise anything
        return None


def _words_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - as above
        return ""
