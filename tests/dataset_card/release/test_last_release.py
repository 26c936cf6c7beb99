"""A release or page that comes from the very same again is left as it is, unread and undrawn; from anything else it is made."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.engine.last_made import LastMade
from dataset_card.errata.files import STUDIES
from dataset_card.release.folder import LAST, write_release
from dataset_card.release.versions import released_versions
from tests.support import scenario
from tests.support.releases import content, report
from validation.report.page import write_report_page

SNAPSHOTS = {"demo": {"episodes": "e" * 64}}


class Items:
    """Finished items, and how often they were read."""

    def __init__(self, *items: Any) -> None:
        self.items, self.readings = items or tuple(content().items), 0

    def __iter__(self) -> Iterator[Any]:
        self.readings += 1
        return iter(self.items)


def made(root: Path, items: Items, **changes: Any) -> Any:
    return write_release(content(items=items, **{"made_from": SNAPSHOTS, **changes}), root=root)


def test_the_same_release_reads_its_items_once(tmp_path: Path) -> None:
    items = Items()
    first, again = made(tmp_path, items), made(tmp_path, items)
    assert (first.created, again.created, items.readings) == (True, False, 1)
    assert (again.folder, again.manifest) == (first.folder, first.manifest)


@pytest.mark.parametrize(
    "change",
    [
        {"recipe": scenario.recipe(num_users=2, seed=3)},
        {"usage": None},
        {"prompts": {}},
        {"report": report()},
        {"generator": "x"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_else_decides_the_bytes_makes_it_anew(tmp_path: Path, change: dict[str, Any]) -> None:
    items = Items()
    made(tmp_path, items)
    assert made(tmp_path, items, **change).created
    assert items.readings == 2


def test_rows_of_other_snapshots_make_it_anew(tmp_path: Path) -> None:
    made(tmp_path, Items())
    fewer = Items(scenario.episode())
    assert made(tmp_path, fewer, made_from={"demo": {"episodes": "f" * 64}}).created


def test_results_of_a_study_beside_the_versions_make_it_anew(tmp_path: Path) -> None:
    items = Items()
    first = made(tmp_path, items)
    (first.folder.parent / STUDIES).write_text("[]")
    made(tmp_path, items)
    assert items.readings == 2


def test_a_release_that_is_gone_is_made_again_and_an_older_one_is_no_answer(tmp_path: Path) -> None:
    items = Items()
    first = made(tmp_path, items)
    later = made(tmp_path, items, usage=None)
    (first.folder.parent / LAST).unlink()
    assert made(tmp_path, items, usage=None).version == later.version
    shutil.rmtree(later.folder)
    assert made(tmp_path, items, usage=None).created
    assert released_versions(first.folder.parent) == [first.version, later.version]


def test_a_page_is_drawn_again_only_for_another_report_or_where_it_was_changed(tmp_path: Path) -> None:
    drawn: list[Any] = []

    def render(shown: Any) -> str:
        drawn.append(shown)
        return f"{shown.users_wanted} users"

    page = tmp_path / "demo.html"
    for shown in (report(), report(), report(users_wanted=2), report(users_wanted=2)):
        write_report_page(shown, render, page)
    assert (len(drawn), page.read_text()) == (2, "2 users")
    page.write_text("edited")
    write_report_page(report(users_wanted=2), render, page)
    assert (len(drawn), page.read_text()) == (3, "2 users")


def test_a_note_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    note = LastMade(tmp_path / "note", "rows")
    assert note.find() is None
    note.note("0.1.0")
    assert note.find() == "0.1.0"
    (tmp_path / "note").write_bytes(b"\xff")
    assert note.find() is None
