"""On a telephone, a tablet and a desk, in light and in dark, no page of ours, nor a box on one, is wider than its window."""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from assets.amemgym.records.report import GateErrorRate, QualityReport, ShortcutLine
from assets.memory_items.report import ConditionLine, LengthLine, MemoryItemsReport
from assets.records.estimate import Estimate
from dataset_card.diff.page import diff_page
from dataset_card.release_store.folder import write_release
from pipelines.evaluation.folder import PAGE
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.leaderboard import write_leaderboard
from pipelines.home import Home
from pipelines.memories.contract import MemorySpec
from pipelines.ui.first_page import index_page
from tests.browser.pages import Visit, visit
from tests.dataset_card.diff.test_compare import BOTH, THIRD, diff, retold
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of
from tests.support import scenario
from tests.support.releases import content
from tests.support.scenario import varied
from tests.validation.test_report_page import hostile, report
from validation.amemgym.report.page import render_quality_page
from validation.memory_items.report import render_document_page

pytestmark = pytest.mark.browser
WIDTHS = (390, 768, 1400)
# The most pixels that the quality page of a set of base's size may be high, where nothing is beyond a limit.
HEIGHTS = {390: 9_000, 768: 9_000, 1400: 5_000}
LONG_NAME = "a-memory-of-ours-with-a-name-that-says-everything-about-how-it-was-set-and-why"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# What of a page has to be scrolled sideways by itself, with everything on it opened. A block of code may be.
SCROLLED = """() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  return [...document.querySelectorAll("body *:not(pre)")]
    .filter((one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.className} of ${one.scrollWidth} in ${one.clientWidth}: ${one.textContent.slice(0, 80)}`);
}"""
# What an eye has to come near for: texts below 12 pixels, a picture's as they are drawn.
TINY = """() => [...document.querySelectorAll("body *")]
  .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) && one.getClientRects().length)
  .map((one) => [one, one.getScreenCTM ? Math.hypot(one.getScreenCTM().a, one.getScreenCTM().b) : 1])
  .filter(([one, scale]) => parseFloat(getComputedStyle(one).fontSize) * scale < 11.9)
  .map(([one]) => one.textContent.slice(0, 80))"""
# As a run of a whole life has it: so many periods as no telephone is wide.
MANY_PERIODS = """document.querySelector("main").append(heatMap(
  [{ label: "ada", values: Array(21).fill({ value: 0.5, low: null, high: null }) }],
  [...Array(21).keys()], { corner: "period", caption: "At the end of each period" }))"""
PAGES = {
    "quality": "quality.html",
    "base": "base.html",
    "items": "items.html",
    "diff": "diff.html",
    "evaluation": f"runs/*/{PAGE}",
    "board": "boards/*.html",
    "pages": "pages.html",
}


def report_of_items() -> MemoryItemsReport:
    right = Estimate(value=0.5, low=0.4, high=0.6)
    condition = ConditionLine(condition="one fact left out", expected="wrong", tasks=2, readings=6, right=right, errors=0)
    length = LengthLine(target_tokens=128_000, tasks=2, shortest=127_000, longest=129_000, turns=40.5, documents=312.5)
    return MemoryItemsReport(
        variant="dr-base",
        noun="task",
        wanted=2,
        finished=2,
        replaced={},
        tokenizer="o200k_base",
        conditions=(condition,) * 3,
        lengths=(length,) * 4,
        length_tolerance=0.05,
        max_auroc=0.7,
        hops={"3": 2},
        licenses={"CC-BY-SA-4.0": 600},
    )


def report_of_base() -> QualityReport:
    """As many shortcuts and gates as base has; nothing is beyond a limit."""
    small = report()
    shortcuts: list[ShortcutLine] = []
    for number in range(29):
        shortcuts.append(varied(small.shortcuts[0], shortcut=f"shortcut {number}", verdict="holds", worst=()))
    share = Estimate(value=0.01, low=0.0, high=0.04)
    rates: list[GateErrorRate] = []
    for gate in ("event", "exposure", "recovery and choice", "summary"):
        for error in ("false_accept", "false_reject"):
            rates.append(GateErrorRate(gate=gate, error=error, kind="", decoys=100, errors=1, readings=200, share=share))
    return varied(
        small,
        users_wanted=1,
        replaced={},
        rules=(),
        shortcuts=tuple(shortcuts),
        gates=(small.gates[0],) * 6,
        gate_errors=tuple(rates),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One page of each kind."""
    place = tmp_path_factory.mktemp("pages")
    (place / "quality.html").write_text(render_quality_page(hostile()), encoding="utf-8")
    (place / "base.html").write_text(render_quality_page(report_of_base()), encoding="utf-8")
    (place / "items.html").write_text(render_document_page(report_of_items()), encoding="utf-8")
    run = finish(run_of(place / "runs", HonestModel()))
    searching = finish(run_of(place / "runs", HonestModel(), spec=MemorySpec(name=LONG_NAME, kind="rag", settings={"topk": 3})))
    write_leaderboard(compare_runs([run, searching]), runs=place / "runs")
    before = report_of_base()
    moved = [varied(line, accuracy=Estimate(value=0.7, low=0.6, high=0.8)) for line in before.shortcuts]
    after = {
        "items": (retold(), scenario.episode(THIRD)),
        "recipe": scenario.recipe(num_users=2, seed=7),
        "report": varied(before, shortcuts=tuple(moved)),
    }
    (place / "reports").mkdir()
    (place / "reports" / "demo.html").write_text(render_quality_page(before), encoding="utf-8")
    write_release(content(report=before), root=place / "releases")
    changed = diff(place, {"items": BOTH, "report": before}, after)
    (place / "pages.html").write_text(index_page(Home(place), problem="There is a variant 'demo' already."), encoding="utf-8")
    (place / "diff.html").write_text(diff_page(changed), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def reader(folder: Path, browser: Browser, shots: Path | None) -> Generator[Visit]:
    with visit(browser, folder.as_uri(), shots=shots) as here:
        yield here


def ink(page: Page) -> list[int]:
    """The colour of the page's text: red, green and blue."""
    colour: str = page.evaluate("getComputedStyle(document.body).color")
    return [int(part) for part in re.findall(r"\d+", colour)[:3]]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_without_scrolling_sideways(name: str, width: int, reader: Visit, folder: Path) -> None:
    (path, *_) = sorted(folder.glob(PAGES[name]))
    page = reader.open(f"/{path.relative_to(folder)}", width=width)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("body")).to_be_visible()
        reader.shoot(page, f"40_{name}_{width}_{scheme}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(SCROLLED) == []
        assert page.evaluate(TINY) == []
        assert (min(ink(page)) > 200) == (scheme == "dark")
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_many_periods_turn_where_the_window_is_narrow(width: int, reader: Visit, folder: Path) -> None:
    (path, *_) = sorted(folder.glob(PAGES["evaluation"]))
    page = reader.open(f"/{path.relative_to(folder)}", width=width)
    page.evaluate(MANY_PERIODS)
    page.locator(".heat").last.scroll_into_view_if_needed()
    reader.shoot(page, f"41_many_periods_{width}")
    assert page.evaluate(SCROLLED) == []
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_quality_page_shows_what_counts_and_folds_the_rest(width: int, reader: Visit) -> None:
    page = reader.open("/base.html", width=width)
    expect(page.get_by_text("May be released")).to_be_in_viewport()
    expect(page.locator("details[open]")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollHeight") <= HEIGHTS[width]
    page.goto(f"{reader.url}/quality.html")
    expect(page.locator("details[open] td.bad").first).to_be_visible()
    page.close()
