"""Calls of the Hub's client with timeouts and retries. The client's errors become those of the Hub port."""

import json
import re
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
# All errors that the client itself raises. Any other error is a bug of ours, which this module does not catch.
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
REPO_IN_URL = re.compile(r"(?P<hub>https?://[^/]+)/(?:api/)?datasets/(?P<name>[^/]+/[^/?]+)")
LONG_WAIT = 5.0
MOST_BYTES = 64 * MB  # of a response that is held in memory; files are written to disk
ERRORS: dict[str, type[HubError]] = {
    "offline": HubUnreachable,
    "transient": HubUnreachable,
    "stale": HubStale,
    "missing": HubMissing,
    "fatal": HubError,
}


@dataclass(frozen=True)
class HubFailure:
    """A failed call. `what` and `remedy` are clauses of the error message; `wait`: seconds that the Hub asks to wait."""

    kind: FailureKind
    what: str
    wait: float = 0.0
    remedy: str = ""


class RetryingCalls:
    """Runs the client's calls with timeouts and retries. The client has no timeouts, and retries only some calls."""

    def __init__(self, settings: HubSettings, *, endpoint: str) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._route = NetworkRoute.to(endpoint)
        try:
            # Checked here, because the library would crash on a bad certificate file.
            self._certificates = self._route.client_options()["verify"]
            NetworkRoute.check_all()
        except NoRoute as error:
            raise HubError(f"{endpoint} cannot be asked. {error}") from error
        # Keep the hooks of the library's previous client: they enforce offline mode.
        self._event_hooks = get_session().event_hooks
        set_client_factory(self._client)
        # The library's warnings quote upload addresses that contain a signature.
        logging.set_verbosity_error()

    def read(self, what: str, call: Callable[[], T]) -> T:
        """Call and return the result; transient failures are retried. Raises the port's errors, but never HubUncertain."""
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
        """Call once. Raises HubUncertain without a clear reply: the caller must check whether the write happened."""
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
            return HubDenied(f"{sentence}; {failure.remedy or login_advice()}.")
        remedies = {
            "offline": "unset it to reach the Hub",
            "transient": f"try again in {max(failure.wait, 60.0):.0f} seconds, nothing is lost",
            "missing": "check the name, and that the token has access",
        }
        if failure.kind in remedies:
            sentence = f"{sentence}; {remedies[failure.kind]}"
        return ERRORS[failure.kind](f"{sentence}.")


def login_advice() -> str:
    """Return advice for a missing permission, as the end of a sentence."""
    if get_token() is None:
        return "log in with `hf auth login`, or put a token into HF_TOKEN"
    return "use a token with that permission (`hf auth login`, or HF_TOKEN)"


def classify(error: BaseException, *, host: str, redactor: Redactor) -> HubFailure:
    """Classify an exception from the client. `host`: the Hub's host; stores of large files have other hosts."""
    cause = error.__cause__
    if isinstance(error, OfflineModeIsEnabled):
        return HubFailure("offline", "offline mode is on (HF_HUB_OFFLINE)")
    if isinstance(error, HfHubHTTPError):
        return _classify_response(error, host=host, redactor=redactor)
    if isinstance(error, (RuntimeError, FileNotFoundError)) and isinstance(cause, Exception):
        # Uploads wrap their errors, and downloads without a cached copy do too. The cause says more.
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
    if error.response.request.url.netloc.decode() != host and status in (400, 401, 403):
        # An expired upload address is answered like this. The token is not the problem.
        return HubFailure("transient", f"the store of large files answered {quoted}")
    repo = REPO_IN_URL.match(str(error.response.request.url))
    if isinstance(error, GatedRepoError) and repo:
        page = f"{repo['hub']}/datasets/{repo['name']}"
        return HubFailure("denied", f"its owner gives access by name ({status})", remedy=f"ask for access at {page}")
    if isinstance(error, GatedRepoError) or (status in (401, 403) and not isinstance(error, MISSING)):
        return HubFailure("denied", f"it answered {quoted}")
    if isinstance(error, MISSING) or status == 404:
        return HubFailure("missing", f"it answered {quoted}")
    kind: FailureKind = "stale" if status in (409, 412) else "fatal"
    return HubFailure(kind, f"it answered {quoted}")
