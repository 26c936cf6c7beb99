"""The card's figures: drawn from numbers alone, and readable for everybody."""

import hashlib
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib.figure import Figure
from PIL import Image

from dataset_card.amemgym.plots import BRIGHT, Plot, Statistics, draw_png, plots, shortcuts_panel
from tests.support import scenario
from tests.support.releases import report

pytestmark = pytest.mark.slow  # each test draws figures, which take a second
PROJECT = Path(__file__).parents[3]
ELSEWHERE = """
import hashlib
from tests.dataset_card.card.test_plots import all_plots
print(*(hashlib.sha256(plot.png).hexdigest() for plot in all_plots().values()))
"""


def all_plots(**changes: Any) -> dict[str, Plot]:
    counter = Statistics()
    counter.add(scenario.episode())
    return plots(counter, report(**changes))


@pytest.fixture
def other_taste() -> Iterator[None]:
    draw_png.cache_clear()
    settings: Any = matplotlib
    with settings.rc_context({"figure.facecolor": "red", "font.size": 20, "axes.grid": True, "savefig.dpi": 30}):
        yield
    draw_png.cache_clear()


def test_numbers_of_the_scenario_are_counted_by_period() -> None:
    counter = Statistics()
    counter.add(scenario.episode())
    counter.add(scenario.episode("another"))
    assert counter.per_user(counter.sessions) == [2, 1, 1]
    assert counter.per_user(counter.updates) == [0, 2, 1]


def test_there_is_a_figure_for_what_there_are_numbers_for() -> None:
    counter = Statistics()
    counter.add(scenario.episode())
    assert list(plots(counter, None)) == ["course"]
    assert list(all_plots()) == ["course", "shortcuts"]
    assert list(all_plots(shortcuts=(), movement=None)) == ["course"]


def test_a_reader_s_own_settings_change_no_byte(other_taste: None) -> None:
    mine = {name: plot.png for name, plot in all_plots().items()}
    matplotlib.rcdefaults()
    draw_png.cache_clear()
    assert {name: plot.png for name, plot in all_plots().items()} == mine


def test_another_process_draws_the_same_bytes_without_date_or_program() -> None:
    code = [sys.executable, "-c", ELSEWHERE]
    told = subprocess.run(code, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split()
    mine = [plot.png for plot in all_plots().values()]
    assert told == [hashlib.sha256(png).hexdigest() for png in mine]
    assert not [png for png in mine if b"atplotlib" in png or b"tIME" in png]


def test_figures_are_opaque_and_light_so_that_they_can_be_read_on_a_dark_page() -> None:
    for plot in all_plots().values():
        with Image.open(io.BytesIO(plot.png)) as image:
            corner = image.convert("RGBA").getpixel((0, 0))
            assert corner == (255, 255, 255, 255)
            assert 600 <= image.width <= 1200
            assert image.height < image.width


def test_only_what_lies_right_of_its_mark_is_called_beyond_its_limit() -> None:
    """The marks of a picture of few users, for whom chance alone reaches more than the limit."""
    lines = [line for line in report().shortcuts if line.verdict != "unlimited"]
    axes: Any = Figure().add_subplot()
    shortcuts_panel(lines, axes)
    marks = [mark.get_xdata()[0] / 100 for mark in axes.lines if mark.get_color() == BRIGHT]
    assert marks == pytest.approx([max(line.limit, line.luck) for line in lines])
    assert any(line.luck > line.limit for line in lines)
    beyond = {line.shortcut for line, mark in zip(lines, marks, strict=True) if (line.accuracy.value or 0.0) > mark}
    assert {line.shortcut for line in report().crossed} <= beyond
