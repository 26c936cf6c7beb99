"""What a user does in the Dagster UI, done by a real browser: look around, make the demo, read what came out."""

import json
import re
from pathlib import Path

import dagster as dg
import duckdb
import pytest
from playwright.sync_api import expect

from pipelines.definitions import defs
from tests.browser.pages import (
    JOB,
    Visit,
    fill_in,
    metadata,
    opened_markdown,
    wait_for_rest,
    write_config,
    zoom_out_until_in_sight,
)
from tests.support.ui_server import UiServer

pytestmark = pytest.mark.browser
SPECS = {spec.key.path[-1]: spec for spec in defs.resolve_all_asset_specs()}
WIDTH = 1400


def test_a_benchmarks_graph_can_be_read_on_one_screen_with_all_groups_open(user: Visit) -> None:
    page = user.open("/pages/graph/amemgym", width=WIDTH, height=900)
    nodes = page.locator("svg foreignObject")
    # At first it is as wide as the screen, with the kinds of each asset; a few clicks bring all of it in sight.
    expect(nodes.get_by_text("Parquet", exact=True).nth(1)).to_be_visible()
    wait_for_rest(nodes)
    user.shoot(page, "01_graph_of_amemgym_at_first")
    for box in (node.bounding_box() for node in nodes.all()):
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= WIDTH
    zoom_out_until_in_sight(page, "recipe_file", "hub_release")
    user.shoot(page, "01_graph_of_amemgym")
    own = [name for name, spec in SPECS.items() if spec.tags.get("benchmark") == "amemgym"]
    for name in own:
        # In full: at most 18 letters, which Dagster does not cut from afar.
        expect(nodes.get_by_text(name, exact=True).first).to_be_in_viewport()
    letters = nodes.get_by_text("recipe_file", exact=True).first.evaluate("node => node.getBoundingClientRect().height")
    assert letters >= 10, "letters are too small to be read"
    page.close()


def test_an_asset_tells_its_columns_with_their_meaning(user: Visit) -> None:
    columns = SPECS["session_queries"].metadata["dagster/column_schema"].columns
    page = user.open("/assets/amemgym/session_queries", height=1400)
    for column in columns:
        row = page.locator("tr").filter(has=page.get_by_text(column.name, exact=True)).first
        expect(row).to_contain_text(column.description)
    page.close()


@pytest.mark.parametrize(
    ("config", "refusal"),
    [
        ("num_users: many", 'Value "many" of type "<class \'str\'>" is not valid for expected type "Int"'),
        ("num_userz: 3", 'unexpected config entry "num_userz"'),
        ("language: tlh", "tlh"),
    ],
)
def test_the_launchpad_refuses_what_cannot_be(user: Visit, config: str, refusal: str) -> None:
    page = user.open(JOB)
    fill_in(page, partition="demo", config=config)
    expect(page.get_by_text(refusal).last).to_be_visible()
    expect(page.get_by_role("button", name="Save config")).to_be_disabled()
    user.shoot(page, "02_refused")
    write_config(page, "num_users: 2")
    expect(page.get_by_text("No errors")).to_be_visible()
    page.close()


def test_a_demo_with_an_overridden_number_of_users_is_made_from_the_page(demo: str) -> None:
    assert demo == "Success"


@pytest.mark.usefixtures("demo")
def test_a_materialization_shows_counts_and_rows_of_real_text(user: Visit, server: UiServer) -> None:
    page = user.open("/assets/amemgym/session_queries")
    shown = metadata(page)
    user.shoot(page, "06_session_queries_overview")
    assert int(shown["users"]) == 2
    assert int(shown["calls"]) > 0
    # The preview stands in place, cut; the rows whole are among the details.
    expect(
        page.locator("tr").filter(has=page.get_by_text("preview", exact=True)).last.locator("table tbody tr").first
    ).to_be_visible()
    dialog = opened_markdown(page, "details")
    rows = dialog.locator("table").last.locator("tbody tr")
    rows.nth(11).wait_for()  # the table is drawn after the dialog
    cells = rows.locator("td:nth-child(4)").all_inner_texts()
    place = dialog.locator("tr").filter(has=page.get_by_text("snapshot", exact=True)).locator("td").last.inner_text()
    user.shoot(page, "07_session_queries_details")
    kept = _text_of(server.home / "snapshots" / place.strip())
    assert len(cells) == 12
    assert all(json.dumps(cell.strip()) in kept for cell in cells)
    page.close()


