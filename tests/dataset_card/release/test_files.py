"""What the files of a release hold, and that common tools read them."""

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import yaml

from assets.amemgym.records.episode import Episode
from assets.amemgym.tables import TABLES
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Record
from assets.records.columnar import from_table
from dataset_card.amemgym.reference.data_json import data_json, read_data_json
from dataset_card.card.recipe import shared_recipe
from dataset_card.release.manifest import read_manifest
from dataset_card.release.verify import logical_digest
from dataset_card.release.writers import ParquetFileWriter
from dataset_card.release_store.folder import Release
from tests.support import scenario
from tests.support.releases import all_bytes, content, queried


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
    episodes = [Episode.model_validate(item) for item in content().items]
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
    read = AMemGymRecipe.model_validate(yaml.safe_load(text))
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
        with ParquetFileWriter(tmp_path / name, Episode, rows_per_group=2) as sink:
            for portion in portions:
                sink.add(portion)
            sink.close(root=tmp_path)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with pq.ParquetFile(tmp_path / "a") as file:
        assert [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)] == [2, 2, 1]
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
        assert file.metadata.row_group(0).column(0).has_column_index


def test_all_rows_of_a_release_have_a_digest_and_rows_with_floats_have_none(release: Release, tmp_path: Path) -> None:
    assert all((file.rows is None) == (file.logical_digest is None) for file in release.manifest.files)
    assert len([file for file in release.manifest.files if file.logical_digest]) == len(TABLES) + 2

    class Share(Record):
        shares: dict[str, tuple[float, ...]]

    with ParquetFileWriter(tmp_path / "shares.parquet", Share) as sink:
        sink.add([Share(shares={"a": (0.5,)})])
        assert sink.close(root=tmp_path).logical_digest is None


def test_the_folder_is_readable_by_others(release: Release) -> None:
    plain = release.folder.parent.parent / "plain"
    plain.mkdir()
    assert release.folder.stat().st_mode == plain.stat().st_mode


def test_data_json_is_what_json_reads(release: Release) -> None:
    users = json.loads((release.folder / "demo/data.json").read_text(encoding="utf-8"))
    assert [user["id"] for user in users] == [scenario.USER_ID, "5f0c-ada-003"]
