"""The flat tables: their rows, keys and columns."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from assets.amemgym.tables import TABLES
from assets.records.base import Record
from assets.records.columnar import arrow_schema, from_table, to_table
from assets.records.common_tables import failure_row
from assets.records.flat_tables import rows_of_tables
from tests.support import gate_votes, scenario


def rows() -> dict[str, Sequence[Record]]:
    failures = [gate_votes.failure()]
    return {
        **rows_of_tables(TABLES, scenario.episode()),
        "gate_records": gate_votes.vote_rows(
            [(scenario.USER_ID, gate_votes.gate_records())], failures, released={scenario.USER_ID}
        ),
        "failures": [failure_row(failure) for failure in failures],
    }


def test_every_table_has_its_rows() -> None:
    assert {name: len(found) for name, found in rows().items()} == {
        "users": 1,
        "state_variables": 3,
        "periods": 3,
        "states": 9,
        "sessions": 4,
        "questions": 2,
        "answer_choices": 6,
        "gate_records": 3,
        "failures": 1,
    }


@pytest.mark.parametrize("name", TABLES)
def test_a_table_s_key_comes_first_and_tells_its_rows_apart(name: str) -> None:
    key = TABLES[name].key
    assert tuple(TABLES[name].row.model_fields)[: len(key)] == key
    keys = [tuple(getattr(row, column) for column in key) for row in rows()[name]]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", TABLES)
def test_rows_come_back_from_arrow_as_they_were(name: str) -> None:
    found = list(rows()[name])
    kind: Any = TABLES[name].row
    assert from_table(to_table(found, record_type=kind), record_type=kind) == found


def test_dictionaries_are_lists_of_key_and_value() -> None:
    schema: Any = arrow_schema(TABLES["sessions"].row)
    kind = schema.field("exposed_states").type
    assert kind == pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))


def test_a_state_row_tells_what_a_period_changed() -> None:
    states: Any = rows_of_tables(TABLES, scenario.episode())["states"]
    found = {(row.period, row.variable): (row.old_value, row.value, row.update_count) for row in states}
    assert found[0, scenario.DIET] == (None, "eats everything", 0)
    assert found[1, scenario.DIET] == ("eats everything", "vegetarian", 1)
    assert found[2, scenario.DIET] == (None, "vegetarian", 1)


def test_the_merged_variable_keeps_its_origins() -> None:
    variables: Any = rows_of_tables(TABLES, scenario.episode())["state_variables"]
    assert [row.merged_from for row in variables if row.variable == scenario.GOAL] == [("running_goal", "fitness target")]


def test_votes_are_numbered_by_user_and_say_whether_the_user_is_released() -> None:
    votes: Any = rows()["gate_records"]
    assert [(row.user_id, row.number, row.released) for row in votes] == [
        (scenario.USER_ID, 0, True),
        (scenario.USER_ID, 1, True),
        (gate_votes.failure().item_id, 0, False),
    ]