def _text_of(snapshot: Path) -> str:
    return json.dumps(duckdb.read_parquet(f"{snapshot}/part-*.parquet").fetchall(), default=str)


@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize("asset", ["session_queries", "quality_report", "release"])
def test_what_an_asset_shows_fits_a_screen(user: Visit, asset: str) -> None:
    page = user.open(f"/assets/amemgym/{asset}", width=1400, height=1200)
    shown = metadata(page)
    user.shoot(page, f"30_{asset}_1400")
    assert len(shown) <= 12
    wide = page.locator("table").filter(has=page.get_by_text("Timestamp", exact=True))
    assert (
        wide.evaluate("table => Math.max(...[...table.querySelectorAll('*')].map(one => one.getBoundingClientRect().right))")
        <= 1400
    )
    page.close()


@pytest.mark.usefixtures("demo")
def test_metadata_lead_to_the_pages(user: Visit) -> None:
    for asset, key, heading in (
        ("quality_report", "page", "Quality report: demo"),
        ("release", "report", "Quality report: demo"),
    ):
        page = user.open(f"/assets/amemgym/{asset}")
        row = page.locator("tr").filter(has=page.get_by_text(key, exact=True)).last
        with user.context.expect_page() as opened:
            row.get_by_role("link").first.click()
        expect(opened.value.get_by_role("heading", name=heading)).to_be_visible()
        opened.value.close()
        page.close()


@pytest.mark.usefixtures("demo")
def test_one_users_states_are_drawn(user: Visit) -> None:
    page = user.open("/assets/amemgym/state_trajectory")
    picture = opened_markdown(page, "life").locator("img")
    expect(picture).to_be_visible()
    user.shoot(page, "08_life_of_a_user")
    width, height = picture.evaluate("picture => [picture.naturalWidth, picture.naturalHeight]")
    assert width > 800
    assert height > 100
    page.close()


@pytest.mark.usefixtures("demo")
def test_the_recipe_and_the_release_tell_what_was_made_of_what(user: Visit, server: UiServer) -> None:
    for number, (name, told) in enumerate([("recipe", "num_users = 2"), ("release", "releases/demo/0.1.0")], start=9):
        page = user.open(f"/assets/amemgym/{name}")
        shown = metadata(page)
        user.shoot(page, f"{number:02}_{name}_overview")
        assert any(told in value for value in shown.values()), shown
        page.close()
    assert (server.home / "releases" / "demo" / "0.1.0" / "manifest.json").is_file()


@pytest.mark.usefixtures("demo")
def test_the_checks_tab_shows_that_every_check_passed(user: Visit) -> None:
    keys = [
        key
        for key in defs.resolve_asset_graph().asset_check_keys
        if key.asset_key == dg.AssetKey(["amemgym", "session_queries"])
    ]
    page = user.open("/assets/amemgym/session_queries?view=checks")
    expect(page.get_by_text(f"Checks ({len(keys)})")).to_be_visible()
    for key in keys:
        page.get_by_text(key.name, exact=True).first.click()
        expect(page.get_by_text("Passed", exact=True)).to_be_visible()
        expect(page.get_by_text(re.compile("(Holds|rules hold) for all 2 users.$"))).to_be_visible()
        expect(page.get_by_text("share_without_fault", exact=True).first).to_be_visible()
    expect(page.get_by_text("Succeeded", exact=True)).to_have_count(len(keys))
    user.shoot(page, "11_checks")
    page.close()
