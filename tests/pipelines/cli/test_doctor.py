"""`amemgym doctor` finds each damage of a data folder, repairs it, and the same data are made again."""

import sqlite3
from pathlib import Path

import pytest

from dataset_card.release.manifest import read_manifest
from pipelines.home import Home
from pipelines.resources.doctor import examine
from tests.support.commands import amemgym, finish


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    status, output = finish(amemgym(folder, "generate", "demo"))
    assert status == 0, output
    return folder


def data_digest(home: Path) -> str:
    return read_manifest(next((home / "releases" / "demo").glob("*.*.*"))).data_digest


def damage(home: Path) -> list[str]:
    """Damage one thing of each kind; what the doctor has to say of each."""
    with sqlite3.connect(home / "calls.sqlite") as calls:
        calls.execute("UPDATE replies SET value = CAST('{' AS BLOB) WHERE rowid = 3")
    with sqlite3.connect(home / "work.sqlite") as work:
        work.execute("UPDATE work SET value = CAST(replace(CAST(value AS TEXT), 'a', 'b') AS BLOB) WHERE rowid = 2")
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE calls SET input_tokens = 'many' WHERE rowid = 5")
    part = next((home / "snapshots" / "questions").rglob("part-*.parquet"))
    part.write_bytes(part.read_bytes()[:-30])
    next((home / "snapshots" / "events").rglob("LATEST")).write_text("0" * 64)
    value = home / "values" / "answers" / "demo.json"
    value.write_bytes(value.read_bytes().replace(b'"items":3', b'"items":2'))
    return [
        "1 rows of replies",
        "1 rows of work",
        "1 rows of calls",
        part.parent.name,
        "events/demo/LATEST",
        "answers/demo.json",
    ]


def test_every_damage_is_named_and_repaired_and_the_same_data_are_made_again(home: Path) -> None:
    before = data_digest(home)
    assert finish(amemgym(home, "doctor")) == (0, f"{home}: nothing is damaged.\n")
    wanted = damage(home)

    status, output = finish(amemgym(home, "doctor"))
    assert status == 1
    assert [words for words in wanted if words not in output] == []
    assert "6 of 6 damages are left; amemgym doctor --repair" in output

    status, output = finish(amemgym(home, "doctor", "--repair"))
    assert status == 0, output
    assert finish(amemgym(home, "doctor"))[0] == 0
    status, output = finish(amemgym(home, "generate", "demo"))
    assert status == 0, output
    assert data_digest(home) == before


def test_a_database_whose_pages_are_damaged_gives_the_rows_that_can_be_read(home: Path) -> None:
    path = home / "calls.sqlite"
    with sqlite3.connect(path) as calls:
        (rows,) = calls.execute("SELECT COUNT(*) FROM replies").fetchone()
        calls.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(content)

    assert "the database is damaged" in finish(amemgym(home, "doctor"))[1]
    assert finish(amemgym(home, "doctor", "--repair"))[0] == 0
    with sqlite3.connect(path) as calls:
        assert rows * 0.2 < calls.execute("SELECT COUNT(*) FROM replies").fetchone()[0] <= rows
    assert list(home.glob("calls.sqlite.damaged-*"))


def test_a_folder_of_a_later_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "home.json").write_text('{"version": 99}')
    for words in (("doctor",), ("generate", "demo")):
        status, output = finish(amemgym(tmp_path, *words))
        assert status == 1
        assert "was made by a later version of this program" in output
        assert "Traceback" not in output


def test_what_another_version_wrote_is_no_damage_and_can_be_deleted(tmp_path: Path) -> None:
    for name, content in (
        ("values/recipe/demo.json", 'Recipe\n{"variant": "demo"}'),
        ("snapshots/answers/demo/01/snapshot.json", "{}"),
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(content)
    found = examine(Home(tmp_path))

    assert [finding.of_another_version for finding in found] == [True, True]
    assert all(finding.mend() for finding in found)
    assert examine(Home(tmp_path)) == []
