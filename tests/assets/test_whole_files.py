"""A file is replaced as a whole, and nothing but a file is."""

import os
from pathlib import Path

import pytest

from assets.whole_files import whole_file


def test_a_file_is_replaced_at_the_end_and_kept_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with whole_file(path) as draft:
        draft.write_text("first")
    with pytest.raises(ZeroDivisionError), whole_file(path) as draft:
        draft.write_text(f"half {1 // 0}")
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_two_that_write_the_same_file_at_once_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with whole_file(path) as first, whole_file(path) as second:
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first", "it ended last"


def test_what_is_no_file_is_left_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileExistsError, match="would be lost"), whole_file(pipe) as draft:
        draft.write_text("all")
    assert pipe.is_fifo()
