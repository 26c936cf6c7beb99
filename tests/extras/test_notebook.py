"""The guide's notebook runs from top to bottom, and shows what stands in it."""

from pathlib import Path

from tests.extras.notebook import NAME, executed, printed, read
from tests.support.guide import ROOT


def test_the_notebook_runs_and_shows_what_stands_in_it(tmp_path: Path) -> None:
    standing = list(printed(read(ROOT / NAME)))
    assert "a picture" in standing
    assert list(printed(executed(tmp_path / "copy"))) == standing
