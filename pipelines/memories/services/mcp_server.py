"""MCP servers, at an address or as a command, and a session with one: a memory has one for its life."""

import asyncio
import logging
import shlex
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from pathlib import Path
from string import Template
from typing import Any, Protocol, cast

import httpx2
from pydantic import ValidationError

from pipelines.errors import EvaluationError
from pipelines.memories.failures import PASSING_WORDS, CallLost, MemoryFailed, PassingFailure, Retries
from pipelines.memories.services.http_service import (
    CALLED,
    ServiceClient,
    ServiceConnection,
)
from pipelines.memories.settings import from_environment, refuse_secrets
from pipelines.redaction import Redactor, shareable

TIMEOUT = httpx2.Timeout(30.0, read=300.0)  # as the package's own client: it holds a stream of events open
ENVIRONMENT_TOLD = "give a line NAME=VALUE for each, as in MEMORY_FILE_PATH={folder}/memory.jsonl or API_KEY=$MY_KEY"
MOST_PAGES = 20  # of a server's list of tools
# Codes of JSON-RPC errors that stand for a request without an answer: an error of the client itself would end its session.
LOST, FAILED = -32098, -32099
QUOTED = 60  # characters of a line that is no message
LOG = logging.getLogger(__name__)
READ: ContextVar["StdioServer | None"] = ContextVar("READ", default=None)  # the server whose lines are read
TOLD = set[str]()  # servers whose lines were told of


def command_words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise EvaluationError(f"The memory's command cannot be taken apart as a shell would: {error}.") from error
    if not words:
        raise EvaluationError("The memory's command is empty; give a program and its arguments.")
    return words


def environment_templates(lines: str) -> dict[str, Template]:
    """Each variable's value by its name. Raises EvaluationError for one that would put a secret into files."""
    found = dict[str, Template]()
    for line in filter(None, map(str.strip, lines.splitlines())):
        name, equals, value = line.partition("=")
        template = Template(value)
        if not equals or not name.isidentifier() or not template.is_valid():
            raise EvaluationError(f"A line of the memory's setting `environment` cannot be used; {ENVIRONMENT_TOLD}.")
        refuse_secrets({name: value}, where="The memory's setting `environment`")
        found[name] = template
    return found


class McpServer(Protocol):
    """The way to a server. `shown`: its name in messages, from which `redactor` takes out what is secret."""

    shown: str
    redactor: Redactor

    def connect(self) -> AbstractAsyncContextManager[Any]:
        """A client of the package mcp, for as long as the context lasts."""
        ...

    def last_words(self) -> str:
        """What the server said last of itself; "" where nobody knows."""
        ...


class SessionClient(ServiceClient):
    """The client of a session, which a request without an answer does not end: it is answered by an error that says so."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            return await super().send(request, **options)
        except MemoryFailed as failed:
            error = {"code": LOST if isinstance(failed, CallLost) else FAILED, "message": str(failed)}
            return httpx2.Response(503, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)


class HttpServer:
    """A server at an address, over streamable HTTP. `retries`: of its requests, which are part of calls that are counted."""

    def __init__(self, connection: ServiceConnection, retries: Retries) -> None:
        self.connection = connection
        self.retries = retries
        self.shown = connection.shown
        self.redactor = connection.redactor

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[Any]:
        transports = _of_package("mcp.client.streamable_http")
        async with SessionClient(self.connection, self.retries, timeout=TIMEOUT) as http:
            transport = transports.streamable_http_client(self.connection.url, http_client=http)
            async with _of_package("mcp").Client(transport) as client:
                yield client

    def last_words(self) -> str:
        return ""


class StdioServer:
    """A server that is a command: a process for each memory, with an empty folder that goes with it."""

    def __init__(self, command: str, *, environment: str) -> None:
        self.words = command_words(command)
        self.shown = shareable(command)
        self.environment = dict[str, str]()
        hidden = list[str]()
        for name, template in environment_templates(environment).items():
            self.environment[name] = from_environment(template, what=f"The variable {name} of the memory's server")
            if template.get_identifiers():
                hidden.append(self.environment[name])
        self.redactor = Redactor(*hidden)
        self._stderr: Path | None = None
        self._said = ""

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[Any]:
        mcp = _of_package("mcp")
        with tempfile.TemporaryDirectory(prefix="amemgym-mcp-", ignore_cleanup_errors=True) as folder:
            program, *arguments = [word.replace("{folder}", folder) for word in self.words]
            environment = {name: value.replace("{folder}", folder) for name, value in self.environment.items()}
            server = mcp.StdioServerParameters(command=program, args=arguments, env=environment)
            READ.set(self)
            logging.getLogger("mcp.client.stdio").addFilter(_told_once)
            self._stderr = Path(folder) / "stderr.txt"
            try:
                # What it prints is no part of our own output.
                with self._stderr.open("w", encoding="utf-8") as stderr:
                    async with mcp.Client(mcp.stdio_client(server, errlog=stderr)) as client:
                        yield client
            finally:
                self._said = self.last_words()
                self._stderr = None

    def last_words(self) -> str:
        if self._stderr is None:
            return self._said
        lines = self._stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _told_once(record: logging.LogRecord) -> bool:
    """Return False for the package's traceback of a line that is no message; one sentence tells of the first of a server."""
    server = READ.get()
    error = record.exc_info[1] if record.exc_info else None
    if server is None or not isinstance(error, ValidationError):
        return True
    if server.shown not in TOLD:
        TOLD.add(server.shown)
        line = server.redactor.clean(str(error.errors()[0]["input"]))[:QUOTED]
        LOG.warning(
            f"The MCP server {server.shown} writes lines to its standard output that are no messages, such as {line!r}: they "
            "are passed over. Let it write them to its standard error."
        )
    return False


