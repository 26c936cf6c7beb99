"""Groups of entry points: names without imports, objects when they are used, and one sentence where something is missing."""

import sys
from pathlib import Path

import pytest

from assets import entry_points
from assets.entry_points import EntryPointError, EntryPointGroup


@pytest.fixture
def colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EntryPointGroup[str]:
    """Return a group of an installed package: one module that is there, one that is not."""
    metadata = tmp_path / "colours-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: colours\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[colours]\nred = paint_shop:RED\nblue = closed_shop:BLUE\ngrey = paint_shop:GREY\n"
    )
    (tmp_path / "paint_shop.py").write_text("RED = '#f00'\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "paint_shop", raising=False)
    return EntryPointGroup[str]("colours", first="red")


def test_names_are_listed_without_an_import_and_the_first_comes_first(colours: EntryPointGroup[str]) -> None:
    assert (list(colours), len(colours), "blue" in colours) == (["red", "blue", "grey"], 3, True)
    assert "paint_shop" not in sys.modules
    assert colours["red"] == "#f00"
    assert colours.get("green") is None


@pytest.mark.parametrize(("name", "value"), [("blue", "closed_shop:BLUE"), ("grey", "paint_shop:GREY")])
def test_an_entry_whose_object_is_gone_is_told_with_its_place(colours: EntryPointGroup[str], name: str, value: str) -> None:
    with pytest.raises(EntryPointError, match=rf"^'{name}' of 'colours' is {value}, which cannot be imported \(.*make setup"):
        colours[name]


def test_a_name_that_was_added_since_the_installation_says_what_to_do(
    colours: EntryPointGroup[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[project.entry-points.colours]\ngreen = "paint_shop:GREEN"\n')
    monkeypatch.setattr(entry_points, "PROJECT", project)
    with pytest.raises(EntryPointError, match=r"^pyproject.toml enters 'green', but was installed before that; .*make setup"):
        colours["green"]
    project.write_text('[project.entry-points.colours]\nred = "paint_shop:RED"\n')
    entry_points.refuse_stale("colours", "red")


def test_a_group_without_its_first_entry_is_not_installed(colours: EntryPointGroup[str]) -> None:
    with pytest.raises(EntryPointError, match=r"^'gold' is not installed in 'colours'; install this package again: make setup"):
        list(EntryPointGroup[str]("colours", first="gold"))
    assert list(EntryPointGroup[str]("sounds")) == []


def test_what_is_made_in_a_process_is_found_by_its_name(colours: EntryPointGroup[str]) -> None:
    colours["white"] = "#fff"
    assert (list(colours)[-1], colours["white"]) == ("white", "#fff")
    del colours["white"]
    assert "white" not in colours
