"""HTTP clients that read an answer up to a limit: whoever answers may send anything, and a few KB unpack to gigabytes.

The library unpacks in pieces of a megabyte, so that what is counted here is the body as it comes out, packed or not. Each
request of the asynchronous client has a connection of its own, and no redirect takes it to another server.
"""

import logging
import re
from collections.abc import Iterator
from typing import Any

import httpx2

from assets.records.limits import MB
from pipelines.redaction import public_address

# At INFO the library writes whole addresses, with the logins and keys in them.
logging.getLogger("httpx2").setLevel(logging.WARNING)
MOST_REDIRECTS = 10
OF_THE_PACKED_BODY = ("content-encoding", "content-length", "transfer-encoding")
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
SET_BY_THE_CLIENT = {*OF_THE_PACKED_BODY, "host", "connection", "content-type", "accept-encoding", "te", "upgrade"}


def header_lines(text: str) -> Iterator[tuple[str, str]]:
    """Name and value of each line. Raises ValueError, without the value, for what is no header or the client's own."""
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, value = map(str.strip, line.partition(":"))
        if not colon or not HEADER_NAME.fullmatch(name):
            raise ValueError("must be headers, a line for each, as in X-Team: blue")
        if name.lower() in SET_BY_THE_CLIENT:
            raise ValueError(f"may not hold the header {name}, which the client sets itself")
        if not value or not value.isascii() or not value.isprintable():
            raise ValueError(f"must give the header {name} a value of printable ASCII characters")
        yield name, value


class BodyTooLarge(httpx2.RequestError):
    """An answer with more bytes than any that is wanted; the message goes on after who answered."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"answered with more than {most_bytes // MB} MB")


class RedirectedElsewhere(httpx2.RequestError):
    """An answer that sends the request on to another server, or to a page; the message goes on after who answered."""

    def __init__(self, url: httpx2.URL) -> None:
        super().__init__(f"sends requests on to {public_address(str(url.copy_with(path='/', query=None))).rstrip('/')}")


class BoundedAsyncClient(httpx2.AsyncClient):
    """A client that raises BodyTooLarge for an answer of more than `most_bytes`, and RedirectedElsewhere."""

    def __init__(self, *, most_bytes: int, **options: Any) -> None:
        # No connection is used twice: what a server sends beyond a reply, or late, would be read as the reply to the next call.
        super().__init__(limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0), **options)
        self._most_bytes = most_bytes

    async def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        follow_redirects: Any = httpx2.USE_CLIENT_DEFAULT,
        **options: Any,
    ) -> httpx2.Response:
        """Send a request and read its answer; a stream is the caller's to read."""
        follow = self.follow_redirects if follow_redirects is httpx2.USE_CLIENT_DEFAULT else bool(follow_redirects)
        response = await super().send(request, stream=True, follow_redirects=False, **options)
        redirects = 0
        # One by one, because the library reads the whole body of a redirect, whatever its size.
        while follow and response.next_request is not None:
            await response.aclose()
            redirects += 1
            if redirects > MOST_REDIRECTS:
                raise httpx2.TooManyRedirects(f"more than {MOST_REDIRECTS} redirects", request=request)
            request = response.next_request
            # To a page, as of a login, a call is sent on without its body.
            if not _is_same_place(request.url, response.request.url) or request.method != response.request.method:
                raise RedirectedElsewhere(request.url)
            # What goes with the address is on the request already.
            response = await super().send(request, stream=True, follow_redirects=False, auth=None)
        return response if stream else await self._read(response)

    async def _read(self, response: httpx2.Response) -> httpx2.Response:
        body = bytearray()
        try:
            async for part in response.aiter_bytes():
                body += part
                if len(body) > self._most_bytes:
                    raise BodyTooLarge(self._most_bytes)
        finally:
            await response.aclose()
        return _with_body(response, bytes(body))


class BoundedClient(httpx2.Client):
    """The same for a thread; whether it follows redirects is the library's matter."""

    def __init__(self, *, most_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self._most_bytes = most_bytes

    def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Send a request and read its answer; a stream is the caller's to read."""
        response = super().send(request, stream=True, **options)
        return response if stream else self._read(response)

    def _read(self, response: httpx2.Response) -> httpx2.Response:
        body = bytearray()
        try:
            for part in response.iter_bytes():
                body += part
                if len(body) > self._most_bytes:
                    raise BodyTooLarge(self._most_bytes)
        finally:
            response.close()
        return _with_body(response, bytes(body))


def _is_same_place(url: httpx2.URL, origin: httpx2.URL) -> bool:
    """Return True for the same server, also where it leads from http to https."""
    if url.host != origin.host:
        return False
    upgraded = (origin.scheme, url.scheme) == ("http", "https") and origin.port is None and url.port is None
    return upgraded or (url.scheme, url.port) == (origin.scheme, origin.port)


def _with_body(response: httpx2.Response, body: bytes) -> httpx2.Response:
    """The same answer with its body as it came out."""
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in OF_THE_PACKED_BODY]
    whole = httpx2.Response(response.status_code, headers=headers, content=body, request=response.request)
    whole.history = response.history
    return whole
