"""Where the Hub is and how patient to be with it."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dataset_card.hub.port import Hub, HubError

ENDPOINT = "HF_ENDPOINT"
PUBLIC_HUB = "https://huggingface.co"
# The client reads these when it is first imported. Our files are small, so the second upload protocol gains nothing,
# and it hides the cause of its errors; HF_HUB_DISABLE_XET=0 turns it on again.
CLIENT_DEFAULTS = {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True)
class HubSettings:
    """`endpoint` None: that of HF_ENDPOINT, or the public Hub. Times in seconds; `notice` is told of long waits.

    `tries` count for reading; `longest_wait` is the longest that the Hub may ask for before giving up.
    """

    endpoint: str | None = None
    tries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 320.0
    timeout: float = 90.0
    connect_timeout: float = 10.0
    notice: Callable[[str], None] = field(default=_silent)


def open_hub(settings: HubSettings | None = None) -> Hub:
    """The Hub over the real client. Raises HubError for an address that cannot be used.

    The client computes addresses when it is imported, so it is imported here, after the environment is set.
    """
    settings = settings or HubSettings()
    endpoint = checked_endpoint(settings.endpoint or os.environ.get(ENDPOINT) or PUBLIC_HUB)
    constants = sys.modules.get("huggingface_hub.constants")
    if constants is not None and endpoint != constants.ENDPOINT:
        raise HubError(f"The Hub's client is already bound to {constants.ENDPOINT}; set {ENDPOINT}={endpoint} before starting.")
    os.environ[ENDPOINT] = endpoint
    for name, value in CLIENT_DEFAULTS.items():
        os.environ.setdefault(name, value)
    from pipelines.resources.hub.client import HubClient

    return HubClient(settings, endpoint=endpoint)


def checked_endpoint(endpoint: str) -> str:
    """The address without a slash at its end. Raises HubError for one that is none, or that carries a password."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise HubError("The Hub's address is not of the form https://HOST; correct --endpoint or HF_ENDPOINT.")
    if parts.username is not None or parts.password is not None:
        raise HubError("The Hub's address holds a name or password; put a token into HF_TOKEN instead.")
    return endpoint.rstrip("/")
