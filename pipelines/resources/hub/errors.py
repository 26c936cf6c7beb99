"""What went wrong with the Hub, by class: the client's own exceptions mean different things in different calls."""

import json
from dataclasses import dataclass
from typing import Literal

import httpx2
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
from huggingface_hub.utils import parse_ratelimit_headers

from pipelines.resources.llm.redaction import Redactor
from pipelines.resources.llm.retry_after import retry_after_seconds

Kind = Literal["transient", "offline", "stale", "denied", "missing", "fatal"]
RETRIED = (408, 425, 429)
MISSING = (RepositoryNotFoundError, RevisionNotFoundError, EntryNotFoundError)
# All that the client raises by itself; anything else is a mistake of ours and shall show as one.
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


@dataclass(frozen=True)
class HubTrouble:
    """`what` goes into a sentence; `wait` are the seconds that the Hub asks for."""

    kind: Kind
    what: str
    wait: float = 0.0


def diagnose(error: BaseException, *, host: str, redactor: Redactor) -> HubTrouble:
    """The class of an exception from the client. `host` is the Hub's; stores of large files have others."""
    cause = error.__cause__
    if isinstance(error, OfflineModeIsEnabled):
        return HubTrouble("offline", "offline mode is on (HF_HUB_OFFLINE)")
    if isinstance(error, HfHubHTTPError):
        return _of_answer(error, host=host, redactor=redactor)
    if isinstance(error, (RuntimeError, FileNotFoundError)) and isinstance(cause, Exception):
        # An upload's wrapper, and what a download says when it has nothing in its cache: the cause tells more.
        return diagnose(cause, host=host, redactor=redactor)
    if isinstance(error, httpx2.TimeoutException):
        return HubTrouble("transient", "it did not answer in time")
    if isinstance(error, (httpx2.HTTPError, ConnectionError)):
        return HubTrouble("transient", f"the connection failed ({type(error).__name__})")
    if isinstance(error, json.JSONDecodeError):
        return HubTrouble("transient", "it answered with something that is not JSON")
    if isinstance(error, EntryNotFoundError):
        return HubTrouble("missing", "there is no such file")
    if isinstance(error, (DeviceCodeError, OIDCError)):
        return HubTrouble("denied", "logging in failed")
    return HubTrouble("fatal", redactor.clean(str(error)) or type(error).__name__)


def _of_answer(error: HfHubHTTPError, *, host: str, redactor: Redactor) -> HubTrouble:
    response = error.response
    status = response.status_code
    words = redactor.clean(error.server_message or "").rstrip(".")
    quoted = f"{status}: {words}" if words else str(status)
    if status in RETRIED or status >= 500:
        limits = parse_ratelimit_headers(response.headers)
        used_up = limits is not None and limits.remaining == 0 and status == 429
        wait = (
            limits.reset_in_seconds + 1.0
            if limits and used_up
            else retry_after_seconds(response.headers, limited=status == 429)
        )
        return HubTrouble("transient", f"it answered {quoted}", wait)
    if _host(error) != host and status in (400, 401, 403):
        # An address for one upload that has expired says so like this; it knows nothing of tokens.
        return HubTrouble("transient", f"the store of large files answered {quoted}")
    if isinstance(error, GatedRepoError) or (status in (401, 403) and not isinstance(error, MISSING)):
        return HubTrouble("denied", f"it answered {quoted}")
    if isinstance(error, MISSING) or status == 404:
        return HubTrouble("missing", f"it answered {quoted}")
    return HubTrouble("stale" if status in (409, 412) else "fatal", f"it answered {quoted}")


def _host(error: HfHubHTTPError) -> str:
    url = error.response.request.url
    return url.netloc.decode()
