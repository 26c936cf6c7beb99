"""Memories that are services over HTTP, with two routes, and the addresses and headers of all services.

A service keeps sessions apart by the id that comes with every request. It may fork a session itself; one that does not is
written anew into a fresh session for every copy, so that no copy can see what comes later. A request that gets no answer, or
one that may pass, is sent again; a write has an id, by which a service knows one that it has already.

What a service asks of its clients is in environment variables: `Authorization: Bearer $MY_KEY` is a line of the setting
`headers`, or stands behind the address as `#Authorization=Bearer $MY_KEY`. `$MY_URL` alone is an address that is secret itself.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from copy import copy
from functools import partial
from string import Template
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from assets.records.limits import MB
from pipelines.bounded_http import BodyTooLarge, BoundedAsyncClient
from pipelines.errors import EvaluationError
from pipelines.memories.contract import MemoryEvent, MemorySpec, Setting
from pipelines.memories.failures import PASSING_STATUSES, MemoryFailed, PassingFailure, Retries
from pipelines.memories.settings import from_environment
from pipelines.network_route import NetworkRoute, NoRoute
from pipelines.redaction import Redactor, can_be_taken_apart, login_of, public_address, secrets_of

MOST_BYTES = 16 * MB  # of what one recall gives back
CALLED: ContextVar[str] = ContextVar("CALLED", default="other")  # the method of the memory that a request is sent for
HEADER_NAME = re.compile(r"[A-Za-z0-9-]+")
HEADERS_TOLD = "give each as NAME: VALUE with a variable of the environment in it, as in Authorization: Bearer $MY_KEY"


def service_spec(kind: str, address: str, *, name: str = "", settings: Mapping[str, Setting] | None = None) -> MemorySpec:
    """The memory behind an address: only what everybody may read of the address is part of its settings.

    Raises EvaluationError for an address or headers that cannot be used, without repeating them.
    """
    plain, _, fragment = address.partition("#")
    if plain.startswith("$"):
        shown = plain
    elif can_be_taken_apart(plain):
        shown = public_address(plain).rstrip("/")
    else:
        raise EvaluationError(
            "The address of the memory does not say for sure what its host is; give one as in http://host:8000/path, and in a "
            "password write %40 for @ and %2F for /."
        )
    headers = "\n".join(f"{header}: {value}" for header, value in parse_qsl(fragment))
    given = {**(settings or {}), "address": shown, **({"headers": headers} if headers else {})}
    if fragment and not headers:
        raise EvaluationError(f"The text after # in the memory's address holds no headers; {HEADERS_TOLD}.")
    _header_templates(str(given.get("headers") or ""))
    return MemorySpec(name=name or urlsplit(shown).netloc or kind, kind=kind, settings=given, location=plain)


def located_service(spec: MemorySpec) -> MemorySpec:
    """Return the service of a file, whose whole address is in no file. Raises EvaluationError."""
    address = spec.settings.get("address")
    if not isinstance(address, str):
        return spec
    found = service_spec(spec.kind, address, name=spec.name, settings=spec.settings)
    return found.model_copy(update={"whole": spec.whole})


def _header_templates(headers: str) -> dict[str, Template]:
    """Each header's value by its name. Raises EvaluationError for one that names no variable: it would stand in files."""
    found: dict[str, Template] = {}
    for line in filter(None, map(str.strip, headers.splitlines())):
        name, colon, value = line.partition(":")
        template = Template(value.strip())
        if not colon or not HEADER_NAME.fullmatch(name) or not template.is_valid() or not template.get_identifiers():
            raise EvaluationError(f"One of the memory's headers cannot be used; {HEADERS_TOLD}.")
        found[name] = template
    return found


class ServiceConnection:
    """The way to a service: its address, what goes with every request, and what messages may say of both."""

    def __init__(self, address: str, *, headers: str) -> None:
        whole = from_environment(Template(address), what="The memory's address") if address.startswith("$") else address
        if not can_be_taken_apart(whole):
            where = address if address.startswith("$") else "the memory's settings"
            raise MemoryFailed(f"The address in {where} is none; give one as in http://host:8000/path.")
        self.shown = address if address.startswith("$") else public_address(address).rstrip("/")
        self.url = public_address(whole).rstrip("/")
        self.route = NetworkRoute.to(self.url)
        self.query = dict(parse_qsl(urlsplit(whole).query, keep_blank_values=True))
        self.login = login_of(whole)
        self.headers = dict[str, str]()
        for name, template in _header_templates(headers).items():
            self.headers[name] = from_environment(template, what=f"The header {name} of the memory")
        if self.login and any(name.lower() == "authorization" for name in self.headers):
            raise MemoryFailed(
                f"The address {self.shown} holds a user or password, and its headers hold Authorization, and a request has "
                "room for one of them; take the other out."
            )
        hidden = [*secrets_of(whole), *self.route.secrets]
        for value in self.headers.values():
            # A message may hold the key without the word Bearer before it.
            hidden += [value, value.rpartition(" ")[2]]
        if address.startswith("$"):
            hidden.append(self.url.partition("://")[2])
        self.redactor = Redactor(*hidden)

    def client_options(self, timeout: httpx2.Timeout) -> dict[str, Any]:
        """Return what goes with every request. Raises MemoryFailed where the environment leads nowhere."""
        try:
            options = self.route.client_options()
        except NoRoute as error:
            raise MemoryFailed(f"The memory service at {self.shown} cannot be asked. {error}") from error
        login = httpx2.BasicAuth(*self.login) if self.login else None
        return {"headers": self.headers, "auth": login, "params": self.query or None, "timeout": timeout, **options}

    def failure(self, error: Exception, *, at: str) -> MemoryFailed:
        """Return the failure of a request that got no answer: what was in its way, and what to do."""
        obstacle = self.route.obstacle(error, setting="the memory's address")
        unreachable = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
        problem = f"does not answer ({type(error).__name__}); is it running?"
        if obstacle is not None:
            problem = self.redactor.hide(f"{obstacle.problem}; {obstacle.remedy}")
        passing = obstacle.passing if obstacle is not None else isinstance(error, httpx2.TransportError)
        if not passing:
            return MemoryFailed(f"The memory service at {at} {problem}")
        return PassingFailure(f"The memory service at {at} {problem}", unreachable=unreachable)


