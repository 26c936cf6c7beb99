"""Opens this installation's Hub client, reader of releases and tag registry."""

import os
import sys
from collections.abc import Callable

from dataset_card.errors import HubError
from dataset_card.hub.port import Hub
from dataset_card.hub.read import ReleaseReader
from dataset_card.hub.tag_registry import TagRegistry
from pipelines.home import home
from pipelines.redaction import public_address
from pipelines.resources.hub.settings import ENDPOINT, PUBLIC_HUB, HubSettings, checked_endpoint

# The client reads these when it is first imported. Xet, the newer upload protocol, gains nothing for our small files and hides
# the cause of its errors; HF_HUB_DISABLE_XET=0 turns it on again.
CLIENT_DEFAULTS = {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
FETCHED = "fetched"
REGISTRY = "releases.json"


def open_hub(settings: HubSettings | None = None) -> Hub:
    """Return the Hub through the huggingface_hub client. Raises HubError for an unusable address.

    The client computes its addresses when it is imported, so it is imported here, after the environment is set.
    """
    settings = settings or HubSettings()
    endpoint = checked_endpoint(settings.endpoint or os.environ.get(ENDPOINT) or PUBLIC_HUB)
    constants = sys.modules.get("huggingface_hub.constants")
    if constants is not None and endpoint != constants.ENDPOINT:
        bound = public_address(constants.ENDPOINT)
        raise HubError(f"The Hub's client is already bound to {bound}; set {ENDPOINT}={endpoint} before starting.")
    os.environ[ENDPOINT] = endpoint
    for name, value in CLIENT_DEFAULTS.items():
        os.environ.setdefault(name, value)
    from pipelines.resources.hub.client import HubClient

    return HubClient(settings, endpoint=endpoint)


def release_reader(*, endpoint: str | None = None, notice: Callable[[str], None] = print) -> ReleaseReader:
    """Return a reader of releases with a cache on the disk. Opening never fails; reading raises HubError."""
    settings = HubSettings(endpoint=endpoint, notice=notice)
    return ReleaseReader(lambda: open_hub(settings), cache=home().root / FETCHED, registry=tag_registry(), notice=notice)


def tag_registry() -> TagRegistry:
    """Return the record of Hub tags: the commit and digest of each when it was published or first read here."""
    return TagRegistry(home().releases / REGISTRY)
