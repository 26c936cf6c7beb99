"""The Hub's address, timeouts and retries."""

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dataset_card.errors import HubError
from pipelines.redaction import can_be_taken_apart

ENDPOINT = "HF_ENDPOINT"
PUBLIC_HUB = "https://huggingface.co"


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True)
class HubSettings:
    """Settings of the Hub's client. Times are in seconds. `endpoint` None: HF_ENDPOINT, or else the public Hub.

    `tries`: most tries of a read; writes are tried once. `longest_wait`: if the Hub asks to wait longer, the call fails.
    `notice` is called with a line for each long wait.
    """

    endpoint: str | None = None
    tries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 320.0
    timeout: float = 90.0
    connect_timeout: float = 10.0
    notice: Callable[[str], None] = field(default=_silent)


def checked_endpoint(endpoint: str) -> str:
    """Return the address without a trailing slash. Raises HubError if it is not an address, or contains a login or a query."""
    parts = urlsplit(endpoint) if can_be_taken_apart(endpoint) else urlsplit("")
    if parts.scheme not in ("http", "https"):
        raise HubError("The Hub's address does not have the form https://HOST; correct --endpoint or HF_ENDPOINT.")
    if parts.username is not None or parts.password is not None or parts.query:
        raise HubError("The Hub's address contains a user name, a password or a query; put a token into HF_TOKEN instead.")
    return endpoint.rstrip("/")
