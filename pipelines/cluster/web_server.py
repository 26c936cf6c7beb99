"""Dagster's web server, asked through GraphQL: questions wait while it is away, launches are sent once."""

import time
from dataclasses import dataclass, field
from http import HTTPStatus
from textwrap import shorten
from typing import Any, cast

import httpx2

from pipelines.errors import Problem
from pipelines.redaction import public_address

PAUSE_SECONDS = 2.0
TIMEOUT_SECONDS = 300.0
MOST_CHARACTERS = 300  # of what Dagster says
REFUSALS = (400, 403, 421)  # of the guard before Dagster, each with a sentence
NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout)


@dataclass(frozen=True)
class WebServer:
    """The server of an address. `timeout`, `pause`: seconds to wait for one that is away, and between two tries."""

    url: str = field(repr=False)
    timeout: float = TIMEOUT_SECONDS
    pause: float = PAUSE_SECONDS
    client: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=60))

    @property
    def address(self) -> str:
        """The address without a login, for sentences and pages."""
        return public_address(self.url).rstrip("/")

    def ask(self, query: str, *, key: str, **variables: Any) -> dict[str, Any]:
        """Return the answer to a question as soon as it has the key; an error of Dagster's is waited out. Raises Problem."""
        give_up = time.monotonic() + self.timeout
        while True:
            try:
                answer = self._post(query, variables)
                if key in answer:
                    return answer
                words = _error_text(answer)
            except httpx2.HTTPError as error:
                words = str(error) or type(error).__name__
            self._wait(give_up, words)

    def launch(self, query: str, *, key: str, what: str, **variables: Any) -> dict[str, Any]:
        """Start something, never twice: only what did not reach the server is sent again. Raises Problem."""
        give_up = time.monotonic() + self.timeout
        while True:
            try:
                answer = self._post(query, variables)
                break
            except NEVER_SENT as error:
                self._wait(give_up, str(error))
            except httpx2.HTTPError as error:
                raise Problem(
                    f"Whether {what} was started is not known ({str(error) or type(error).__name__}); look at "
                    f"{self.address}/runs, and ask again if it was not."
                ) from error
        if key not in answer:
            raise Problem(f"{what} cannot be started: {_error_text(answer)}")
        return answer

    def _wait(self, give_up: float, words: str) -> None:
        if time.monotonic() > give_up:
            raise Problem(f"Dagster on {self.address} gives no answer ({words}); start it with: amemgym cluster up")
        time.sleep(self.pause)

    def _post(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        """Return the value of the query's only field. Raises Problem for what waiting cannot mend, else httpx2.HTTPError."""
        try:
            answer = self._send(query, variables)
            if answer.status_code == HTTPStatus.FORBIDDEN and answer.cookies:
                # Whoever lacks the token of the server's start is refused and given it (pipelines/ui/request_guard.py).
                answer = self._send(query, variables)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            answer = None
        if answer is None:  # not in the handler: the error's words repeat the address
            raise Problem(f"{self.address!r} is no address of a web server; give one as in --url http://host:3000")
        content = _content(answer)
        fields: dict[str, Any] = content.get("data") or {}
        value: object = next(iter(fields.values()), None)
        if isinstance(value, dict):
            return cast(dict[str, Any], value)
        if answer.is_server_error:
            raise httpx2.HTTPStatusError(f"status {answer.status_code}", request=answer.request, response=answer)
        if content.get("errors"):
            raise Problem(f"Dagster on {self.address} refused: {content['errors'][0]['message']}")
        if answer.status_code in REFUSALS and answer.headers.get("content-type", "").startswith("text/plain"):
            raise Problem(f"{self.address} refused: {shorten(answer.text, MOST_CHARACTERS, placeholder=' ...')}")
        raise Problem(f"{self.address} does not answer as Dagster does (status {answer.status_code}); check the address.")

    def _send(self, query: str, variables: dict[str, Any]) -> httpx2.Response:
        return self.client.post(f"{self.url.rstrip('/')}/graphql", json={"query": query, "variables": variables})


def _content(answer: httpx2.Response) -> dict[str, Any]:
    try:
        content: object = answer.json()
    except ValueError:
        return {}
    return cast(dict[str, Any], content) if isinstance(content, dict) else {}


def _error_text(answer: dict[str, Any]) -> str:
    errors = cast(list[dict[str, str]], answer.get("errors") or [answer])
    # That of a database comes with the statement and all its values.
    messages: list[str] = []
    for error in errors:
        words = error.get("message") or answer["__typename"]
        messages.append(shorten(words.partition("[SQL:")[0], MOST_CHARACTERS, placeholder=" ..."))
    return "; ".join(messages)
