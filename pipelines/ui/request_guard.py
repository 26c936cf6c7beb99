"""Refuses requests that the user of our web server did not intend, and answers each with one sentence.

Any page in a browser can send requests to a loopback port, and any DNS name can be pointed at our address. Therefore:
- A request must name this server, in its Host header, by one of the server's own names.
- A request that changes something must come from a page of this server or from a script, and its body must be JSON.
- Such a request must carry the token of this start of the server, which our pages set as a cookie.
- No other page may show one of ours in a frame.
This is not a login (pipelines/guide/reference/security.md).
"""

import os
import re
import secrets
from collections.abc import Collection
from ipaddress import ip_address

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.errors import Problem
from pipelines.redaction import public_address

HOSTS = "AMEMGYM_HOSTS"
LOOPBACK = ("localhost", "127.0.0.1", "::1")  # DNS cannot point these names elsewhere
EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 (addresses to listen on)
LOGS = "/logs/"
GRAPHQL = "/graphql"
WITHOUT_CHANGE = ("GET", "HEAD", "OPTIONS")  # by the HTTP standard, these methods change nothing
OWN_SITE = ("same-origin", "none")  # values of Sec-Fetch-Site; "none": the user typed the address
UNFRAMED = {"content-security-policy": "frame-ancestors 'none'", "x-frame-options": "DENY"}  # the second is for old browsers
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]+)?", re.IGNORECASE)


class RequestGuard:
    """Passes intended requests on to the application and refuses the others.

    `host`: the address that the server listens on. `forms`: paths that accept a form of our own pages instead of JSON.
    `with_token`: whether a request that changes something needs the token; a service that changes nothing needs no token.
    Raises Problem if the list of hosts in AMEMGYM_HOSTS is malformed.
    """

    def __init__(self, app: ASGIApp, *, host: str, forms: Collection[str] = (), with_token: bool = True) -> None:
        self._app = app
        self._forms = forms
        self._token = secrets.token_urlsafe(32) if with_token else ""
        self._listed = listed_hosts()
        self._listed_names = set(map(_host_name, self._listed))
        self._names = {*LOOPBACK, host.lower(), *self._listed_names}
        # A server on every address does not know which addresses these are. Any address is safe, because DNS is not involved.
        self._at_every_address = host in EVERY_ADDRESS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with the application's response, or with a refusal."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        refusal = self._refusal(connection)

        async def send_unframed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in UNFRAMED.items():
                    headers.append(name, value)
                if refusal is None and headers.get("content-type", "").startswith("text/html"):
                    self._hand_out_token(connection, headers)
            await send(message)

        answer = self._app if refusal is None else refusal
        await answer(scope, receive, send_unframed)

    def _refusal(self, connection: HTTPConnection) -> Response | None:
        host = connection.headers.get("host", "")
        if not self._is_own_name(host):
            return _refuse(
                421,
                f"This server does not have the name {host!r}; use the address that it printed at its start, or start it "
                f"with {HOSTS}={_host_name(host) or 'NAME'} if a proxy or another machine uses that name.",
            )
        if connection.scope["type"] == "websocket":
            return self._refusal_of_origin(connection)
        method = connection.scope["method"]
        if method in WITHOUT_CHANGE:
            return _refusal_of_read(connection)
        return self._refusal_of_origin(connection) or self._refusal_of_body(connection) or self._refusal_of_token(connection)

    def _is_own_name(self, host: str) -> bool:
        name = _host_name(host)
        return name != "" and (name in self._names or (self._at_every_address and _is_address(name)))

    def _refusal_of_origin(self, connection: HTTPConnection) -> Response | None:
        """Refuse a page of another origin. Browsers send an Origin with every change and websocket; scripts send none."""
        headers = connection.headers
        origin = headers.get("origin")
        is_own = origin is None or self._is_own_origin(origin.lower(), connection)
        if is_own and headers.get("sec-fetch-site", "none") in OWN_SITE:
            return None
        return _refuse(
            403,
            f"A page of another origin ({origin or 'not given'}) sent this request, so nothing was done; use this server's own "
            f"pages, or start the server with {HOSTS} set to the host name under which a proxy shows them.",
        )

    def _is_own_origin(self, origin: str, connection: HTTPConnection) -> bool:
        scheme, _, host = origin.partition("://")
        if scheme not in ("http", "https"):
            return False
        asked = connection.headers["host"].lower()
        if host in self._listed or (host == asked and _host_name(host) in self._listed_names):
            return True  # with http or https, because a proxy may handle TLS
        return host == asked and (scheme == "https") == connection.url.is_secure

    def _refusal_of_body(self, connection: HTTPConnection) -> Response | None:
        """Refuse a body that is not JSON: browsers let other origins send forms and plain text, but never JSON."""
        content_type = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type == "application/json" or connection.scope["path"] in self._forms:
            return None
        return _refuse(
            400, "A request that changes something must have the content type application/json; send it with that content type."
        )

    def _refusal_of_token(self, connection: HTTPConnection) -> Response | None:
        if self._has_token(connection):
            return None
        reason = (
            "the cookie does not match the one" if _cookie_name(connection) in connection.cookies else "the cookie is missing"
        )
        refusal = _refuse(
            403,
            f"Nothing was done, because {reason} that this server's pages set since its last start; reload the page, "
            "or let a script get one of the pages first and send its cookie with the request.",
        )
        # The refusal sets the cookie, so that an open page or a script with a cookie jar can simply repeat the request.
        self._hand_out_token(connection, refusal.headers)
        return refusal

    def _has_token(self, connection: HTTPConnection) -> bool:
        if not self._token:
            return True
        given = connection.cookies.get(_cookie_name(connection), "")
        return secrets.compare_digest(given.encode(), self._token.encode())  # in constant time

    def _hand_out_token(self, connection: HTTPConnection, headers: MutableHeaders) -> None:
        if self._has_token(connection):
            return
        secure = "; Secure" if connection.url.is_secure else ""
        headers.append("set-cookie", f"{_cookie_name(connection)}={self._token}; Path=/; HttpOnly; SameSite=Strict{secure}")


