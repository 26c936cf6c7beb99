"""Croissant metadata: valid, true to the files, and usable from the release folder as from the Hub's layout."""

import gc
import json
import logging
import shutil
from pathlib import Path
from typing import Any, cast

import mlcroissant
import pyarrow.parquet as pq
import pytest

from dataset_card.amemgym.croissant import croissant_path
from dataset_card.hub.layout import repository_path
from dataset_card.release_store.folder import Release, write_release
from tests.support.releases import content

TIMES = ("start_date", "period_start", "period_end", "session_time")


@pytest.fixture(autouse=True)
def quiet() -> None:
    # It recommends a date and a version, which a release's bytes do not depend on.
    logging.getLogger("absl").setLevel(logging.ERROR)


def opened(folder: Path) -> Any:
    return mlcroissant.Dataset(folder / croissant_path("demo"))


def plain(value: Any) -> Any:
    """A record as the table has it: names without their place, text instead of bytes and times."""
    if isinstance(value, dict):
        return {name.rsplit("/", 1)[-1]: plain(item) for name, item in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [plain(item) for item in cast(list[Any], value)]
    return value.decode() if isinstance(value, bytes) else value


def rows(path: Path) -> list[dict[str, Any]]:
    table = pq.read_table(path)  # pyright: ignore[reportUnknownMemberType]
    return table.to_pylist()


def test_the_library_finds_nothing_wrong_but_the_missing_date_and_version(release: Release) -> None:
    issues = opened(release.folder).metadata.ctx.issues
    assert not issues.errors
    assert {warning.split("https://schema.org/")[1].split('"')[0] for warning in issues.warnings} == {
        "datePublished",
        "version",
    }


def test_all_rows_of_all_tables_are_loaded_through_it(release: Release) -> None:
    dataset = opened(release.folder)
    names = [record_set.name for record_set in dataset.metadata.record_sets]
    assert len(names) == 9
    for name in names:
        loaded = [plain(record) for record in dataset.records(name)]
        expected = rows(release.folder / "tables" / "demo" / f"{name}.parquet")
        for record in (*loaded, *expected):
            for column in TIMES:
                if record.get(column) is not None:
                    record[column] = str(record[column]).removesuffix(" 00:00:00")
        assert loaded == expected


def test_it_lists_every_data_file_with_its_digest_and_leaves_empty_tables_out(tmp_path: Path) -> None:
    release = write_release(content(failures=()), root=tmp_path)
    told = json.loads((release.folder / croissant_path("demo")).read_bytes())
    assert {file["@id"]: file["sha256"] for file in told["distribution"]} == {
        file.path: file.sha256 for file in release.manifest.files if file.rows
    }
    assert "failures" not in {record_set["@id"] for record_set in told["recordSet"]}


def test_a_changed_file_is_refused(release: Release) -> None:
    path = release.folder / "tables" / "demo" / "users.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(mlcroissant.GenerationError) as raised:
        list(opened(release.folder).records("users"))
    assert "not identical" in str(raised.value.__cause__)


def test_it_loads_from_where_the_files_lie_in_a_repository(release: Release, tmp_path: Path) -> None:
    there = tmp_path / "repository"
    for file in release.manifest.files:
        path = there / repository_path(file.path, variant="demo")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(release.folder / file.path, path)
    assert [plain(record)["user_id"] for record in opened(there).records("users")] == ["5f0c-zoë-001", "5f0c-ada-003"]


def test_every_column_has_its_meaning(release: Release) -> None:
    described = json.loads((release.folder / croissant_path("demo")).read_bytes())
    fields = [field for record_set in described["recordSet"] for field in record_set["field"]]
    assert len(fields) > 50
    assert not [field["name"] for field in fields if not field.get("description")]


def test_nothing_of_a_description_stays_in_memory(tmp_path: Path) -> None:
    vocabulary = type(mlcroissant.Context().rdf)
    gc.collect()
    before = sum(isinstance(one, vocabulary) for one in gc.get_objects())
    write_release(content(), root=tmp_path)
    gc.collect()
    assert sum(isinstance(one, vocabulary) for one in gc.get_objects()) <= before
