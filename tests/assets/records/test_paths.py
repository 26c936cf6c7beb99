"""Paths that come from outside: what is read as one, and what a link leads to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assets.records.paths import (
    PathRefused,
    files_inside,
    path_inside,
    read_file_name,
    read_own_path,
    read_python_path,
    read_relative_path,
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "does not lie inside"),
        (".", "does not lie inside"),
        ("..", "does not lie inside"),
        ("a/../b", "does not lie inside"),
        ("/etc/passwd", "does not lie inside"),
        ("a//b", "does not lie inside"),
        ("a/", "does not lie inside"),
        ("..\\b", "does not lie inside"),
        ("C:/b", "does not lie inside"),
        ("a\0", "has characters that no file name has"),
        ("a\n", "has characters that no file name has"),
        ("a\ud800", "has characters that no file name has"),
        ("x" * 300, "is longer than the path of a file may be"),
        ("é" * 150, "is longer than the path of a file may be"),
        ("x/" * 600 + "x", "is longer than the path of a file may be"),
        ("-rf", "would be read as an option"),
        ("a/NUL", "has the name of a device"),
        ("com1.txt", "has the name of a device"),
    ],
)
def test_a_path_that_is_none_in_a_folder_is_refused_and_shown_in_short(text: str, said: str) -> None:
    with pytest.raises(PathRefused, match=said) as refused:
        read_relative_path(text)
    assert len(str(refused.value)) < 250
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("text", ["a", "a/b.py", ".gitattributes", "a..b/c", "Käse/naïve.txt", "console.txt", "a b"])
def test_a_path_in_a_folder_is_taken_as_it_is(text: str) -> None:
    assert read_relative_path(text) == text


@pytest.mark.parametrize(
    ("read", "taken", "refused"),
    [
        (read_python_path, "package/__init__.py", "package/data.txt"),
        (read_python_path, "module.py", "a-b/module.py"),
        (read_python_path, "a/b.py", "a/b.py/c.py"),
        (read_file_name, "Ada", "people/Ada"),
        (read_own_path, "/home/ada/*.parquet", "/home/ada/\0"),
    ],
)
def test_each_reader_takes_what_belongs_there(read: Callable[[str], str], taken: str, refused: str) -> None:
    assert read(taken) == taken
    with pytest.raises(PathRefused):
        read(refused)


def test_a_link_is_followed_before_a_path_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "real").mkdir(parents=True)
    (folder / "real" / "a.txt").write_text("a")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "b.txt").write_text("b")
    (folder / "within").symlink_to("real")
    (folder / "loop").symlink_to("loop")
    assert path_inside(folder, "within/a.txt").read_text() == "a"
    assert path_inside(folder, "not/yet.txt") == folder / "not/yet.txt"
    assert list(files_inside(folder)) == [folder / "real" / "a.txt"]
    (folder / "out").symlink_to("../secret")
    for name in ("out", "out/b.txt", "out/not/yet.txt"):
        with pytest.raises(PathRefused, match="is a link, or lies behind one, that leads out of"):
            path_inside(folder, name)
    with pytest.raises(PathRefused, match="folder/out' is a link"):
        list(files_inside(folder))
