"""The recording of a terminal shows one moment at a time."""

from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.browser.pages import visit
from tests.browser.recording import BAR, COLUMNS, LINE, MARGIN, PAUSE, drawn

pytestmark = pytest.mark.browser
# Each has a word in another row. The first is gone before a clock of a hundredth of a second would have seen it.
TIMES = (0.0, 0.001, 0.5, 1.0)
MOMENTS = [(time, (*[""] * row, "words")) for row, time in enumerate(TIMES)]
BRIGHT = 150
CLOSE = 0.0002  # seconds before and after a moment ends


def rows_with_words(page: Page) -> list[int]:
    """Which rows have something in them, as a screenshot shows."""
    with Image.open(BytesIO(page.screenshot())) as picture:
        grey = picture.convert("L")
    tops = [BAR + MARGIN + LINE * row + LINE // 4 for row in range(len(TIMES))]
    lines = [grey.crop((0, top, grey.width, top + LINE)) for top in tops]
    return [row for row, line in enumerate(lines) if max(line.tobytes()) > BRIGHT]


def hold_at(page: Page, seconds: float) -> None:
    """Hold what moves as it is so long after its begin.

    Another moment is drawn first. A seek to the moment that the page itself still stands at draws nothing, while
    what the reader sees may be further on: browsers move such pictures beside the page.
    """
    for moment in (TIMES[-1] + PAUSE / 2, seconds):
        page.evaluate(
            """async time => {
                document.getAnimations().forEach(one => {one.pause(); one.currentTime = time});
                for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
            }""",
            1000 * moment,
        )


@pytest.mark.parametrize(("motion", "moving"), [("no-preference", ["running"]), ("reduce", [])])
def test_one_moment_is_in_sight_and_the_last_where_nothing_moves(
    motion: Literal["no-preference", "reduce"], moving: list[str], browser: Browser, tmp_path: Path, shots: Path
) -> None:
    (tmp_path / "terminal.svg").write_text(drawn("amemgym demo", MOMENTS), encoding="utf-8")
    seen = list[list[int]]()
    with visit(browser, tmp_path.as_uri(), shots=shots) as reader:
        page = reader.context.new_page()
        page.set_viewport_size({"width": COLUMNS * 8 + 12, "height": BAR + 2 * MARGIN + LINE * len(TIMES)})
        page.emulate_media(reduced_motion=motion)
        page.goto(f"{reader.url}/terminal.svg")
        assert page.evaluate("document.getAnimations().map(one => one.playState)") == moving
        for begin, end in pairwise((*TIMES, TIMES[-1] + PAUSE)):
            for seconds in (begin + CLOSE, (begin + end) / 2, end - CLOSE):
                hold_at(page, seconds)
                seen.append(rows_with_words(page))
        reader.shoot(page, f"60_terminal_{motion}")
        hold_at(page, TIMES[-1] + PAUSE + CLOSE)
        begun_again = rows_with_words(page)
    if moving:
        assert seen == [[row] for row in range(len(TIMES)) for _ in range(3)]
        assert begun_again == [0]
    else:
        assert [*seen, begun_again] == [[3]] * 13
