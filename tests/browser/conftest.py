"""What the tests of this folder share: browsers, and one server of the Dagster UI with all that it talks to."""

import os
import socket
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.lab import Lab
from tests.browser.pages import JOB, Visit, chromium, fill_in, launch, outcome, save_config, visit
from tests.pipelines.llm.scripted_server import KEY, on_a_port
from tests.support.hub_server.server import HubServer, serving
from tests.support.hub_server.state import WRITER, FakeHub
from tests.support.ui_server import UiServer, ui_server


@pytest.fixture(scope="session")
def shots() -> Path | None:
    """Where pictures of pages go, for people to look at; None where nobody asks for them."""
    place = os.environ.get("AMEMGYM_SCREENSHOTS")
    if not place:
        return None
    Path(place).mkdir(parents=True, exist_ok=True)
    return Path(place)


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """A browser for one file of tests, because its loop stands in the way of later fixtures that start their own."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def lab() -> Lab:
    """The provider that the UI's runs ask."""
    return Lab()


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Generator[FakeHub]:
    """The Hub that the UI's runs publish to."""
    listener = socket.create_server(("127.0.0.1", 0))
    fake = FakeHub(tmp_path_factory.mktemp("hub"), port=listener.getsockname()[1])
    with serving(HubServer(fake), listener):
        yield fake


@pytest.fixture(scope="session")
def server(lab: Lab, hub: FakeHub, tmp_path_factory: pytest.TempPathFactory) -> Generator[UiServer]:
    home = tmp_path_factory.mktemp("home")
    with on_a_port(lab) as endpoint:
        surroundings = {
            "AMEMGYM_BASE_URL": endpoint,
            "AMEMGYM_API_KEY": KEY,
            "HF_ENDPOINT": hub.url,
            "HF_TOKEN": WRITER,
            "HF_HOME": str(home / "hub-client"),
        }
        with ui_server(home, surroundings) as running:
            yield running


@pytest.fixture(scope="module")
def user(server: UiServer, browser: Browser, shots: Path | None) -> Generator[Visit]:
    """Whoever sits before the UI, for one file of tests."""
    with visit(browser, server.url, shots=shots) as here:
        yield here


@pytest.fixture(scope="module")
def demo(user: Visit) -> str:
    """How the run ended that was started by hand: the demo with two users."""
    page = user.open(JOB)
    dialog = fill_in(page, partition="demo", config="num_users: 2")
    page.keyboard.press("ArrowLeft")
    user.shoot(page, "03_override_in_the_config_editor")
    save_config(page)
    user.shoot(page, "04_ready_to_launch")
    launch(page, dialog)
    ended = outcome(page)
    user.shoot(page, f"05_demo_run_{ended.lower()}")
    page.close()
    return ended
