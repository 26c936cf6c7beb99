"""Memories that are services over HTTP, with two routes, and the addresses and headers of all services.

A service keeps sessions apart by the id that comes with every request. It may fork a session itself; one that does not is
written anew into a fresh session for every copy, so that no copy can see what comes later.

What a service asks of its clients is in environment variables: `Authorization: Bearer $MY_KEY` is a line of the setting
`headers`, or stands behind the address as `#Authorization=Bearer $MY_KEY`. `$MY_URL` alone is an address that is secret itself.
"""

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from copy import copy
from string import Template
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from assets.records.limits import MB
from pipelines.bounded_http import BodyTooLarge, BoundedAsyncClient
from pipelines.errors import EvaluationError
from pipelines.memories.contract import MemoryEvent, MemorySpec, Setting
from pipelines.memories.hosting import MemoryFailed
from pipelines.network_route import NetworkRoute, NoRoute
from pipelines.redaction import Redactor, can_be_taken_apart, login_of, public_address, secrets_of

MOST_BYTES = 16 * MB  # of what one recall gives back
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


def from_environment(template: Template, *, what: str) -> str:
    """The text with the values of its variables. Raises MemoryFailed for one that is not set."""
    for name in template.get_identifiers():
        if not os.environ.get(name):
            raise MemoryFailed(f"{what} needs the environment variable {name}, which is not set.")
    return template.substitute(os.environ).strip()


class ServiceConnection:
    """The way to a service: its address, what goes with every request, and what messages may say of both."""

    def __init__(self, address: str, *, headers: str) -> None:
        whole = from_environment(Template(address), what="The memory's address") if address.startswith("$") else address
        if not can_be_taken_apart(whole):
            raise MemoryFailed(f"The address in {address} is none; give one as in http://host:8000/path.")
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

    def client(self, timeout: httpx2.Timeout) -> httpx2.AsyncClient:
        """A client that sends what goes with every request. Raises MemoryFailed where the environment leads nowhere."""
        try:
            options = self.route.client_options()
        except NoRoute as error:
            raise MemoryFailed(f"The memory service at {self.shown} cannot be asked. {error}") from error
        login = httpx2.BasicAuth(*self.login) if self.login else None
        return BoundedAsyncClient(
            most_bytes=MOST_BYTES,
            own_headers=self.headers,
            auth=login,
            params=self.query or None,
            timeout=timeout,
            **options,
        )

    def problem(self, error: Exception) -> str:
        """Return what was in the way of a call, and what to do, to stand after who was called."""
        obstacle = self.route.obstacle(error, setting="the memory's address")
        if obstacle is not None:
            return self.redactor.hide(f"{obstacle.problem}; {obstacle.remedy}")
        return f"does not answer ({type(error).__name__}); is it running?"


class RecallReply(BaseModel):
    """What a service gives back for a query, the best first."""

    texts: list[str]


def event_json(event: MemoryEvent) -> dict[str, str]:
    """An event as services get it; `at` is ISO, or empty."""
    return {"text": event.text, "kind": event.kind, "at": event.at.isoformat() if event.at else "", "source": event.source}


class HttpMemory:
    """A service with the routes `write` and `recall`, and perhaps `fork`, `settle` and `forget`, below its address.

    POST write {"session", "events": [{"text", "kind", "at", "source"}]}; POST recall {"session", "query", "tokens"} gives
    {"texts": [...]}; POST fork {"session", "into"} copies a session, and answers 404 or 405 where the service cannot; POST
    settle {"session"} answers when all that was written to the session can be recalled, and POST forget {"session", "event"}
    when that request was followed; both may be missing likewise, and the request is written then.
    """

    def __init__(self, *, address: str, headers: str = "", seconds: float = 120.0) -> None:
        self.connection = ServiceConnection(address, headers=headers)
        self.session = secrets.token_hex(12)  # a service may outlive the run, and must never meet an id again
        self.client = self.connection.client(httpx2.Timeout(seconds))  # copies share it
        self.sent: list[tuple[str, dict[str, Any]]] = []  # what was written and asked to forget, by route
        self.missing = set[str]()  # routes, which copies share too

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        body = {"events": list(map(event_json, events))}
        await self._post("write", {"session": self.session, **body})
        self.sent.append(("write", body))

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        reply = await self._post("recall", {"session": self.session, "query": query, "tokens": tokens})
        try:
            return RecallReply.model_validate_json(reply.content).texts
        except ValidationError as error:
            raise MemoryFailed(f'{self.connection.shown}/recall answered something else than {{"texts": [...]}}.') from error

    async def forget(self, request: MemoryEvent) -> bool:
        """Return False where the service cannot."""
        if "forget" not in self.missing:
            body = {"event": event_json(request)}
            reply = await self._post("forget", {"session": self.session, **body}, may_lack=True)
            if reply.is_success:
                self.sent.append(("forget", body))
                return True
            self.missing.add("forget")
        return False

    async def settle(self) -> None:
        if "settle" not in self.missing:
            reply = await self._post("settle", {"session": self.session}, may_lack=True)
            if not reply.is_success:
                self.missing.add("settle")

    async def fork(self) -> "HttpMemory":
        anew = copy(self)
        anew.session = secrets.token_hex(12)
        anew.sent = []
        reply = await self._post("fork", {"session": self.session, "into": anew.session}, may_lack=True)
        if reply.is_success:
            anew.sent = list(self.sent)
            return anew
        for route, body in self.sent:
            await anew._post(route, {"session": anew.session, **body})
            anew.sent.append((route, body))
        return anew

    async def _post(self, route: str, body: dict[str, Any], *, may_lack: bool = False) -> httpx2.Response:
        shown = f"{self.connection.shown}/{route}"
        try:
            reply = await self.client.post(f"{self.connection.url}/{route}", json=body)
        except BodyTooLarge as error:
            raise MemoryFailed(f"The memory service {error} at {shown}; let it give back less.") from error
        except httpx2.HTTPError as error:
            raise MemoryFailed(f"The memory service at {shown} {self.connection.problem(error)}") from error
        if not reply.is_success and not (may_lack and reply.status_code in (404, 405, 501)):
            words = self.connection.redactor.clean(reply.text)
            raise MemoryFailed(f"The memory service answered {reply.status_code} at {shown}: {words}")
        return reply
