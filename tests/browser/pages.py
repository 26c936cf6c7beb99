"""What a user does on Dagster's pages, and a headless Chromium to do it with."""

import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, expect, sync_playwright
from playwright.sync_api import TimeoutError as TimedOut

JOBS = "/locations/amemgym/jobs"
JOB = f"{JOBS}/generate_and_release"
RUN_SECONDS = 600.0
TRIES = 5
TOOLBAR = 130  # pixels above the graph
# A page on a loaded machine takes its time, and so does a click that makes Dagster load the definitions again.
PATIENCE = 180_000  # milliseconds
expect.set_options(timeout=PATIENCE)
ENDED = re.compile(r"^(Success|Failure|Canceled)$")
# As root, Chromium starts without its sandbox only. What it would fetch for itself, it cannot resolve. Names that end in
# .example lead to this machine, as a foreign page's DNS may make its own name do.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@dataclass(frozen=True)
class Visit:
    """A browser at one server: `seen` lists the hosts it asked, `shots` is where pictures go, if any are kept."""

    context: BrowserContext
    url: str
    shots: Path | None
    seen: set[str] = field(default_factory=set[str])

    def open(self, path: str, *, width: int = 1600, height: int = 1000) -> Page:
        """A page in a tab of its own."""
        page = self.context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.goto(self.url + path)
        return page

    def shoot(self, page: Page, name: str) -> None:
        """Keep a picture, once the page has come to rest, where there is a folder for pictures."""
        if self.shots is not None:
            page.wait_for_timeout(700)
            page.screenshot(path=self.shots / f"{name}.png")


@contextmanager
def chromium() -> Generator[Browser, None, None]:
    """Start Debian's Chromium, or the one that CHROMIUM names."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert path, "There is no chromium; `make test-browser` installs it on Debian, or set CHROMIUM to its path."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(browser: Browser, url: str, *, shots: Path | None) -> Generator[Visit, None, None]:
    """A visit with a memory of its own, as in a private window."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    here = Visit(context, url, shots)

    def note(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob"):
            here.seen.add(parts.hostname or request.url)

    context.on("request", note)
    try:
        yield here
    finally:
        context.close()


def zoom_out_until_in_sight(page: Page, *names: str) -> None:
    """Make the graph smaller until the nodes of these names are on the screen; what is not, Dagster does not draw."""
    nodes = page.locator("svg foreignObject")
    wait_for_rest(nodes)
    height = page.viewport_size["height"] if page.viewport_size else 0

    def in_sight(name: str) -> bool:
        node = nodes.get_by_text(name, exact=True)
        box = node.first.bounding_box() if node.count() else None
        return box is not None and box["y"] > TOOLBAR and box["y"] + box["height"] < height

    while not all(map(in_sight, names)):
        page.get_by_role("button", name="zoom_out").click()
        wait_for_rest(nodes)


def wait_for_rest(nodes: Locator) -> None:
    """Wait until the graph's nodes stand still. They are laid out again while they load, and glide when they are zoomed."""
    before, places = "", "not looked at"
    while before != places:
        nodes.page.wait_for_timeout(300)
        before, places = places, nodes.evaluate_all("nodes => JSON.stringify(nodes.map((one) => one.getBoundingClientRect()))")


def click_until(button: Locator, wanted: Locator) -> None:
    """Click until something is in sight. Dagster draws a dialog anew while it loads, and a click on what goes is lost."""
    for _ in range(TRIES):
        button.click()
        with suppress(TimedOut):
            wanted.wait_for(timeout=10_000)
            break


def fill_in(page: Page, *, partition: str, config: str, op: str = "amemgym__recipe") -> Locator:
    """Open the materialize dialog of the page's job, choose a partition and configure one of its assets."""
    # Until the graph knows what is materialized, the page would ask whether one is sure.
    expect(page.get_by_text("Loading...")).to_have_count(0)
    page.get_by_role("button", name="Materialize").first.click()
    dialog = page.locator(".dagster-dialog").first
    item = page.locator(".dagster-popover").get_by_role("menuitem").filter(has=page.get_by_text(partition, exact=True))
    click_until(dialog.get_by_text("Select a partition"), item)
    item.click()
    page.keyboard.press("Escape")
    dialog.get_by_text("Config", exact=True).click()
    dialog.get_by_text("Add config").click()
    write_config(page, config, op=op)
    return dialog


def write_config(page: Page, config: str, *, op: str = "amemgym__recipe") -> None:
    """Put this into the open configuration editor, in place of what is there; one line for each field."""
    fields = "".join(f"\n      {line}" for line in config.splitlines())
    page.locator(".CodeMirror.cm-s-config-editor").click()
    page.keyboard.press("Control+KeyA")
    page.keyboard.insert_text(f"ops:\n  {op}:\n    config:{fields}")


def save_config(page: Page) -> None:
    """Close the configuration editor, which has nothing to object to."""
    expect(page.get_by_text("No errors")).to_be_visible()
    page.get_by_role("button", name="Save config").click()


def launch(page: Page, dialog: Locator) -> None:
    """Start the run and follow the link to its page."""
    dialog.get_by_role("button", name="Launch 1 run").click()
    page.get_by_role("link", name="View", exact=True).click()
    page.wait_for_url("**/runs/*")
    # The notice with the link stays for a while, over the run's last log lines.
    page.reload()


def start(visit: Visit, *, partition: str, config: str, job: str = "generate_and_release", op: str = "amemgym__recipe") -> Page:
    """The page of a new run of a job, whole."""
    page = visit.open(f"{JOBS}/{job}")
    dialog = fill_in(page, partition=partition, config=config, op=op)
    save_config(page)
    launch(page, dialog)
    return page


def outcome(page: Page) -> str:
    """How the run of this page ended."""
    status = page.get_by_text(ENDED).first
    expect(status).to_be_visible(timeout=RUN_SECONDS * 1000)
    return status.inner_text()


def metadata(page: Page) -> dict[str, str]:
    """The metadata that an asset's overview shows, by key."""
    table = page.locator("table").filter(has=page.get_by_text("Timestamp", exact=True))
    expect(table).to_be_visible()
    rows = [row.locator("> td").all_inner_texts() for row in table.locator("> tbody > tr").all()]
    return {row[0].strip(): row[2].strip() for row in rows if len(row) >= 3}


def opened_markdown(page: Page, key: str) -> Locator:
    """The dialog with longer metadata of this key."""
    row = page.locator("tr").filter(has=page.get_by_text(key, exact=True)).last
    row.get_by_text("[Show Markdown]").click()
    return page.locator(".dagster-dialog")
