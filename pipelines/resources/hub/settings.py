"""The Hub's address, time limits and retries."""

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dataset_card.errors import HubError

ENDPOINT = "HF_ENDPOINT"
PUBLIC_HUB = "https://huggingface.co"


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True)
class HubSettings:
    """`endpoint` None: that of HF_ENDPOINT, or the public Hub. Times in seconds; `notice` gets a line for each long wait.

    `tries` count for reading; `longest_wait` is the longest that the Hub may ask for before giving up.
    """

    endpoint: str | None = None
    tries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 320.0
    timeout: float = 90.0
    connect_timeout: float = 10.0
    notice: Callable[[str], None] = field(default=_silent)


def checked_endpoint(endpoint: str) -> str:
    """The address without a slash at its end. Raises HubError for one that is none, or that carries a password."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise HubError("The Hub's address is not of the form https://HOST; correct --endpoint or HF_ENDPOINT.")
    if parts.username is not None or parts.password is not None or parts.query:
        raise HubError("The Hub's address holds a name, a password or a query; put a token into HF_TOKEN instead.")
    return endpoint.rstrip("/")
