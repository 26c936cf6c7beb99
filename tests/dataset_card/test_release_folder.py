"""The release folder: its bytes, its versions, and that it is never half there."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from assets.records.columnar import from_table
from assets.records.episode import Episode
from assets.records.recipe import Recipe
from dataset_card.card import shared_recipe
from dataset_card.contents import ReleaseError
from dataset_card.folder import Release, ReleaseConflict, released_versions, write_release
from dataset_card.manifest import MANIFEST, read_manifest
from dataset_card.reference import data_json, read_data_json
from dataset_card.rows import TABLES
from dataset_card.sinks import ParquetSink
from dataset_card.verify import logical_digest, verify_release
from tests import scenario
from tests.dataset_card.releases import content, queried

PROJECT = Path(__file__).parents[2]
FILES = {
    "LICENSE",
    "README.md",
    "demo/data.json",
    "demo/test-00000-of-00001.parquet",
    "manifest.json",
    "recipe.yaml",
    *(f"tables/demo/{name}.parquet" for name in TABLES),
}


def all_bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return write_release(content(), root=tmp_path, version="0.1.0")


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
            write_release(content(episodes=episodes), root=tmp_path)
    assert list((tmp_path / "demo").iterdir()) == []


def test_a_failure_halfway_leaves_nothing(tmp_path: Path) -> None:
    def breaking() -> Iterator[Episode]:
        yield scenario.episode()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        write_release(content(episodes=breaking()), root=tmp_path)
    assert list((tmp_path / "demo").iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from dataset_card.folder import write_release
from tests import scenario
from tests.dataset_card.releases import content, queried

def episodes():
    yield scenario.episode()
    os.kill(os.getpid(), signal.SIGKILL)

write_release(content(episodes=episodes()), root=Path(sys.argv[1]), version="0.1.0")
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


def test_verify_finds_what_differs_is_missing_or_is_extra(release: Release) -> None:
    parquet = release.folder / "demo/test-00000-of-00001.parquet"
    data = bytearray(parquet.read_bytes())
    data[len(data) // 2] ^= 1
    parquet.write_bytes(data)
    with (release.folder / "LICENSE").open("a") as stream:
        stream.write("!")
    (release.folder / "tables/demo/users.parquet").unlink()
    (release.folder / "tables/demo/more.parquet").write_bytes(b"")
    (release.folder / ".gitattributes").write_bytes(b"")
    found = verify_release(release.folder)
    assert [problem.split()[0] for problem in found] == [
        "LICENSE",
        "demo/test-00000-of-00001.parquet",
        "tables/demo/users.parquet",
        "tables/demo/more.parquet",
    ]
    for problem, told in zip(found, ("bytes", "sha256", "is missing.", "is not in the manifest."), strict=True):
        assert told in problem


def test_verify_finds_rows_that_the_manifest_misstates(release: Release) -> None:
    files = tuple(
        file.model_copy(update={"rows": 7}) if file.path in {"demo/data.json", "tables/demo/users.parquet"} else file
        for file in release.manifest.files
    )
    body = release.manifest.model_copy(update={"files": files})
    changed = body.model_copy(update={"digest": body.release_digest()})
    (release.folder / MANIFEST).write_bytes(changed.to_bytes())
    assert verify_release(release.folder) == [
        "demo/data.json has 2 rows, but the manifest says 7.",
        "tables/demo/users.parquet has 2 rows, but the manifest says 7.",
    ]


def test_verify_tells_a_broken_or_missing_manifest(release: Release) -> None:
    manifest = release.folder / MANIFEST
    manifest.write_bytes(manifest.read_bytes().replace(b'"users": 2', b'"users": 3'))
    assert verify_release(release.folder) == ["manifest.json is wrong at the whole: its digest is not that of its content."]
    manifest.unlink()
    assert verify_release(release.folder) == ["manifest.json cannot be read: No such file or directory."]


def test_the_manifest_tells_what_the_release_was_made_from(release: Release) -> None:
    manifest = read_manifest(release.folder)
    assert manifest.recipe_fingerprint == content().recipe.fingerprint
    assert list(manifest.prompt_fingerprints) == ["answers/write", "questions/draft"]
    assert manifest.models == {"writer": "gpt-4.1", "judge": "gpt-4.1", "user_simulator": "gpt-4.1"}
    assert manifest.pool_digest == "ab" * 32
    assert manifest.usage is not None
    assert manifest.usage.cost_usd is None
    assert manifest.counts["users"] == 2
    rows = {file.path: file.rows for file in manifest.files}
    assert rows["tables/demo/states.parquet"] == 18
    assert rows["tables/demo/gate_records.parquet"] == 3
    assert rows["README.md"] is None


def test_logical_digests_can_be_computed_from_the_files(release: Release) -> None:
    for file in release.manifest.files:
        if file.logical_digest is not None:
            assert logical_digest(release.folder / file.path) == file.logical_digest


def test_votes_of_a_replaced_user_are_kept_and_marked(release: Release) -> None:
    votes = pd.read_parquet(release.folder / "tables/demo/gate_records.parquet")
    assert [(row["user_id"], row["number"], row["released"]) for _, row in votes.iterrows()] == [
        (scenario.USER_ID, 0, True),
        (scenario.USER_ID, 1, True),
        ("5f0c-max-002", 0, False),
    ]


def test_nested_parquet_and_json_hold_the_very_episodes(release: Release) -> None:
    episodes = list(content().episodes)
    table = pq.read_table(release.folder / "demo/test-00000-of-00001.parquet")  # pyright: ignore[reportUnknownMemberType]
    assert from_table(table, record_type=Episode) == episodes
    written = (release.folder / "demo/data.json").read_bytes()
    assert written == data_json(episodes) == data_json(read_data_json(release.folder / "demo/data.json"))


def test_pandas_and_duckdb_read_every_file(release: Release) -> None:
    for file in release.manifest.files:
        if file.path.endswith(".parquet"):
            path = release.folder / file.path
            counted = queried(f"SELECT count(*) FROM '{path}'")
            assert (len(pd.read_parquet(path)), counted) == (file.rows, [(file.rows,)])


def test_the_recipe_can_be_read_again_and_holds_no_path(release: Release) -> None:
    text = (release.folder / "recipe.yaml").read_text(encoding="utf-8")
    read = Recipe.model_validate(yaml.safe_load(text))
    assert read == shared_recipe(content().recipe)
    assert read.fingerprint == content().recipe.fingerprint
    assert read.pool.paths == ("personas.parquet",)
    assert not [name for name, data in all_bytes(release.folder).items() if b"/home/" in data]


def test_paths_in_any_notation_are_cut_to_their_names() -> None:
    recipe = scenario.recipe(
        pool={"paths": ["C:\\zoë\\a.parquet", "data/*.parquet"]},
        models={"writer": {"model": "/models/q.gguf"}, "judge": {"model": "meta/llama-3"}},
    )
    assert shared_recipe(recipe).pool.paths == ("a.parquet", "*.parquet")
    assert shared_recipe(recipe).models.writer.model == "q.gguf"
    assert shared_recipe(recipe).models.judge.model == "meta/llama-3"


def test_parquet_bytes_do_not_depend_on_how_rows_arrive(tmp_path: Path) -> None:
    episodes = [scenario.episode(f"user-{number}") for number in range(5)]
    for name, portions in {"a": [episodes], "b": [[episode] for episode in episodes]}.items():
        with ParquetSink(tmp_path / name, Episode, rows_per_group=2) as sink:
            for portion in portions:
                sink.add(portion)
            sink.close(root=tmp_path)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with pq.ParquetFile(tmp_path / "a") as file:
        assert [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)] == [2, 2, 1]
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
        assert file.metadata.row_group(0).column(0).has_column_index


def test_the_folder_is_readable_by_others(release: Release) -> None:
    plain = release.folder.parent.parent / "plain"
    plain.mkdir()
    assert release.folder.stat().st_mode == plain.stat().st_mode


def test_data_json_is_what_json_reads(release: Release) -> None:
    users = json.loads((release.folder / "demo/data.json").read_text(encoding="utf-8"))
    assert [user["id"] for user in users] == [scenario.USER_ID, "5f0c-ada-003"]
