"""A stranger gets to a variant of their own from the page: four clicks, no YAML typed."""

import os
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import metadata, outcome, visit
from tests.support.commands import AMEMGYM, clean_environment, free_port, listen_to_signals
from tests.support.processes import children, members
from tests.support.ui_server import UiServer, ui_server
from tests.support.waiting import LONG, wait_until

pytestmark = pytest.mark.browser
SMALL = "num_users: 3\nnum_reserve: 1\nnum_questions: 2\nnum_periods: 2\nnum_changes_per_period: 2\n"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Generator[UiServer]:
    """A server with recipes of its own, which the page may write to."""
    home = tmp_path_factory.mktemp("own")
    (home / "recipes").mkdir()
    (home / "recipes" / "small.yaml").write_text(SMALL, encoding="utf-8")
    with ui_server(home, {"AMEMGYM_RECIPES": str(home / "recipes")}) as running:
        yield running


def test_a_variant_of_ones_own_takes_four_clicks_and_no_yaml(own: UiServer, browser: Browser, shots: Path | None) -> None:
    with visit(browser, own.url, shots=shots) as user:
        page = user.open("/pages/")
        page.get_by_label("Name").click()
        page.keyboard.type("retired")
        page.get_by_role("button", name="Create and open its launchpad").click()
        editor = page.locator(".CodeMirror.cm-s-config-editor")
        expect(editor).to_contain_text("num_users: 3")
        user.shoot(page, "50_launchpad_filled_in")
        # A double click selects the number, and another one is typed over it.
        editor.locator(".CodeMirror-line", has_text="num_users").locator(".cm-number").dblclick()
        page.keyboard.type("2")
        expect(editor).to_contain_text("num_users: 2")
        page.get_by_role("button", name="Launch Run").click()
        page.wait_for_url("**/runs/*")
        assert outcome(page) == "Success"
        for asset, key, value in (("user_profiles", "users", "2"), ("recipe", "overrides", "num_users = 2")):
            page.goto(f"{own.url}/assets/amemgym/{asset}?partition=retired")
            assert metadata(page)[key] == value
        page.goto(f"{own.url}/assets/amemgym/session_queries?view=checks")
        expect(page.get_by_text("Succeeded", exact=True).first).to_be_visible()
        page.goto(f"{own.url}/pages/")
        expect(page.get_by_role("row").filter(has_text="retired").get_by_role("link", name="0.1.0")).to_be_visible()
        user.shoot(page, "51_pages")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_all_that_was_started_ends_with_the_command(number: signal.Signals, tmp_path: Path) -> None:
    """After Ctrl-C, `kill`, a closed terminal, and where it is killed outright."""
    command = [*AMEMGYM, "ui", "--port", str(free_port())]
    with (tmp_path / "ui.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            env=clean_environment(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=listen_to_signals,
        )
    try:
        # Asked anew each time: a child that is gone at once, such as one that looks up the platform, is not the server.
        server = wait_until(lambda: _group_of_four(process.pid), seconds=2 * LONG)
        os.kill(process.pid, number)
        status = process.wait(2 * LONG)
        wait_until(lambda: not members(server), seconds=2 * LONG)
    finally:
        process.kill()  # and so all that it started, which the last of these tests shows
    assert status == (-signal.SIGKILL if number == signal.SIGKILL else 0)


def _group_of_four(process: int) -> int:
    """The child that leads a group of at least four processes; 0 before there is one."""
    for child in children(process):
        if len(members(child)) >= 4:
            return child
    return 0
