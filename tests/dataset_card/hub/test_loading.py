"""A published release in the hands of readers: whatever library opens it, out come the episodes it was made from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from assets.amemgym.records.episode import Episode
from assets.records.columnar import arrow_schema, from_table
from dataset_card.amemgym.reference.data_json import read_data_json, to_reference
from dataset_card.hub.port import Hub
from dataset_card.hub.read import ReleaseReader
from dataset_card.hub.tag_registry import TagRegistry
from tests.support import scenario
from tests.support.hub_server.releases import a_release, published
from tests.support.hub_server.state import FakeHub

NESTED = "test-00000-of-00001.parquet"


def episodes(users: int) -> list[Episode]:
    """The episodes that `a_release` writes, in its order."""
    return [scenario.episode(f"5f0c-user-{number:03}") for number in range(users)]


def as_episodes(table: pa.Table) -> list[Episode]:
    return from_table(table.cast(arrow_schema(Episode)), record_type=Episode)


@pytest.fixture
def datasets(fake: FakeHub, tmp_path: Path) -> Iterator[Any]:
    """The real library, bound to the Hub of these tests, without what another test left in its cache."""
    import datasets

    library: Any = datasets
    library.disable_progress_bars()
    before = library.config.HF_DATASETS_CACHE
    library.config.HF_DATASETS_CACHE = tmp_path / "datasets"
    yield library
    library.config.HF_DATASETS_CACHE = before


@pytest.fixture
def fetched(hub: Hub, repo: str, tmp_path: Path, registry: TagRegistry) -> Path:
    """A release that went to the Hub and came back."""
    published(hub, a_release(variant="base"), repo=repo)
    reader = ReleaseReader(lambda: hub, cache=tmp_path / "fetched", registry=registry, notice=lambda _: None)
    return reader.read(f"{repo}@base-v0.1.0").folder


def test_load_dataset_by_tag_gives_the_episodes_of_that_version(fake: FakeHub, hub: Hub, repo: str, datasets: Any) -> None:
    for release in (a_release(variant="base"), a_release(variant="base", version="0.2.0", users=3)):
        published(hub, release, repo=repo)
    for tag, users in (("base-v0.1.0", 2), ("base-v0.2.0", 3)):
        loaded = datasets.load_dataset(repo, "base", split="test", revision=tag)
        assert as_episodes(loaded.with_format("arrow")[:]) == episodes(users)


def test_load_dataset_knows_every_configuration_of_every_variant(fake: FakeHub, hub: Hub, repo: str, datasets: Any) -> None:
    for variant in ("extra", "base"):
        published(hub, a_release(variant=variant), repo=repo)
    names = datasets.get_dataset_config_names(repo, revision="base-v0.1.0")
    assert {"base", "extra", "base_questions", "extra_questions"} <= set(names)
    assert datasets.get_dataset_default_config_name(repo, revision="base-v0.1.0") == "base"
    expected = {"base": 2, "extra": 2, "base_questions": 4}
    rows = {name: datasets.load_dataset(repo, name, split="test", revision="base-v0.1.0").num_rows for name in expected}
    assert rows == expected


def test_pandas_gives_the_episodes(fetched: Path) -> None:
    import pandas as pd

    frame = pd.read_parquet(fetched / "base" / NESTED)
    assert as_episodes(pa.Table.from_pandas(frame, schema=arrow_schema(Episode), preserve_index=False)) == episodes(2)


def test_duckdb_gives_the_episodes(fetched: Path) -> None:
    with duckdb.connect() as connection:
        table = connection.sql(f"SELECT * FROM '{fetched}/base/test-*.parquet'").to_arrow_table()
        assert as_episodes(table) == episodes(2)


def test_data_json_gives_the_episodes(fetched: Path) -> None:
    there_and_back = [to_reference(one) for one in read_data_json(fetched / "base" / "data.json")]
    assert there_and_back == [to_reference(one) for one in episodes(2)]
