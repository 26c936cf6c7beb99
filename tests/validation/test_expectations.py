"""Great Expectations at work on the tables: complete, lazily imported, and silent; its suites and pages are files."""

import gc
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.records.base import Record
from assets.records.report import ColumnLine
from tests.validation.clean_set import clean_set
from tests.validation.defects import at
from tests.validation.validated_tables import validate_tables
from validation.amemgym.tables import TABLE_EXPECTATIONS, suite_parameters
from validation.expectations import project
from validation.expectations.expectation import ColumnExpectation
from validation.expectations.project import DATA_DOCS, PROJECT, SuiteError, read_suite
from validation.expectations.validate import ExpectationRun, Tables
from validation.rules import RecordsOfItem

watching: list[list[tuple[str, str]]] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    writes = event == "open" and str(arguments[1] or "r")[0] in "wax"
    if watching and (writes or event in ("socket.connect", "socket.getaddrinfo", "os.mkdir", "tempfile.mkdtemp")):
        watching[-1].append((event, str(arguments[0])))


@cache
def _hear() -> None:
    """Have Python tell what it does: from the first watching on, as a hook is called for the life of the process."""
    sys.addaudithook(_watch)


@contextmanager
def watched() -> Generator[list[tuple[str, str]]]:
    """What is written or connected to meanwhile."""
    _hear()
    watching.append([])
    try:
        yield watching[-1]
    finally:
        watching.pop()


def test_every_row_of_a_set_in_parts_is_validated_and_nothing_is_broken(tmp_path: Path) -> None:
    clean = clean_set()
    users = list(clean.released)[:2]
    expectations = ExpectationRun(AMEMGYM, TABLE_EXPECTATIONS, clean.recipe, project=tmp_path / "gx", items_at_once=1)
    for user in users:
        expectations.add(clean.of_user(user))
    lines = expectations.lines()
    assert [line for line in lines if not line.ok] == []
    for table, rows in clean.tables.items():
        expected = sum(1 for row in rows if getattr(row, "user_id", "") in users)
        assert {line.rows for line in lines if line.table == table} == {expected}
    site = (tmp_path / "gx" / DATA_DOCS).parent
    assert len(list(site.glob("validations/users/**/*.html"))) == len(users)
    assert (site / "expectations" / "users.html").is_file()


def suites(*names: str) -> dict[str, list[ColumnExpectation]]:
    every = TABLE_EXPECTATIONS.suites(AMEMGYM, clean_set().recipe, items=3)
    return {name: every[name] for name in names}


def validated(rows: Tables, own: Mapping[str, Sequence[ColumnExpectation]], folder: Path) -> list[ColumnLine]:
    return validate_tables(rows, own, AMEMGYM, TABLE_EXPECTATIONS, released=clean_set().released, project=folder)


def tables(name: str, rows: Sequence[Record]) -> dict[str, Sequence[Record]]:
    """The clean tables, one with other rows."""
    return {**clean_set().tables, name: rows}


def test_a_value_of_another_type_breaks_its_own_expectations_and_stops_no_other(tmp_path: Path) -> None:
    rows = at(age="41", name=" ")(list(clean_set().tables["users"]))
    lines = validated(tables("users", rows), suites("users"), tmp_path)
    broken = {(line.column, line.expectation): line.sample[0] for line in lines if not line.ok}
    assert set(broken) == {("age", "is 0 to 120"), ("name", "is not blank")}
    assert broken["age", "is 0 to 120"] == "could not be computed on these rows"


def test_an_empty_table_keeps_what_is_said_of_rows_but_not_of_their_number(tmp_path: Path) -> None:
    lines = validated(tables("users", []), suites("failures", "users"), tmp_path)
    broken = [(line.table, line.expectation, line.unexpected) for line in lines if not line.ok]
    assert broken == [("users", "has a row for each user, 3 in all", 3)]


def user_rows(records: RecordsOfItem) -> Tables:
    """An item's rows in the table of users alone."""
    return {"users": AMEMGYM.rows(records["episodes"])["users"]}


# One table of eight, as each takes half a second.
USERS_ALONE = replace(AMEMGYM, tables={"users": AMEMGYM.tables["users"]})
USER_EXPECTATIONS = replace(TABLE_EXPECTATIONS, item_rows=user_rows)


def reported(folder: Path, **changes: object) -> list[ColumnLine]:
    """What the table of a set of one user comes to, with a profile changed like this."""
    expectations = ExpectationRun(USERS_ALONE, USER_EXPECTATIONS, clean_set().recipe, project=folder)
    (episode, *_) = clean_set().rows("episodes")
    profile = episode.user_profile.model_copy(update=changes)
    expectations.add({"episodes": episode.model_copy(update={"user_profile": profile})})
    return expectations.lines()