class ServiceClient(BoundedAsyncClient):
    """A client that sends a request again where no answer comes, or one that may pass. Raises MemoryFailed, and CallLost."""

    def __init__(self, connection: ServiceConnection, retries: Retries, *, timeout: httpx2.Timeout) -> None:
        super().__init__(most_bytes=MOST_BYTES, **connection.client_options(timeout))
        self._connection = connection
        self._retries = retries

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request, and read its answer unless that is a stream."""
        if request.method != "POST":
            return await super().send(request, **options)
        return await self._retries.call(CALLED.get(), partial(self._send_once, request, **options))

    async def _send_once(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        at = self._connection.shown + request.url.path.removeprefix(httpx2.URL(self._connection.url).path.rstrip("/"))
        try:
            response = await super().send(request, **options)
            if response.status_code not in PASSING_STATUSES:
                return response
            words = (response if response.is_closed else await self._read(response)).text
        except BodyTooLarge as error:
            raise MemoryFailed(f"The memory service {error} at {at}; let it give back less.") from error
        except httpx2.HTTPError as error:
            raise self._connection.failure(error, at=at) from error
        asked = response.headers.get("retry-after", "")
        raise PassingFailure(
            f"The memory service answered {response.status_code} at {at}: {self._connection.redactor.clean(words)}",
            retry_after=float(asked) if asked.isdecimal() else 0.0,
        )


class RecallReply(BaseModel):
    """What a service gives back for a query, the best first."""

    texts: list[str]


def event_json(event: MemoryEvent) -> dict[str, str]:
    """An event as services get it; `at` is ISO, or empty."""
    return {"text": event.text, "kind": event.kind, "at": event.at.isoformat() if event.at else "", "source": event.source}


class HttpMemory:
    """A service with the routes `write` and `recall`, and perhaps `fork`, `settle` and `forget`, below its address.

    POST write {"session", "id", "events": [{"text", "kind", "at", "source"}]}, where one that comes again has the same id;
    POST recall {"session", "query", "tokens"} gives {"texts": [...]}; POST fork {"session", "into"} copies a session, and
    answers 404 or 405 where the service cannot; POST settle {"session"} answers when all that was written to the session can be
    recalled, and POST forget {"session", "id", "event"} when that request was followed; both may be missing likewise, and the
    request is written then. Nothing is asked of a session before it was written to.
    """

    @classmethod
    def spec_at(cls, address: str) -> MemorySpec | None:
        return service_spec("http", address) if "://" in address else None

    @classmethod
    def locate(cls, spec: MemorySpec) -> MemorySpec:
        return located_service(spec)

    def __init__(self, retries: Retries | None = None, *, address: str, headers: str = "", seconds: float = 120.0) -> None:
        self.connection = ServiceConnection(address, headers=headers)
        self.session = secrets.token_hex(12)  # a service may outlive the run, and must never meet an id again
        self.changes = 0
        # Copies share these.
        self.client = ServiceClient(self.connection, retries or Retries(), timeout=httpx2.Timeout(seconds))
        self.missing = set[str]()  # routes

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        await self._post("write", {**self._next_change(), "events": list(map(event_json, events))})

    def _next_change(self) -> dict[str, str]:
        self.changes += 1
        return {"session": self.session, "id": f"{self.session}-{self.changes}"}

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        if not self.changes:
            return []
        reply = await self._post("recall", {"session": self.session, "query": query, "tokens": tokens})
        try:
            return RecallReply.model_validate_json(reply.content).texts
        except ValidationError as error:
            raise MemoryFailed(f'{self.connection.shown}/recall answered something else than {{"texts": [...]}}.') from error

    async def forget(self, request: MemoryEvent) -> bool:
        """Return False where the service cannot."""
        if "forget" in self.missing:
            return False
        reply = await self._post("forget", {**self._next_change(), "event": event_json(request)}, may_lack=True)
        if not reply.is_success:
            self.missing.add("forget")
        return reply.is_success

    async def settle(self) -> None:
        if "settle" not in self.missing:
            reply = await self._post("settle", {"session": self.session}, may_lack=True)
            if not reply.is_success:
                self.missing.add("settle")

    async def fork(self) -> "HttpMemory | bool":
        """Return False where the service cannot."""
        anew = copy(self)
        anew.session = secrets.token_hex(12)
        if self.changes and "fork" not in self.missing:
            reply = await self._post("fork", {"session": self.session, "into": anew.session}, may_lack=True)
            if not reply.is_success:
                self.missing.add("fork")
        return False if "fork" in self.missing else anew

    async def _post(self, route: str, body: dict[str, Any], *, may_lack: bool = False) -> httpx2.Response:
        CALLED.set(route)
        reply = await self.client.post(f"{self.connection.url}/{route}", json=body)
        if not reply.is_success and not (may_lack and reply.status_code in (404, 405, 501)):
            words = self.connection.redactor.clean(reply.text)
            raise MemoryFailed(f"The memory service answered {reply.status_code} at {self.connection.shown}/{route}: {words}")
        return reply
