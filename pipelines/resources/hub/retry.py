"""Calls of the Hub's client with time limits and retries, and the port's errors in place of the client's."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import get_session, set_client_factory
from huggingface_hub.errors import (
    DeviceCodeError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    OIDCError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import get_token, logging, parse_ratelimit_headers

from assets.records.limits import MB
from dataset_card.errors import HubDenied, HubError, HubMissing, HubStale, HubUncertain, HubUnreachable
from pipelines.bounded_http import BodyTooLarge, BoundedClient
from pipelines.network_route import NetworkRoute, NoRoute
from pipelines.redaction import Redactor
from pipelines.resources.hub.settings import ENDPOINT, HubSettings
from pipelines.resources.llm.retry import retry_after_seconds

T = TypeVar("T")
FailureKind = Literal["transient", "offline", "stale", "denied", "missing", "fatal"]
RETRIED = (408, 425, 429)
MISSING = (RepositoryNotFoundError, RevisionNotFoundError, EntryNotFoundError)
# All that the client raises by itself; anything else is a mistake of ours, which this module does not catch.
CLIENT_ERRORS = (
    HfHubHTTPError,
    EntryNotFoundError,
    httpx2.HTTPError,
    OSError,
    ValueError,
    RuntimeError,
    DeviceCodeError,
    OIDCError,
)
LONG_WAIT = 5.0
MOST_BYTES = 64 * MB  # of an answer that is held in memory; files go to the disk
ERRORS: dict[str, type[HubError]] = {
    "offline": HubUnreachable,
    "transient": HubUnreachable,
    "stale": HubStale,
    "missing": HubMissing,
    "fatal": HubError,
}


@dataclass(frozen=True)
class HubFailure:
    """A failed call. `what` goes into a sentence; `wait` are the seconds that the Hub asks for."""

    kind: FailureKind
    what: str
    wait: float = 0.0


class RetryingCalls:
    """Sends calls of the client, which by itself has no time limit and retries some calls and not others."""

    def __init__(self, settings: HubSettings, *, endpoint: str) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._route = NetworkRoute.to(endpoint)
        try:
            self._certificates = self._route.client_options()["verify"]  # for what is wrong here, the library would only crash
        except NoRoute as error:
            raise HubError(f"{endpoint} cannot be asked. {error}") from error
        # The library's own hooks, which keep offline mode: the client made before this one has them.
        self._event_hooks = get_session().event_hooks
        set_client_factory(self._client)
        # Its warnings quote addresses that are signed for one upload.
        logging.set_verbosity_error()

    def read(self, what: str, call: Callable[[], T]) -> T:
        """Read, several times if need be. Raises the port's errors but HubUncertain."""
        number = 0
        while True:
            number += 1
            try:
                return call()
            except CLIENT_ERRORS as error:
                failure = self._classify(error)
                if failure.kind != "transient" or number >= self._settings.tries or self._too_long(failure):
                    raise self._error(what, failure) from error
            self._wait(what, failure, number)

    def write(self, what: str, call: Callable[[], T]) -> T:
        """Write once: whether it happened although no reply came is for the caller to find out."""
        try:
            return call()
        except CLIENT_ERRORS as error:
            failure = self._classify(error)
            if failure.kind == "transient" and not self._too_long(failure):
                raise HubUncertain(f"{what} got no clear answer: {failure.what}", wait=failure.wait) from error
            raise self._error(what, failure) from error

    def _client(self) -> httpx2.Client:
        return BoundedClient(
            most_bytes=MOST_BYTES,
            event_hooks=self._event_hooks,
            follow_redirects=True,
            verify=self._certificates,
            timeout=httpx2.Timeout(self._settings.timeout, connect=self._settings.connect_timeout),
        )

    def _classify(self, error: BaseException) -> HubFailure:
        obstacle = self._route.obstacle(error, setting=ENDPOINT)
        if obstacle is not None:
            return HubFailure("transient" if obstacle.passing else "fatal", f"it {obstacle.problem}: {obstacle.remedy}")
        return classify(error, host=urlsplit(self._endpoint).netloc, redactor=Redactor(get_token() or ""))

    def _too_long(self, failure: HubFailure) -> bool:
        return failure.wait > self._settings.longest_wait

    def _wait(self, what: str, failure: HubFailure, number: int) -> None:
        wait = max(failure.wait, self._settings.first_wait * 2.0 ** (number - 1))
        if wait >= LONG_WAIT:
            self._settings.notice(f"{self._endpoint}, {what}: {failure.what}; trying again in {wait:.0f} s.")
        time.sleep(wait)

    def _error(self, what: str, failure: HubFailure) -> HubError:
        sentence = f"{self._endpoint}, {what}: {failure.what}"
        if failure.kind == "denied":
            return HubDenied(f"{sentence}; {login_advice()}.")
        remedies = {
            "offline": "unset it to reach the Hub",
            "transient": f"try again in {max(failure.wait, 60.0):.0f} seconds, nothing is lost",
            "missing": "check the name, and that the token may see it",
        }
        if failure.kind in remedies:
            sentence = f"{sentence}; {remedies[failure.kind]}"
        return ERRORS[failure.kind](f"{sentence}.")


