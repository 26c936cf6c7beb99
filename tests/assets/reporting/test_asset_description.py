"""What assets show before anything is made: groups in data order, two sentences, columns with words, code."""

from pathlib import Path

import dagster as dg
import pytest

from assets.records.base import Record
from assets.reporting.definition_metadata import MOST_COLUMNS, POSITION, column_schema
from pipelines.benchmarks import BENCHMARKS
from pipelines.definitions import defs
from pipelines.evaluation.records import AnswerRow

SPECS = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
CATALOG = 240  # letters of a description that Dagster's catalog shows before it cuts
GRAPH = defs.resolve_asset_graph()


def test_groups_sort_in_the_order_in_which_data_passes_them() -> None:
    order = {str(spec.group_name): max(map(_depth, _keys(str(spec.group_name)))) for spec in SPECS.values()}
    prefixed = {entry.benchmark.prefix: set[str]() for entry in BENCHMARKS.values()}
    for name in order:
        prefixed[max(filter(name.startswith, prefixed), key=len)].add(name)
    for names in prefixed.values():
        depths = [order[name] for name in sorted(names)]
        assert depths == sorted(depths)
    assert prefixed["dr_"] == {"dr_1_worlds", "dr_2_tasks", "dr_3_release"}
    assert prefixed["code_"] == {"code_1_code", "code_2_tasks", "code_3_release"}
    assert prefixed[""] == {"1_states", "2_texts", "3_release"}


def _keys(name: str) -> list[dg.AssetKey]:
    return [spec.key for spec in SPECS.values() if spec.group_name == name]


def _depth(key: dg.AssetKey) -> int:
    return 1 + max(map(_depth, GRAPH.get(key).parent_keys), default=0)


def test_every_column_of_an_evaluations_answers_has_a_meaning() -> None:
    assert [column.name for column in column_schema(AnswerRow).columns if not column.description] == []


@pytest.mark.parametrize("name", sorted(SPECS))
def test_every_asset_tells_what_it_is_who_owns_it_and_where_its_code_lies(name: str) -> None:
    spec = SPECS[name]
    code = spec.metadata["dagster/code_references"]
    assert str(spec.description).count(". ") >= 1
    assert len(str(spec.description)) <= CATALOG
    assert spec.owners
    assert spec.kinds
    assert "asks_a_model" in spec.tags
    assert isinstance(code, dg.CodeReferencesMetadataValue)
    assert code.code_references
    for place in code.code_references:
        assert isinstance(place, dg.LocalFileCodeReference)
        assert Path(place.file_path).is_file()


@pytest.mark.parametrize(
    "stage",
    [entry.benchmark.asset_path(name) for entry in BENCHMARKS.values() for name in entry.benchmark.stage_names],
)
def test_every_column_of_a_snapshot_has_a_meaning(stage: str) -> None:
    schema = SPECS[stage].metadata["dagster/column_schema"]
    assert isinstance(schema, dg.TableSchema)
    assert schema.columns[:1] == [POSITION]
    assert [column.name for column in schema.columns if not column.description] == []
    assert len(schema.columns) <= MOST_COLUMNS or not any("." in column.name for column in schema.columns)


@pytest.mark.parametrize("name", sorted(name for name, spec in SPECS.items() if GRAPH.get(spec.key).is_materializable))
def test_every_asset_that_is_made_here_has_a_check_beside_it(name: str) -> None:
    assert any(key.asset_key == SPECS[name].key for key in GRAPH.asset_check_keys)


class Inner(Record):
    """What is inside of others. A second sentence."""

    deep: str


class Outer(Record):
    """A record with one of every kind of field."""

    plain: int
    many: tuple[Inner, ...]
    by_name: dict[str, Inner]


def test_nested_columns_are_named_by_their_way_and_mappings_stay_whole() -> None:
    columns = {column.name: (column.type, column.description) for column in column_schema(Outer).columns}
    assert columns == {
        "plain": ("int64", None),
        "many": ("list<struct>", "What is inside of others"),
        "many.deep": ("string", None),
        "by_name": ("map<string, struct>", None),
    }
