"""The recording of a terminal shows one moment at a time."""

from io import BytesIO
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.browser.pages import visit
from tests.browser.recording import BAR, COLUMNS, LINE, MARGIN, drawn

pytestmark = pytest.mark.browser
# Each has a word in another row. The first is gone before a clock of a hundredth of a second would have seen it.
TIMES = (0.0, 0.001, 0.5, 1.0)
MOMENTS = [(time, (*[""] * row, "words")) for row, time in enumerate(TIMES)]
BRIGHT = 150


def rows_with_words(page: Page) -> list[int]:
    """Which rows have something in them, as a screenshot shows."""
    with Image.open(BytesIO(page.screenshot())) as picture:
        grey = picture.convert("L")
    tops = [BAR + MARGIN + LINE * row + LINE // 4 for row in range(len(TIMES))]
    lines = [grey.crop((0, top, grey.width, top + LINE)) for top in tops]
    return [row for row, line in enumerate(lines) if max(line.tobytes()) > BRIGHT]


@pytest.mark.parametrize(("motion", "shown"), [("no-preference", {1, 2, 3}), ("reduce", {3})])
def test_one_moment_is_in_sight_and_the_last_where_nothing_moves(
    motion: Literal["no-preference", "reduce"], shown: set[int], browser: Browser, tmp_path: Path, shots: Path
) -> None:
    (tmp_path / "terminal.svg").write_text(drawn("amemgym demo", MOMENTS), encoding="utf-8")
    with visit(browser, tmp_path.as_uri(), shots=shots) as reader:
        page = reader.context.new_page()
        page.set_viewport_size({"width": COLUMNS * 8 + 12, "height": BAR + 2 * MARGIN + LINE * len(TIMES)})
        page.emulate_media(reduced_motion=motion)
        page.goto(f"{reader.url}/terminal.svg")
        seen = [rows_with_words(page) for _ in range(60)]
        reader.shoot(page, f"60_terminal_{motion}")
        page.wait_for_timeout(1500)
        assert rows_with_words(page) == [3]
    assert all(len(rows) == 1 for rows in seen)
    assert shown <= {row for (row,) in seen} <= shown | {0}
