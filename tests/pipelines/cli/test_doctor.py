"""`amemgym doctor` finds each damage of a data folder, repairs it, and the same data are made again."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from dataset_card.release.manifest import read_manifest
from dataset_card.release_store.folder import write_release
from pipelines.home import Home
from pipelines.opening.doctor import examine
from pipelines.resources.storage.io_manager import with_digest
from tests.support.commands import amemgym_here
from tests.support.releases import content as release_content


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
        ledger.execute("UPDATE calls SET variant = 'another' WHERE rowid = 6")
        ledger.execute("UPDATE calls SET output_tokens = output_tokens + 1 WHERE rowid = 7")
        ledger.execute("UPDATE calls SET model = CAST(x'ff' AS TEXT) WHERE rowid = 8")
    part = next((home / "snapshots" / "questions").rglob("part-*.parquet"))
    for file in (part, part.with_name("failures.parquet")):
        file.write_bytes(file.read_bytes()[:-30])
    next((home / "snapshots" / "events").rglob("LATEST")).write_text("0" * 64)
    finished = home / "finished" / "demo.json"
    finished.write_bytes(finished.read_bytes()[:-30])
    value = home / "values" / "answers" / "demo.json"
    value.write_bytes(value.read_bytes().replace(b'"items":2', b'"items":1'))
    return [
        "1 row of replies is damaged",
        "1 row of work is damaged",
        "4 rows of calls",
        part.name,
        f"{part.parent.name}/failures.parquet",
        "events/demo/LATEST",
        "answers/demo.json",
        "finished/demo.json: it was cut or changed",
    ]


def test_every_damage_is_named_and_repaired_and_the_same_data_are_made_again(demo_home: Path) -> None:
    before = data_digest(demo_home)
    status, output = amemgym_here(demo_home, "doctor")
    first, last, *sizes = output.splitlines()
    assert [line.partition(":")[0] for line in sizes] == ["What takes most room"]
    assert first.startswith("Code of packages ")
    assert (status, last.rpartition(", ")[0]) == (0, f"{demo_home}: nothing is damaged, everything can be written")
    wanted = damage(demo_home)

    status, output = amemgym_here(demo_home, "doctor")
    assert status == 1
    assert [words for words in wanted if words not in output] == []
    assert "8 of 8 damages are left; amemgym doctor --repair" in output

    status, output = amemgym_here(demo_home, "doctor", "--json")
    told, end = json.JSONDecoder().raw_decode(output)
    assert (status, told["folder"], told["obstacles"]) == (1, str(demo_home), [])
    assert [row["repaired"] for row in told["damages"]] == [False] * len(wanted)
    assert output[end:].strip().startswith("amemgym: 8 of 8 damages are left")

    status, output = amemgym_here(demo_home, "doctor", "--repair")
    assert status == 0, output
    for command in (["show"], ["quality", "demo"], ["regenerate", "1", "--from", "answers"]):
        told = amemgym_here(demo_home, *command)[1]
        assert f"of 'demo' are not here, though a release is, in {demo_home / 'releases' / 'demo'}" in told
    status, output = amemgym_here(demo_home, "generate", "demo")
    assert status == 0, output
    assert data_digest(demo_home) == before


def test_a_damage_that_no_repair_mends_is_told_and_counted_once(tmp_path: Path) -> None:
    release = write_release(release_content(), root=tmp_path / "releases", version="0.1.0")
    (release.folder / "README.md").write_text("another", encoding="utf-8")
    status, output = amemgym_here(tmp_path, "doctor", "--repair")
    assert (status, output.count("README.md")) == (1, 1), output
    assert "1 of 1 damage is left" in output


def test_a_database_whose_pages_are_damaged_gives_the_rows_that_can_be_read(demo_home: Path) -> None:
    path = demo_home / "calls.sqlite"
    with sqlite3.connect(path) as calls:
        (rows,) = calls.execute("SELECT COUNT(*) FROM replies").fetchone()
        calls.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(content)

    assert "the database is damaged" in amemgym_here(demo_home, "doctor")[1]
    assert amemgym_here(demo_home, "doctor", "--repair")[0] == 0
    with sqlite3.connect(path) as calls:
        assert rows * 0.2 < calls.execute("SELECT COUNT(*) FROM replies").fetchone()[0] <= rows
    assert list(demo_home.glob("calls.sqlite.damaged-*"))


def test_a_damaged_database_is_found_in_a_folder_of_any_name(tmp_path: Path) -> None:
    home = tmp_path / "100% #1?"
    home.mkdir()
    (home / "calls.sqlite").write_bytes(b"no database" * 1000)
    assert ["the database is damaged" in finding.what for finding in examine(Home(home))] == [True]
    assert [path.name for path in tmp_path.iterdir()] == [home.name]


def test_a_sound_database_on_a_read_only_disk_is_not_called_damaged(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "written.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE replies (key TEXT PRIMARY KEY, value BLOB, digest TEXT)")
        for neighbour in ("", "-wal"):  # as a run that is killed leaves them
            shutil.copy(tmp_path / f"written.sqlite{neighbour}", tmp_path / f"calls.sqlite{neighbour}")
    (tmp_path / "written.sqlite").unlink()
    (tmp_path / "calls.sqlite-shm").symlink_to("nowhere")  # which SQLite cannot open, as on such a disk
    assert examine(Home(tmp_path)) == []


def test_what_this_version_does_not_read_can_be_deleted(tmp_path: Path) -> None:
    for name, content in (
        ("values/recipe/demo.json", with_digest(b'Recipe\n{"variant": "demo"}\n')),
        ("snapshots/answers/demo/01/snapshot.json", b"{}"),
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(content)
    found = examine(Home(tmp_path))

    assert len(found) == 2
    assert all(finding.mend() for finding in found)
    assert examine(Home(tmp_path)) == []
