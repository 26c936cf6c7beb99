"""Records survive Arrow and Parquet exactly."""

import importlib
import json
import math
import pkgutil
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assets import records
from assets.amemgym.records.question import Question, QuestionSet, RequiredInfo
from assets.amemgym.records.state import ChatMessage, Session, StateTrajectory, StateUpdate, TrajectoryPeriod
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Failure, GateRecord, Name, Record
from assets.records.columnar import arrow_schema, columns_of, from_table, rows_as_dicts, to_table


def all_records() -> list[type[Record]]:
    modules = [importlib.import_module(f"assets.records.{module.name}") for module in pkgutil.iter_modules(records.__path__)]
    found = {item for module in modules for item in vars(module).values() if isinstance(item, type)}
    return sorted((item for item in found if issubclass(item, Record) and item.model_fields), key=lambda item: item.__name__)


class Inner(Record):
    text: Name | None
    pairs: dict[str, list[float]]


class Awkward(Record):
    number: int
    share: float | None
    right: bool
    day: date | None
    moment: datetime
    inner: Inner | None
    many: tuple[Inner, ...]
    deep: dict[str, dict[str, tuple[date, ...]]]
    maybe: tuple[str | None, ...] | None


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
INNERS = st.builds(
    Inner,
    text=st.none() | WORDS.filter(lambda text: bool(text.strip())),
    pairs=st.dictionaries(WORDS, st.lists(st.floats(allow_nan=False), max_size=2), max_size=3),
)
AWKWARD = st.builds(
    Awkward,
    number=st.integers(-(2**63), 2**63 - 1),
    share=st.none() | st.floats(allow_nan=False),
    right=st.booleans(),
    day=st.none() | st.dates(),
    moment=st.datetimes(),
    inner=st.none() | INNERS,
    many=st.lists(INNERS, max_size=2).map(tuple),
    deep=st.dictionaries(WORDS, st.dictionaries(WORDS, st.lists(st.dates(), max_size=2).map(tuple), max_size=2), max_size=2),
    maybe=st.none() | st.lists(st.none() | WORDS, max_size=3).map(tuple),
)
UPDATE = StateUpdate(variable="diät", old="vegan 🌱", new="'alles' \"und\" mehr")
FIRST = TrajectoryPeriod(
    index=0, start=None, end=date(2020, 10, 1), summary=None, updates=(), state={"z": "1", "diät": UPDATE.old, "a": "2"}
)
SECOND = TrajectoryPeriod(
    index=1, start=FIRST.end, end=date(2021, 1, 1), summary="x", updates=(UPDATE,), state={**FIRST.state, "diät": UPDATE.new}
)
VOTE = GateRecord(
    gate="recovery",
    item_id="q1",
    draft=0,
    refinement=0,
    vote=0,
    judge="j",
    text="",
    target={},
    reading={"a": ""},
    accepted=False,
)
SESSION = Session(
    session_time=datetime(2020, 10, 1, 9, 5, 7), event=None, exposed_states={"b": "1", "a": "2"}, query="Hallo\n你好\x00!"
)
REAL: list[Record] = [
    StateTrajectory(user_id="u", periods=(FIRST, SECOND)),
    Failure(item_id="u", position=3, stage="answers", reason="refused", message="", last_reply="", gate_records=(VOTE, VOTE)),
    Failure(item_id="u", position=3, stage="answers", reason="refused", message="", last_reply=""),
    VOTE,
    SESSION,
    SESSION.model_copy(update={"event": "é", "messages": (ChatMessage(role="user", content=""),)}),
    QuestionSet(user_id="u", questions=()),
    QuestionSet(
        user_id="u",
        questions=(Question(question_id="q", text="?", required_info=(RequiredInfo(info_type="t", info_choices=("x", "y")),)),),
    ),
    AMemGymRecipe(variant="base"),
    AMemGymRecipe(variant="mine", users_per_shard=3, exclude_ids=("a", "b"), start_date=date(1999, 2, 28)),
]


