"""`python -m tests.browser.pictures [FOLDER]`: the pictures of the documentation, made anew from a demo of its own.

The terminal's is a recording; all others show pages as a browser does. They are committed: run this again when a page has
changed.
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from pipelines.evaluation.folder import PAGE
from tests.browser.pages import Visit, chromium, opened_markdown, visit, zoom_out_until_in_sight
from tests.browser.recording import drawn, record
from tests.support.commands import amemgym, finish
from tests.support.ui_server import ui_server

FOLDER = Path(__file__).parents[2] / "pipelines" / "guide" / "pictures"
WIDTH, HEIGHT = 1400, 900
COLOURS = 128  # of a picture's palette, which keeps it small
COMMANDS = (
    ("evaluate", "demo", "--memory", "full-history"),
    ("evaluate", "demo", "--memory", "bm25"),
    ("evaluate", "demo", "--memory", "none"),
    ("leaderboard",),
    ("generate", "demo", "--set", "num_users=4"),
)


def make_data(home: Path, pictures: Path) -> None:
    """What the pictures are of: a demo, recorded while it is made, evaluations, and a second version."""
    moments = list(record(home, "demo"))
    (pictures / "terminal.svg").write_text(drawn("amemgym demo", moments), encoding="utf-8")
    for words in COMMANDS:
        status, output = finish(amemgym(home, *words))
        assert status == 0, output


def take(visitor: Visit, home: Path, folder: Path) -> None:
    """Visit every page, and keep a picture of each."""
    (run,) = (path.parent.name for path in home.glob(f"runs/*-bm25-*/{PAGE}"))
    (board,) = (path.name for path in home.glob("boards/*.html"))
    shoot(visitor, "pages", "/pages/")
    shoot(visitor, "quality", "/pages/reports/demo.html")
    shoot(visitor, "evaluation", f"/pages/runs/{run}/{PAGE}", at="#life")
    shoot(visitor, "board", f"/pages/boards/{board}")
    page = visitor.open("/pages/graph/amemgym", width=WIDTH, height=HEIGHT)
    expect(page.locator("svg foreignObject").first).to_be_visible()
    zoom_out_until_in_sight(page, "recipe_file", "hub_release")
    keep(visitor, page, "graph")
    page = visitor.open("/pages/launchpad/demo", width=WIDTH, height=HEIGHT)
    expect(page.get_by_role("button", name="Launch Run")).to_be_enabled()
    keep(visitor, page, "launchpad")
    page = visitor.open("/assets/amemgym/state_trajectory", width=WIDTH, height=HEIGHT)
    expect(page.get_by_text("Timestamp", exact=True)).to_be_visible()
    picture = opened_markdown(page, "life").locator("img")
    expect(picture).to_be_visible()
    picture.screenshot(path=folder / "life.png")
    page.close()
    page = visitor.open("/assets/amemgym/session_queries?view=checks", width=WIDTH, height=HEIGHT)
    page.get_by_text("Succeeded", exact=True).first.wait_for()
    page.get_by_text("plain_prose", exact=True).first.click()
    expect(page.get_by_text("share_without_fault", exact=True).first).to_be_visible()
    keep(visitor, page, "checks")


def shoot(visitor: Visit, name: str, path: str, *, at: str = "") -> None:
    """A picture of one of our pages, from its top or from the place of that name."""
    page = visitor.open(path, width=WIDTH, height=HEIGHT)
    expect(page.locator("body")).to_be_visible()
    if at:
        page.locator(at).scroll_into_view_if_needed()
        page.evaluate(f"document.querySelector('{at}').scrollIntoView()")
    keep(visitor, page, name)


def keep(visitor: Visit, page: Page, name: str) -> None:
    """A picture of what is seen now."""
    page.mouse.move(WIDTH - 5, HEIGHT - 5)
    visitor.shoot(page, name)
    page.close()


def shrink(path: Path) -> None:
    """Few colours and a short file, without loss that one sees."""
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)


def main(folder: Path) -> None:
    """Make all, and say how large they are."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        make_data(home, folder)
        with chromium() as browser, ui_server(home, {}) as server, visit(browser, server.url, shots=folder) as visitor:
            take(visitor, home, folder)
    for path in sorted(folder.glob("*.png")):
        shrink(path)
    for path in sorted(folder.iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} KB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