def _of_package(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MemoryFailed(
            "A memory over MCP needs the package mcp (2.3 or later); install it with: .venv/bin/pip install -e '.[mcp]'"
        ) from error


class McpSession:
    """One session with a server, from the first call to the end of its memory.

    It is opened and closed in a task of its own, because a client has to be left where it was entered.
    """

    def __init__(self, server: McpServer, tools: Sequence[str], retries: Retries) -> None:
        self._server = server
        self._tools = tools
        self._retries = retries
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._client: asyncio.Future[Any] | None = None
        self._over = asyncio.Event()

    async def call(self, method: str, tool: str, arguments: Mapping[str, object]) -> Any:
        """The result of a tool, for a method of the memory. Raises MemoryFailed, and CallLost."""
        CALLED.set(method)
        return await self._retries.call(method, partial(self._call_once, tool, arguments))

    async def _call_once(self, tool: str, arguments: Mapping[str, object]) -> Any:
        if self._client is None:
            self._loop = asyncio.get_running_loop()
            self._client = self._loop.create_future()
            self._task = self._loop.create_task(self._keep_open(self._client))
        # A call that is cancelled leaves the session open for others.
        client = await asyncio.shield(self._client)
        try:
            result = await client.call_tool(tool, dict(arguments))
        except Exception as error:  # noqa: BLE001 - its tasks raise groups of whatever came up in them
            raise self._failure(error, f"The tool {tool!r} of {self._server.shown} cannot be called") from None
        if result.is_error:
            words = self._server.redactor.clean(" ".join(text_parts(result)))
            failed = PassingFailure if PASSING_WORDS.search(words) else MemoryFailed
            raise failed(f"The tool {tool!r} of {self._server.shown} failed: {words}")
        return result

    async def _keep_open(self, client: "asyncio.Future[Any]") -> None:
        problem: MemoryFailed | None = None
        try:
            async with self._server.connect() as connected:
                await self._check_tools(connected)
                client.set_result(connected)
                await self._over.wait()
        except MemoryFailed as error:
            problem = error
        except Exception as error:  # noqa: BLE001 - as above
            problem = self._failure(error, f"The MCP server {self._server.shown} cannot be used")
        finally:
            if isinstance(problem, CallLost):
                self._client = None  # the next call opens another one
            # Cancelled with the loop where there is no problem; whoever waits is, too.
            if problem and not client.done():
                client.set_exception(problem)
            client.cancel()

    async def _check_tools(self, client: Any) -> None:
        """Raise MemoryFailed where the server has not the tools that are named, with those that it has."""
        there = list[str]()
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            there += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        for name in self._tools:
            if name not in there:
                known = ", ".join(there) or "none"
                raise MemoryFailed(
                    f"The MCP server {self._server.shown} has no tool {name!r}; it has {known}. Say in a YAML file which one "
                    "writes and which one recalls, by `write_tool` and `recall_tool`, with their arguments."
                )

    def _failure(self, error: BaseException, what: str) -> MemoryFailed:
        """Return the failure that an error of the package stands for; `what` begins the sentence of any other."""
        first = _first(error)
        if isinstance(first, MemoryFailed):
            return first
        code = getattr(getattr(first, "error", None), "code", None)
        if code in (LOST, FAILED):
            return (CallLost if code == LOST else MemoryFailed)(cast(Any, first).error.message)
        said = self._server.last_words()
        words = f"{type(first).__name__}: {first}"
        return MemoryFailed(f"{what}: {self._server.redactor.clean(f'{words}; it said: {said}' if said else words)}")

    def end(self) -> None:
        """Let the session end, from any thread."""
        if self._loop is not None:
            # The loop is closed where the run has ended meanwhile, and the session with it.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._over.set)

    async def close(self) -> None:
        """End the session, and wait until it has ended, a server's process too."""
        self._over.set()
        if self._task is not None:
            await asyncio.wait([self._task])


def text_parts(result: Any) -> Iterator[str]:
    for part in result.content:
        if part.type == "text":
            yield part.text


def _first(error: BaseException) -> BaseException:
    """The first error of a group that is none itself."""
    while isinstance(error, BaseExceptionGroup):
        error = cast(BaseExceptionGroup[BaseException], error).exceptions[0]
    return error
