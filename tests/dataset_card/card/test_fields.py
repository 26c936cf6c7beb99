"""The fields and columns that a card lists: every one of every benchmark says what it means."""

import pytest

from dataset_card.card.fields import column_rows, field_rows
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry


@pytest.mark.parametrize("entry", BENCHMARKS.values(), ids=[entry.benchmark.name for entry in BENCHMARKS.values()])
def test_every_field_and_column_has_a_meaning(entry: BenchmarkEntry) -> None:
    benchmark = entry.benchmark
    listed = [*field_rows(benchmark.final.record), *column_rows(benchmark.tables, shown=benchmark.tables)]
    assert len(listed) > len(benchmark.tables)
    assert not [row.name for row in listed if not row.meaning]


def test_a_column_stands_under_its_table_with_its_type() -> None:
    benchmark = BENCHMARKS["amemgym"].benchmark
    (first, *_) = column_rows(benchmark.tables, shown=["states"])
    assert first == ("states.user_id", "text", "the persona's uuid")


def test_what_is_true_or_false_is_not_called_text() -> None:
    benchmark = BENCHMARKS["amemgym"].benchmark
    kinds = {row.name: row.kind for row in column_rows({"g": benchmark.tables["gate_records"]}, shown=["g"])}
    assert kinds["g.released"] == kinds["g.accepted"] == "true or false"
