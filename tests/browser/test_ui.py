"""What a user does in the Dagster UI, done by a real browser on a real server."""

import json
import os
import re
import time
from collections.abc import Generator
from pathlib import Path

import dagster as dg
import duckdb
import pytest
from playwright.sync_api import Page, expect

from pipelines.definitions import defs
from tests.browser.pages import JOB, Visit, fill_in, graph, launch, metadata, outcome, save_config, start, visit
from tests.browser.ui_server import UiServer, ui_server

pytestmark = pytest.mark.browser
SPECS = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
PROGRESS = re.compile(r"^\w+ of base: \d+ of 100 users, \d+ calls")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[UiServer, None, None]:
    with ui_server(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture(scope="module")
def user(server: UiServer, tmp_path_factory: pytest.TempPathFactory) -> Generator[Visit, None, None]:
    shots = Path(os.environ.get("AMEMGYM_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    shots.mkdir(parents=True, exist_ok=True)
    with visit(server.url, shots=shots) as here:
        yield here


@pytest.fixture(scope="module")
def demo(user: Visit) -> str:
    """How the run ended that was started by hand: the demo with two users."""
    page = user.open(JOB)
    dialog = fill_in(page, partition="demo", override="num_users: 2")
    page.keyboard.press("ArrowLeft")
    user.shoot(page, "03_override_in_the_config_editor")
    save_config(page)
    user.shoot(page, "04_ready_to_launch")
    launch(page, dialog)
    ended = outcome(page)
    user.shoot(page, f"05_demo_run_{ended.lower()}")
    page.close()
    return ended


def test_the_graph_shows_every_asset_in_its_group(user: Visit) -> None:
    page = user.open("/asset-groups", width=3000, height=2000)
    nodes = graph(page)
    for name, spec in SPECS.items():
        expect(nodes.get_by_text(name, exact=True).first).to_be_visible()
        expect(nodes.get_by_text(str(spec.group_name), exact=True).first).to_be_visible()
    user.shoot(page, "01_graph")
    page.close()


def test_the_catalog_tells_each_assets_group_and_description(user: Visit) -> None:
    page = user.open("/assets", height=1300)
    for name, spec in SPECS.items():
        row = page.locator("[class*=VirtualizedTable_row]").filter(has=page.locator(f"a[href='/assets/{name}']"))
        expect(row.first).to_contain_text(str(spec.group_name))
        expect(row.first).to_contain_text(str(spec.description))
    user.shoot(page, "02_catalog")
    page.close()


def test_a_demo_with_an_overridden_number_of_users_is_made_from_the_page(demo: str) -> None:
    assert demo == "Success"


@pytest.mark.usefixtures("demo")
def test_a_materialization_shows_counts_and_rows_of_real_text(user: Visit, server: UiServer) -> None:
    page = user.open("/assets/session_queries")
    shown = metadata(page)
    user.shoot(page, "06_session_queries_overview")
    assert int(shown["users"]) == 2
    assert int(shown["calls"]) > 0
    page.get_by_text("[Show Markdown]").first.click()
    dialog = page.locator(".dagster-dialog")
    dialog.locator("tbody tr").nth(11).wait_for()  # the table is drawn after the dialog
    cells = dialog.locator("tbody tr td:nth-child(4)").all_inner_texts()
    user.shoot(page, "07_session_queries_preview")
    kept = _text_of(server.home / "snapshots" / shown["snapshot"])
    assert len(cells) == 12
    assert all(json.dumps(cell.strip()) in kept for cell in cells)
    page.close()


def _text_of(snapshot: Path) -> str:
    return json.dumps(duckdb.read_parquet(f"{snapshot}/part-*.parquet").fetchall(), default=str)


@pytest.mark.usefixtures("demo")
def test_the_recipe_and_the_release_tell_what_was_made_of_what(user: Visit, server: UiServer) -> None:
    for number, (name, told) in enumerate([("recipe", "num_users = 2"), ("release", "releases/demo/0.1.0")], start=8):
        page = user.open(f"/assets/{name}")
        shown = metadata(page)
        user.shoot(page, f"{number:02}_{name}_overview")
        assert any(told in value for value in shown.values()), shown
        page.close()
    assert (server.home / "releases" / "demo" / "0.1.0" / "manifest.json").is_file()


@pytest.mark.usefixtures("demo")
def test_the_checks_tab_shows_that_every_check_passed(user: Visit) -> None:
    keys = [key for key in defs.resolve_asset_graph().asset_check_keys if key.asset_key == dg.AssetKey("session_queries")]
    page = user.open("/assets/session_queries?view=checks")
    expect(page.get_by_text(f"Checks ({len(keys)})")).to_be_visible()
    for key in keys:
        page.get_by_text(key.name, exact=True).first.click()
        expect(page.get_by_text("Passed", exact=True)).to_be_visible()
        expect(page.get_by_text("Holds for all 2 users.")).to_be_visible()
    expect(page.get_by_text("Succeeded", exact=True)).to_have_count(len(keys))
    user.shoot(page, "10_checks")
    page.close()


@pytest.fixture(scope="module")
def impossible(user: Visit) -> Page:
    """The page of a run with an impossible override, which has time to end while another one starts."""
    return start(user, partition="extra", override="num_users: 0")


@pytest.mark.usefixtures("impossible")
def test_a_long_stage_reports_progress_and_a_cancelled_run_stops_soon_and_goes_on(user: Visit) -> None:
    page = start(user, partition="base", override="num_users: 100")
    expect(page.get_by_text(PROGRESS).first).to_be_visible(timeout=120_000)
    user.shoot(page, "11_progress")
    seconds = _cancel(page)
    user.shoot(page, "12_cancelled")
    assert seconds < 6, f"it took {seconds:.1f} s"
    page.close()
    page = start(user, partition="base", override="num_users: 3")
    assert outcome(page) == "Success"
    user.shoot(page, "13_rerun")
    page.goto(f"{user.url}/assets/user_profiles")
    shown = metadata(page)
    user.shoot(page, "14_rerun_from_what_was_kept")
    assert shown["calls"] == shown["calls_from_cache"] == "3"
    page.close()


def _cancel(page: Page) -> float:
    """Seconds from the order to the run's end, of which the page takes up to one to notice."""
    page.get_by_role("button", name="Terminate").click()
    page.get_by_role("button", name="Terminate 1 run").click()
    ordered = time.monotonic()
    assert outcome(page, seconds=60) == "Canceled"
    return time.monotonic() - ordered


def test_an_impossible_override_fails_with_a_sentence_on_the_run_page(user: Visit, impossible: Page) -> None:
    assert outcome(impossible) == "Failure"
    expect(impossible.get_by_text("Recipe 'extra': num_users is 0").last).to_be_visible()
    user.shoot(impossible, "15_impossible_override")


def test_nothing_was_asked_of_another_host_and_no_telemetry_was_kept(user: Visit, server: UiServer) -> None:
    page = user.open("/")
    assert '"telemetryEnabled": false' in page.content()
    assert user.seen == {"127.0.0.1"}
    assert not list((server.home / "dagster" / "logs").glob("*"))
