"""The release folder: its bytes, its versions, and that it is never half there."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.amemgym.records.episode import Episode
from assets.amemgym.tables import TABLES
from dataset_card.release.manifest import MANIFEST, ReleaseError
from dataset_card.release.verify import verify_release
from dataset_card.release.versions import released_versions
from dataset_card.release_store.folder import Release, ReleaseConflict, write_release
from tests.support import scenario
from tests.support.releases import all_bytes, content

PROJECT = Path(__file__).parents[3]
FILES = {
    "LICENSE",
    "README.md",
    "demo/croissant.json",
    "demo/data.json",
    "demo/data.settings.json",
    "demo/test-00000-of-00001.parquet",
    "eval.yaml",
    "figures/course.png",
    "manifest.json",
    "recipe.yaml",
    *(f"tables/demo/{name}.parquet" for name in TABLES),
    *(f"demo/gx/{kind}/{name}.json" for name in TABLES for kind in ("expectations", "validation_definitions")),
    "demo/gx/checkpoints/release.json",
    "demo/gx/great_expectations.yml",
}


def test_a_release_holds_exactly_its_files_and_verifies(release: Release, tmp_path: Path) -> None:
    assert release.folder == tmp_path / "demo" / "0.1.0"
    assert set(all_bytes(release.folder)) == FILES
    assert verify_release(release.folder) == []
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["0.1.0"]


def test_two_writes_give_the_same_bytes(release: Release, tmp_path: Path) -> None:
    again = write_release(content(), root=tmp_path / "elsewhere", version="0.1.0")
    assert all_bytes(again.folder) == all_bytes(release.folder)
    assert again.digest == release.digest


def test_the_digest_does_not_depend_on_the_version(release: Release, tmp_path: Path) -> None:
    other = write_release(content(), root=tmp_path, version="2.0.0")
    assert other.digest == release.digest
    assert {name for name, data in all_bytes(other.folder).items() if data != all_bytes(release.folder)[name]} == {MANIFEST}


def test_the_same_release_again_is_left_as_it_is(release: Release, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in release.folder.rglob("*")}
    again = write_release(content(), root=tmp_path, version="0.1.0")
    assert (release.created, again.created) == (True, False)
    assert again.manifest == release.manifest
    assert {path: path.stat().st_mtime_ns for path in release.folder.rglob("*")} == before


def test_other_content_under_a_released_version_is_refused(release: Release, tmp_path: Path) -> None:
    before = all_bytes(tmp_path)
    with pytest.raises(ReleaseConflict, match=r"Version 0\.1\.0 of demo is already released with other content"):
        write_release(content(failures=[]), root=tmp_path, version="0.1.0")
    assert all_bytes(tmp_path) == before
    assert [path.name for path in release.folder.parent.iterdir()] == ["0.1.0"]


def test_auto_keeps_the_highest_version_or_goes_one_patch_further(tmp_path: Path) -> None:
    def auto(**changes: object) -> str:
        return write_release(content(**changes), root=tmp_path, version="auto").version

    assert [auto(), auto(), auto(failures=[]), auto(failures=[])] == ["0.1.0", "0.1.0", "0.1.1", "0.1.1"]
    write_release(content(gate_records=()), root=tmp_path, version="0.1.10")
    assert [auto(gate_records=()), auto()] == ["0.1.10", "0.1.11"]
    assert released_versions(tmp_path / "demo") == ["0.1.0", "0.1.1", "0.1.10", "0.1.11"]


@pytest.mark.parametrize("version", ["1", "v1.0.0", "1.0.0\n", "../1.0.0", "01.0.0", ""])
def test_what_is_no_version_is_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(ReleaseError, match="is no version"):
        write_release(content(), root=tmp_path, version=version)


@pytest.mark.parametrize("variant", ["../demo", "a/b", ".hidden", "a b"])
def test_a_variant_that_cannot_name_a_folder_is_refused(tmp_path: Path, variant: str) -> None:
    with pytest.raises(ReleaseError, match="cannot name a folder"):
        write_release(content(recipe=scenario.recipe(variant=variant)), root=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_version_whose_manifest_is_broken_is_not_touched(release: Release, tmp_path: Path) -> None:
    (release.folder / MANIFEST).write_text("{")
    for version in ("0.1.0", "auto"):
        with pytest.raises(ReleaseConflict, match="is already there, but"):
            write_release(content(), root=tmp_path, version=version)


def test_a_set_without_users_or_with_one_twice_leaves_nothing(tmp_path: Path) -> None:
    for episodes, message in (([], "no finished user"), ([scenario.episode()] * 2, "twice")):
        with pytest.raises(ReleaseError, match=message):
            write_release(content(items=episodes), root=tmp_path)
    assert list((tmp_path / "demo").iterdir()) == []


def test_a_failure_halfway_leaves_nothing(tmp_path: Path) -> None:
    def breaking() -> Iterator[Episode]:
        yield scenario.episode()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        write_release(content(items=breaking()), root=tmp_path)
    assert list((tmp_path / "demo").iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from dataset_card.release_store.folder import write_release
from tests.support import scenario
from tests.support.releases import all_bytes, content, queried

def episodes():
    yield scenario.episode()
    os.kill(os.getpid(), signal.SIGKILL)

write_release(content(items=episodes()), root=Path(sys.argv[1]), version="0.1.0")
"""


def test_a_run_killed_halfway_leaves_nothing_visible_and_does_not_disturb_the_next(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=PROJECT, env={**os.environ, "PYTHONPATH": "."})
    assert killed.returncode == -signal.SIGKILL
    left = list((tmp_path / "demo").iterdir())
    assert left
    assert all(path.name.startswith(".") for path in left)
    assert released_versions(tmp_path / "demo") == []
    assert verify_release(write_release(content(), root=tmp_path).folder) == []


def test_writers_at_the_same_time_end_with_one_release(tmp_path: Path) -> None:
    found: list[Release] = []
    threads = [threading.Thread(target=lambda: found.append(write_release(content(), root=tmp_path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [release.version for release in found] == ["0.1.0"] * 4
    assert sum(release.created for release in found) == 1