def through_parquet(table: pa.Table) -> pa.Table:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)  # pyright: ignore[reportUnknownMemberType]
    return pq.read_table(pa.BufferReader(sink.getvalue()))  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize("record_type", all_records(), ids=lambda record_type: record_type.__name__)
def test_every_record_of_the_project_has_a_schema_of_its_fields(record_type: type[Record]) -> None:
    schema = arrow_schema(record_type)
    assert schema.names == list(record_type.model_fields)
    assert from_table(to_table([], record_type=record_type), record_type=record_type) == []


@pytest.mark.parametrize("record", REAL, ids=lambda record: type(record).__name__)
def test_records_of_the_project_come_back_from_parquet_exactly(record: Record) -> None:
    back = from_table(through_parquet(to_table([record, record], record_type=type(record))), record_type=type(record))
    assert back == [record, record]
    assert [item.sha256() for item in back] == [record.sha256()] * 2


@given(st.lists(AWKWARD, max_size=4))
def test_what_goes_into_a_table_comes_out_of_it(rows: list[Awkward]) -> None:
    back = from_table(through_parquet(to_table(rows, record_type=Awkward)), record_type=Awkward)
    assert [row.model_dump_json() for row in back] == [row.model_dump_json() for row in rows]
    assert back == rows


@given(st.lists(AWKWARD, max_size=4))
def test_rows_are_what_reading_the_table_gives_with_their_keys_in_order(records: list[Awkward]) -> None:
    rows = rows_as_dicts(columns_of(records, record_type=Awkward), record_type=Awkward)
    assert rows == to_table(records, record_type=Awkward).to_pylist()
    assert json.dumps(rows) == json.dumps(rows, sort_keys=True)


def test_rows_with_different_keys_keep_their_own_keys_in_their_own_order() -> None:
    rows = [Inner(text=None, pairs={"b": [1.0], "a": []}), Inner(text=None, pairs={}), Inner(text="x", pairs={"c": [math.inf]})]
    back = from_table(to_table(rows, record_type=Inner), record_type=Inner)
    assert [list(row.pairs.items()) for row in back] == [[("b", [1.0]), ("a", [])], [], [("c", [math.inf])]]


def test_dates_and_times_are_text_that_no_reader_shifts() -> None:
    row: dict[str, Any] = to_table([SESSION], record_type=Session).to_pylist()[0]
    assert row["session_time"] == "2020-10-01 09:05:07"
    assert to_table([FIRST], record_type=TrajectoryPeriod).to_pylist()[0]["end"] == "2020-10-01"


def test_other_columns_and_another_order_of_columns_do_not_matter() -> None:
    table = to_table([VOTE], record_type=GateRecord)
    turned = table.select(table.column_names[::-1]).append_column("position", pa.array([7], pa.int32()))
    assert from_table(turned, record_type=GateRecord) == [VOTE]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(KeyError, match="accepted"):
        from_table(to_table([VOTE], record_type=GateRecord).drop_columns(["accepted"]), record_type=GateRecord)


def test_a_row_that_breaks_a_rule_of_its_record_is_refused() -> None:
    update: dict[str, Any] = to_table([UPDATE], record_type=StateUpdate).to_pylist()[0]
    wrong = pa.Table.from_pylist([{**update, "new": update["old"]}], schema=arrow_schema(StateUpdate))
    with pytest.raises(ValidationError, match="same value"):
        from_table(wrong, record_type=StateUpdate)


def test_an_annotation_without_a_lossless_column_is_refused() -> None:
    class Vague(Record):
        anything: int | str

    with pytest.raises(TypeError, match=r"int \| str"):
        arrow_schema(Vague)


def test_a_dict_is_a_list_of_key_and_value() -> None:
    row: dict[str, Any] = to_table([VOTE], record_type=GateRecord).to_pylist()[0]
    assert (row["target"], row["reading"]) == ([], [{"key": "a", "value": ""}])
