"""The way from this machine to an address, as the environment decides it: a proxy, exceptions from it, and certificates.

The route is worked out here, and not left to the HTTP library, so that an error can name the variable that decided.
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from pathlib import Path
from socket import gaierror
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

from pipelines.redaction import login_is_unsure, public_address, secrets_of

PORTS = {"http": 80, "https": 443}
SCHEMES = ("http", "https", "socks5", "socks5h")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # in the order in which they count
WRONG_HOST = (62, 63, 64)  # OpenSSL's numbers: the certificate is for another name or address
OUT_OF_DATE = (9, 10)
NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")


class NoRoute(Exception):
    """A setting of the environment leads nowhere. The message is a sentence that names the variable."""


@dataclass(frozen=True)
class Obstacle:
    """The reason why an address cannot be reached, to stand after its name, and what to do. `passing`: it may be gone soon."""

    problem: str
    remedy: str
    passing: bool = False


@dataclass(frozen=True)
class NetworkRoute:
    """The way to one host. `variable` names the environment's variable that holds the `proxy`; both "" where there is none."""

    scheme: str
    host: str
    proxy: str = ""
    variable: str = ""

    @classmethod
    def to(cls, address: str) -> "NetworkRoute":
        """Return the way to the host of this address."""
        url = httpx2.URL(address)
        proxies = getproxies()
        for scheme in (url.scheme, "all"):
            if proxies.get(scheme) and not _is_excepted(url, proxies.get("no", "")):
                return cls(url.scheme, url.host, _with_scheme(proxies[scheme]), _name_of(scheme))
        return cls(url.scheme, url.host)

    @classmethod
    def check_all(cls) -> None:
        """Raise NoRoute for a proxy of any scheme that is none: a library that opens them all would quote it in its error."""
        proxies = getproxies()
        for scheme in filter(proxies.get, (*PORTS, "all")):
            cls(scheme, "", _with_scheme(proxies[scheme]), _name_of(scheme))._proxy()

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """What is secret in the proxy's address."""
        return secrets_of(self.proxy) if self.proxy else ()

    @property
    def shown_proxy(self) -> str:
        """The proxy's address without what is secret in it."""
        return public_address(self.proxy).rstrip("/")

    def client_options(self) -> dict[str, Any]:
        """Return the options of an HTTP client that goes this way. Raises NoRoute."""
        return {"proxy": self._proxy(), "verify": self._tls(), "trust_env": False}

    def _proxy(self) -> httpx2.Proxy | None:
        if not self.proxy:
            return None
        scheme = self.proxy.partition("://")[0]
        if scheme not in SCHEMES:
            known = ", ".join(SCHEMES)
            raise NoRoute(f"The variable {self.variable} names a proxy by {scheme}://, and a proxy can be one of {known}.")
        if scheme.startswith("socks") and find_spec("socksio") is None:
            raise NoRoute(
                f"The variable {self.variable} names a SOCKS proxy, for which the package socksio is missing; install it with "
                f".venv/bin/pip install socksio, name an HTTP proxy, or put {self.host} into NO_PROXY."
            )
        if not login_is_unsure(self.proxy):
            with suppress(httpx2.InvalidURL, ValueError):
                return httpx2.Proxy(self.proxy)
        raise NoRoute(f"The variable {self.variable} holds no address of a proxy; give one as in http://proxy:3128.")

    def _tls(self) -> ssl.SSLContext:
        """Return what is trusted, the same for all clients until the environment names others. Raises NoRoute."""
        variable = _certificates()
        place = os.environ.get(variable, "")
        if variable and not os.path.exists(place):  # noqa: PTH110 (Path raises where a folder cannot be searched)
            raise NoRoute(f"The variable {variable} names {place}, which does not exist; correct or unset it.")
        try:
            return _context(variable, place, changed=Path(place).stat().st_mtime_ns if variable else 0)
        except OSError as error:  # an SSLError too
            reason = (
                "has no certificate in PEM form" if isinstance(error, ssl.SSLError) else f"cannot be read ({error.strerror})"
            )
        raise NoRoute(f"The variable {variable} names {place}, which {reason}; correct or unset it.")

    def obstacle(self, error: BaseException, *, setting: str) -> Obstacle | None:
        """Return what was in the way of a call without answer; None for what nobody knows. `setting` holds the address."""
        # From what came first to what came of it: the first one that says something is the reason.
        for cause in reversed(list(_causes(error))):
            if isinstance(cause, ssl.SSLCertVerificationError):
                return self._of_certificate(cause)
            if isinstance(cause, ssl.SSLError) and (cause.reason or "") in NO_TLS:
                return Obstacle("does not speak TLS", f"write http:// in {setting}, or ask at its TLS port")
            if isinstance(cause, httpx2.ProxyError):
                return self._of_proxy(str(cause))
            if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout) and self.variable:
                return Obstacle(
                    f"could not be reached, because the proxy {self.shown_proxy} in {self.variable} does not answer",
                    f"correct {self.variable}, start the proxy, or put {self.host} into NO_PROXY",
                    passing=True,
                )
            if isinstance(cause, gaierror) and not self.variable:
                return Obstacle(
                    "could not be reached, because no name server knows its host",
                    f"correct the address in {setting}, or name the proxy that leads there in {self.scheme.upper()}_PROXY",
                    passing=True,
                )
        return None

    def _of_certificate(self, error: ssl.SSLCertVerificationError) -> Obstacle:
        if error.verify_code in WRONG_HOST:
            return Obstacle("shows a certificate of another host", "ask at the name that stands in the certificate")
        if error.verify_code in OUT_OF_DATE:
            return Obstacle("shows a certificate that is out of date", "let it be renewed, or set this machine's clock")
        variable = _certificates()
        if variable:
            return Obstacle(
                f"shows a certificate that is signed by nobody in {variable} ({os.environ[variable]})",
                f"add its authority's certificate there, or name another file in {variable}",
            )
        return Obstacle(
            f"shows a certificate that this machine does not trust ({error.verify_message})",
            "name a file with its authority's certificate in SSL_CERT_FILE",
        )

    def _of_proxy(self, words: str) -> Obstacle:
        problem = f"could not be reached, because the proxy {self.shown_proxy} in {self.variable} refused"
        if "407" in words:
            return Obstacle(f"{problem} without a login", f"put it into {self.variable}, as in http://USER:PASSWORD@proxy:3128")
        return Obstacle(
            f"{problem} ({words or 'no reason given'})",
            f"correct {self.variable}, or put {self.host} into NO_PROXY",
            passing=True,
        )

    @property
    def doubt(self) -> str:
        """Words behind a remedy where an answer may be the proxy's: only without TLS can it speak for the host."""
        if not self.variable or self.scheme != "http":
            return ""
        return f"; the answer may be that of the proxy in {self.variable}: put {self.host} into NO_PROXY to ask without it"


