"""Great Expectations at work on the tables: complete, lazily imported, and silent."""

import gc
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

import pandas as pd

from assets.amemgym.pipeline import AMEMGYM
from assets.records.base import Record
from assets.records.report import ColumnLine
from tests.validation.clean_set import clean_set
from tests.validation.defects import at
from validation.amemgym.tables import EXPECTATIONS, TABLE_EXPECTATIONS
from validation.expectations.expectation import ColumnExpectation
from validation.expectations.validate import ExpectationRun, Tables, suite, validate_tables

watching: list[list[str]] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    writes = event == "open" and str(arguments[1] or "r")[0] in "wax"
    if watching and (writes or event in ("socket.connect", "socket.getaddrinfo", "os.mkdir", "tempfile.mkdtemp")):
        watching[-1].append(f"{event} {arguments[0]}")


# A hook stays for the life of the process, so it listens only while something is watched.
sys.addaudithook(_watch)


@contextmanager
def watched() -> Generator[list[str]]:
    """What is written or connected to meanwhile."""
    watching.append([])
    try:
        yield watching[-1]
    finally:
        watching.pop()


def test_every_row_of_a_set_in_parts_is_validated_and_nothing_is_broken() -> None:
    clean = clean_set()
    users = list(clean.released)[:2]
    expectations = ExpectationRun(AMEMGYM, TABLE_EXPECTATIONS, clean.recipe, items_at_once=1)
    for user in users:
        expectations.add(clean.records, user)
    lines = expectations.lines()
    assert [line for line in lines if not line.ok] == []
    for table, rows in clean.tables().items():
        expected = sum(1 for row in rows if getattr(row, "user_id", "") in users)
        assert {line.rows for line in lines if line.table == table} == {expected}


def suites(*names: str) -> dict[str, list[ColumnExpectation]]:
    return {name: suite(AMEMGYM.tables[name], EXPECTATIONS[name](clean_set().recipe, 3)) for name in names}


def validated(rows: Tables, own: Mapping[str, Sequence[ColumnExpectation]]) -> list[ColumnLine]:
    return validate_tables(rows, own, AMEMGYM, TABLE_EXPECTATIONS, released=clean_set().released)


def tables(name: str, rows: Sequence[Record]) -> dict[str, Sequence[Record]]:
    """The clean tables, one with other rows."""
    return {**clean_set().tables(), name: rows}


def test_a_value_of_another_type_breaks_its_own_expectations_and_stops_no_other() -> None:
    rows = at(age="41", name=None)(list(clean_set().tables()["users"]))
    lines = validated(tables("users", rows), suites("users"))
    broken = {(line.column, line.promise): line.sample[0] for line in lines if not line.ok}
    assert set(broken) == {("age", "is a whole number"), ("age", "is 0 to 120"), ("name", "is never missing")}
    assert broken["age", "is 0 to 120"] == "could not be computed on these rows"


def test_an_empty_table_keeps_what_is_said_of_rows_but_not_of_their_number() -> None:
    lines = validated(tables("users", []), suites("failures", "users"))
    broken = [(line.table, line.promise, line.unexpected) for line in lines if not line.ok]
    assert broken == [("users", "has a row for each user, 3 in all", 3)]


def test_nothing_is_written_and_nobody_is_called() -> None:
    validated(clean_set().tables(), suites("failures"))
    with watched() as seen:
        validated(clean_set().tables(), suites("failures", "users"))
    assert seen == []


def test_a_validation_leaves_nothing_of_its_tables_behind() -> None:
    expectations = ExpectationRun(AMEMGYM, TABLE_EXPECTATIONS, clean_set().recipe)
    episode = clean_set().rows("episodes")[0].model_copy(update={"user_id": "looked-at-once"})
    expectations.add({"episodes": {"looked-at-once": episode}}, "looked-at-once")
    expectations.lines()
    frames = [found for found in gc.get_objects() if isinstance(found, pd.DataFrame)]
    assert [frame for frame in frames if "looked-at-once" in frame.get("user_id", pd.Series()).to_list()] == []


def test_great_expectations_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, validation.checks, validation.report.asset, validation.amemgym.benchmark; "
    code += "sys.exit('great_expectations' in sys.modules or 'pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
