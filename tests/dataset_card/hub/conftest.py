"""Fixtures of this folder. The client computes the Hub's address when it is imported, so the address comes first."""

import itertools
import os
import socket
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace

import pytest

if "huggingface_hub" in sys.modules:
    raise RuntimeError("Something imported huggingface_hub before its address was set; import it lazily there.")

# Nobody else can take the port, however late the first test of these comes.
LISTENER = socket.create_server(("127.0.0.1", 0))
PORT: int = LISTENER.getsockname()[1]
URL = f"http://127.0.0.1:{PORT}"
HF_HOME = tempfile.TemporaryDirectory(prefix="hf-home-")
os.environ |= {"HF_ENDPOINT": URL, "HF_HOME": HF_HOME.name}
# What `open_hub` sets too, but a test before these may have imported the client without it.
os.environ |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}

from dataset_card.hub.port import Hub  # noqa: E402
from dataset_card.hub.read import ReleaseReader  # noqa: E402
from dataset_card.hub.tag_registry import TagRegistry  # noqa: E402
from pipelines.opening.hub import open_hub  # noqa: E402
from pipelines.resources.hub.settings import HubSettings  # noqa: E402
from tests.support.hub_server.server import HubServer, serving  # noqa: E402
from tests.support.hub_server.state import WRITER, FakeHub  # noqa: E402
from tests.support.waiting import LONG  # noqa: E402

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[HubServer]:
    app = HubServer(FakeHub(tmp_path_factory.mktemp("hub"), port=PORT))
    with serving(app, LISTENER):
        yield app


@pytest.fixture
def fake(server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    """An empty Hub, and the writer's token in the environment."""
    monkeypatch.setenv("HF_TOKEN", WRITER)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    server.hub = FakeHub(tmp_path / "hub", port=PORT)
    return server.hub


@pytest.fixture
def hub(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """The real client, which does not really wait between its own tries."""
    opened = open_hub(HubSettings(first_wait=0.001, timeout=LONG, tries=3))
    impatient(monkeypatch)
    return opened


@pytest.fixture
def repo() -> str:
    """A name that no other test uses, because the client's cache is shared."""
    return f"lab/release-{next(NUMBERS)}"


@pytest.fixture
def registry(tmp_path: Path) -> TagRegistry:
    return TagRegistry(tmp_path / "releases.json")


@pytest.fixture
def notices() -> list[str]:
    """The messages that the reader has given so far."""
    return []


@pytest.fixture
def reader(hub: Hub, tmp_path: Path, registry: TagRegistry, notices: list[str]) -> ReleaseReader:
    return ReleaseReader(lambda: hub, cache=tmp_path / "fetched", registry=registry, notice=notices.append)


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's retries sleep by the clock of the first two modules, ours by that of the third."""
    clock = SimpleNamespace(**{**vars(time), "sleep": no_sleep})
    monkeypatch.setattr("huggingface_hub.utils._http.time", clock)
    monkeypatch.setattr("huggingface_hub.file_download.time", clock)
    monkeypatch.setattr("pipelines.resources.hub.retry.time", clock)


def no_sleep(_: float) -> None:
    """Replaces `time.sleep` and returns at once."""