def login_advice() -> str:
    """Return advice on a right that is missing."""
    if get_token() is None:
        return "log in with `hf auth login`, or put a token into HF_TOKEN"
    return "use a token that may (`hf auth login`, or HF_TOKEN)"


def classify(error: BaseException, *, host: str, redactor: Redactor) -> HubFailure:
    """The class of an exception from the client. `host` is the Hub's; stores of large files have others."""
    cause = error.__cause__
    if isinstance(error, OfflineModeIsEnabled):
        return HubFailure("offline", "offline mode is on (HF_HUB_OFFLINE)")
    if isinstance(error, HfHubHTTPError):
        return _classify_response(error, host=host, redactor=redactor)
    if isinstance(error, (RuntimeError, FileNotFoundError)) and isinstance(cause, Exception):
        # An upload's wrapper, and what a download says when it has nothing in its cache: the cause says more.
        return classify(cause, host=host, redactor=redactor)
    if isinstance(error, httpx2.TimeoutException):
        return HubFailure("transient", "it did not answer in time")
    if isinstance(error, BodyTooLarge):
        return HubFailure("fatal", f"it {error}")
    if isinstance(error, (httpx2.HTTPError, ConnectionError)):
        return HubFailure("transient", f"the connection failed ({type(error).__name__})")
    if isinstance(error, json.JSONDecodeError):
        return HubFailure("transient", "it answered with something that is not JSON")
    if isinstance(error, EntryNotFoundError):
        return HubFailure("missing", "there is no such file")
    if isinstance(error, (DeviceCodeError, OIDCError)):
        return HubFailure("denied", "logging in failed")
    return HubFailure("fatal", redactor.clean(str(error)) or type(error).__name__)


def _classify_response(error: HfHubHTTPError, *, host: str, redactor: Redactor) -> HubFailure:
    response = error.response
    status = response.status_code
    message = redactor.clean(error.server_message or "").rstrip(".")
    quoted = f"{status}: {message}" if message else str(status)
    if status in RETRIED or status >= 500:
        limits = parse_ratelimit_headers(response.headers)
        used_up = limits is not None and limits.remaining == 0 and status == 429
        wait = (
            limits.reset_in_seconds + 1.0
            if limits and used_up
            else retry_after_seconds(response.headers, limited=status == 429)
        )
        return HubFailure("transient", f"it answered {quoted}", wait)
    if _host(error) != host and status in (400, 401, 403):
        # An address for one upload that has expired says so like this; it has nothing to do with tokens.
        return HubFailure("transient", f"the store of large files answered {quoted}")
    if isinstance(error, GatedRepoError) or (status in (401, 403) and not isinstance(error, MISSING)):
        return HubFailure("denied", f"it answered {quoted}")
    if isinstance(error, MISSING) or status == 404:
        return HubFailure("missing", f"it answered {quoted}")
    kind: FailureKind = "stale" if status in (409, 412) else "fatal"
    return HubFailure(kind, f"it answered {quoted}")


def _host(error: HfHubHTTPError) -> str:
    url = error.response.request.url
    return url.netloc.decode()