def test_nothing_is_written_elsewhere_and_nobody_is_called(tmp_path: Path) -> None:
    validated(clean_set().tables, suites("failures"), tmp_path)
    with watched() as seen:
        validated(clean_set().tables, suites("failures", "users"), tmp_path)
    assert {event for event, _ in seen} == {"open", "os.mkdir"}
    assert [name for _, name in seen if not Path(name).is_relative_to(tmp_path)] == []


def test_a_validation_leaves_nothing_of_its_tables_behind(tmp_path: Path) -> None:
    expectations = ExpectationRun(USERS_ALONE, USER_EXPECTATIONS, clean_set().recipe, project=tmp_path / "gx")
    episode = clean_set().rows("episodes")[0].model_copy(update={"user_id": "looked-at-once"})
    expectations.add({"episodes": episode})
    expectations.lines()
    gc.collect()  # the library leaves reference cycles, which Python frees when it next looks for them
    frames = [found for found in gc.get_objects() if isinstance(found, pd.DataFrame)]
    assert [frame for frame in frames if "looked-at-once" in frame.get("user_id", pd.Series()).to_list()] == []


def test_great_expectations_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, validation.checks, validation.report.asset, validation.amemgym.benchmark; "
    code += "sys.exit(not {'great_expectations', 'pandas', 'scipy'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_repository_s_suites_are_as_the_library_writes_them_and_opening_them_changes_nothing(tmp_path: Path) -> None:
    import great_expectations

    # Its annotations are only partly known to type checkers.
    gx: Any = great_expectations
    copy = shutil.copytree(PROJECT, tmp_path / "gx")
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    context = gx.get_context(mode="file", context_root_dir=str(copy))
    names = {f"amemgym.{table}" for table in AMEMGYM.tables}
    assert {suite.name for suite in context.suites.all()} == names
    for name in names:
        context.suites.get(name).save()
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_the_same_suites_are_the_same_files_which_the_library_writes_alike(tmp_path: Path) -> None:
    import great_expectations

    gx: Any = great_expectations
    own = suites("users", "questions")
    files = project.project_files(own)
    assert files == project.project_files(own)
    ids = [one for data in files.values() for one in re.findall(rb'"id": "([0-9a-f-]{36})"', data)]
    assert len(set(ids)) == sum(len(one) for one in own.values()) + len(own) * 4 + 2
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    context = gx.get_context(mode="file", context_root_dir=str(tmp_path))
    loaded = context.suites.get("questions")
    assert [(one.expectation_type, one.description) for one in loaded.expectations][2:] == [
        (one.type, one.statement if "column" in one.options else f"{one.column} {one.statement}".strip())
        for one in own["questions"]
    ][2:]
    (checkpoint,) = context.checkpoints.all()
    assert [one.name for one in checkpoint.validation_definitions] == ["users", "questions"]


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of a copy of the repository's project, which is read instead of it."""
    monkeypatch.setattr(project, "PROJECT", shutil.copytree(PROJECT, tmp_path / "gx"))
    return tmp_path / "gx" / "expectations" / "amemgym" / "states.json"


def read_states() -> list[ColumnExpectation]:
    return read_suite("amemgym", "states", suite_parameters(clean_set().recipe, 3))


def test_an_expectation_that_somebody_adds_with_the_library_is_asked_of_the_next_set(edited: Path) -> None:
    import great_expectations

    gx: Any = great_expectations
    states = gx.get_context(mode="file", context_root_dir=str(edited.parents[2])).suites.get("amemgym.states")
    states.add_expectation(gx.expectations.ExpectColumnValueLengthsToBeBetween(column="value", min_value=1, max_value=80))
    states.save()
    added = read_states()[-1]
    assert (added.column, added.options) == ("value", {"column": "value", "min_value": 1, "max_value": 80})
    assert added.statement == "meets expect_column_value_lengths_to_be_between (max_value 80, min_value 1)"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", r"states\.json is no suite of Great Expectations \(.*\); save it with its library\."),
        ("[" * 5000, r"states\.json is no suite of Great Expectations \(.*\); save it with its library\."),
        (
            json.dumps({"expectations": [{"type": "t", "kwargs": {"value": {"$PARAMETER": "num_moons"}}}]}),
            r"states\.json names 'num_moons', which is neither an option nor a parameter; there are users, ",
        ),
        (
            json.dumps({"expectations": [{"type": "t", "kwargs": {}, "description": "is {far}"}]}),
            r"states\.json names 'far', which is neither",
        ),
    ],
)
def test_a_suite_that_cannot_be_used_is_refused_in_a_sentence(edited: Path, content: str, sentence: str) -> None:
    edited.write_text(content, encoding="utf-8")
    with pytest.raises(SuiteError, match=sentence):
        read_states()