def _is_excepted(url: httpx2.URL, exceptions: str) -> bool:
    """Return True where an entry of NO_PROXY is the host, a domain above it, or a network that it is in."""
    host = url.host.lower()
    for entry in filter(None, map(str.strip, exceptions.lower().split(","))):
        if entry == "*" or _is_in_network(host, entry):
            return True
        try:
            parts = urlsplit(f"//{entry.rpartition('//')[2]}")
            port = parts.port
        except ValueError:
            continue
        name = (parts.hostname or "").removeprefix("*").removeprefix(".")
        same_port = port is None or port == (url.port or PORTS[url.scheme])
        if name and same_port and (host == name or host.endswith(f".{name}")):
            return True
    return False


def _is_in_network(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def _with_scheme(proxy: str) -> str:
    return proxy if "://" in proxy else f"http://{proxy}"


def _name_of(scheme: str) -> str:
    """Return the variable that holds the proxy of a scheme, as it is spelled."""
    wanted = f"{scheme}_proxy"
    spellings = [name for name in os.environ if name.lower() == wanted and os.environ[name]]
    # The lower-case spelling counts where there are two.
    return wanted if wanted in spellings else next(iter(spellings), "the system's settings")


def _certificates() -> str:
    """Return the variable that says which certificates are trusted; "" where none does."""
    return next((name for name in CERTIFICATES if os.environ.get(name)), "")


@lru_cache(maxsize=4)
def _context(variable: str, place: str, *, changed: int) -> ssl.SSLContext:
    # Reading hundreds of certificates takes longer than all else that opens a client.
    return httpx2.create_ssl_context()


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