def listed_hosts() -> frozenset[str]:
    """Return the names in AMEMGYM_HOSTS, under which proxies and other machines reach our servers. Raises Problem."""
    entries = [entry.strip() for entry in os.environ.get(HOSTS, "").lower().split(",")]
    listed = frozenset(filter(None, entries))
    for entry in listed:
        if not HOST.fullmatch(entry):
            raise Problem(
                f"{HOSTS} has {public_address(entry)!r}, which is not a host; list names, with a port if browsers show one, as "
                f"in {HOSTS}=bench.example.org,gpu-box:8443."
            )
    return listed


def _refusal_of_read(connection: HTTPConnection) -> Response | None:
    """Refuse GraphQL by GET: Dagster would run a mutation sent this way, except in a request for the editor's HTML page.

    Refuse a log whose path leaves the folder of logs, too: Dagster would answer with an unexpected error.
    """
    if connection.scope["path"].startswith(LOGS) and ".." in connection.scope["path"].split("/"):
        return _refuse(404, "There is no such log.")
    if connection.scope["path"] != GRAPHQL or "text/html" in connection.headers.get("accept", ""):
        return None
    return _refuse(
        400, "GraphQL requests must be sent by POST as application/json; open this address in a browser for the editor."
    )


def _refuse(status: int, sentence: str) -> Response:
    headers = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
    return PlainTextResponse(f"{sentence}\n", status, headers=headers)


def _host_name(host: str) -> str:
    """Return the name or address without port and brackets; "" if the text is not a host."""
    found = HOST.fullmatch(host)
    return found[1].strip("[]").lower() if found else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _cookie_name(connection: HTTPConnection) -> str:
    """Return the cookie's name with the port: browsers share cookies between ports, and servers must not overwrite tokens."""
    _, port = connection.scope["server"]
    return f"amemgym-{port}"
