"""Projects of Great Expectations as files: the repository's, whose suites are read, and those made for a set or a release.

The files are plain JSON and YAML, read and written without the library, which takes seconds to import. Ids follow from
names, so that the same suites are the same bytes.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa
import yaml

from assets.records.columnar import arrow_schema
from assets.records.flat_tables import Table
from assets.records.json_text import parse_json
from validation.expectations.expectation import ColumnExpectation, suite

PROJECT = Path(__file__).parent / "gx"
CONFIGURATION = "great_expectations.yml"
CHECKPOINT = "release"
DATA_DOCS = "uncommitted/data_docs/local_site/index.html"
DATA_SOURCE = "tables"
BATCH = "all"
Suites = Mapping[str, Sequence[ColumnExpectation]]


def project_folder(reports: Path, variant: str) -> Path:
    """Return the folder of the project of a variant's latest quality report, beside its page."""
    return reports / variant / "gx"


class SuiteError(ValueError):
    """A suite of the repository that cannot be read or made for a recipe; the message is one sentence."""


def read_suite(benchmark: str, table: str, parameters: Mapping[str, object]) -> list[ColumnExpectation]:
    """Return the expectations of a table's suite in the repository, made for a recipe; none without a suite.

    `parameters` are the values for `$PARAMETER` in the file. A description may name them, and options, in braces. Raises
    SuiteError.
    """
    path = PROJECT / "expectations" / benchmark / f"{table}.json"
    return [_made_for(parameters, stored, path=path) for stored in _read_expectations(path)]


@cache
def _read_expectations(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    try:
        return parse_json(path.read_bytes())["expectations"]
    except (ValueError, LookupError, TypeError) as error:
        raise SuiteError(f"{path} is no suite of Great Expectations ({error}); save it with its library.") from error


def _made_for(parameters: Mapping[str, object], stored: Mapping[str, Any], *, path: Path) -> ColumnExpectation:
    try:
        options = {name: _as_integer(_resolve_parameters(value, parameters)) for name, value in stored["kwargs"].items()}
        description = stored.get("description") or _default_description(stored["type"], options)
        statement = description.format_map({**parameters, **options})
    except (LookupError, ValueError) as error:
        known = ", ".join(parameters) or "none"
        raise SuiteError(f"{path} names {error}, which is neither an option nor a parameter; there are {known}.") from error
    column = options.get("column") or options.get("column_A") or ", ".join(cast(list[str], options.get("column_list", [])))
    return ColumnExpectation(str(column), statement, stored["type"], options)


def _resolve_parameters(value: object, parameters: Mapping[str, object]) -> object:
    if isinstance(value, dict) and "$PARAMETER" in value:
        return parameters[str(cast(dict[str, object], value)["$PARAMETER"])]
    return cast(object, value)


def _as_integer(value: object) -> object:
    # The library saves limits as floats.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _default_description(kind: str, options: Mapping[str, object]) -> str:
    given = ", ".join([f"{name} {value}" for name, value in options.items() if not name.startswith("column")])
    # Braces of an option's value must not be filled in.
    description = f"meets {kind} ({given})" if given else f"meets {kind}"
    return description.replace("{", "{{").replace("}", "}}")


def release_project_files(tables: Mapping[str, Table], own: Suites, *, folder: str) -> dict[str, bytes]:
    """Return a project that checks the Parquet files in `folder` alone. Notes of a suite list what takes more than them."""
    suites: dict[str, list[ColumnExpectation]] = {}
    notes: dict[str, str | None] = {}
    for name, table in tables.items():
        of_file: list[ColumnExpectation] = []
        left_out: list[str] = []
        for expectation in own[name]:
            if _file_is_enough(expectation, table):
                of_file.append(expectation)
            else:
                left_out.append(f"{expectation.column} {expectation.statement}")
        suites[name] = suite(table, of_file)
        reason = "Checked before the release was made, because it takes lists or rows of other tables"
        notes[name] = f"{reason}: {'; '.join(left_out)}." if left_out else None
    return project_files(suites, folder=folder, notes=notes)


def _file_is_enough(expectation: ColumnExpectation, table: Table) -> bool:
    """Return True when a table's file has all columns of the expectation, and none of lists, which cannot be compared."""
    # The schema's types are only partly known to type checkers.
    schema: Any = arrow_schema(table.row)
    known = expectation.columns <= set(schema.names)
    return known and not any(pa.types.is_nested(schema.field(name).type) for name in expectation.columns)


def project_files(
    suites: Suites, *, folder: str | None = None, notes: Mapping[str, str | None] | None = None
) -> dict[str, bytes]:
    """Return a project with these suites, a validation of each, and the checkpoint of all: bytes by path.

    `folder` has a Parquet file for each table, relative to the folder where the checkpoint is run; without it, tables come
    as data frames. `notes`: a text about each suite.
    """
    files = {CONFIGURATION: yaml.safe_dump(_configuration(suites, folder), sort_keys=False).encode()}
    for name, expectations in suites.items():
        files[f"expectations/{name}.json"] = _json(_suite(name, expectations, note=(notes or {}).get(name)))
        files[f"validation_definitions/{name}.json"] = _json(
            {
                "name": name,
                "id": _id("validation", name),
                "data": {
                    "datasource": {"name": DATA_SOURCE, "id": _id("tables")},
                    "asset": {"name": name, "id": _id("table", name)},
                    "batch_definition": {"name": BATCH, "id": _id("batch", name)},
                },
                "suite": {"name": name, "id": expectation_id(name)},
            }
        )
    files[f"checkpoints/{CHECKPOINT}.json"] = _json(
        {
            "name": CHECKPOINT,
            "id": _id("checkpoint"),
            "actions": [{"name": "data_docs", "site_names": list[str](), "type": "update_data_docs"}],
            "result_format": "SUMMARY",
            "validation_definitions": [{"name": name, "id": _id("validation", name)} for name in suites],
        }
    )
    return files


def _suite(table: str, expectations: Sequence[ColumnExpectation], *, note: str | None) -> dict[str, Any]:
    stored: list[dict[str, Any]] = []
    for number, expectation in enumerate(expectations):
        # Data Docs show it under the column's name, if it is about one alone.
        description = (
            expectation.statement
            if "column" in expectation.options
            else f"{expectation.column} {expectation.statement}".strip()
        )
        identity = {"id": expectation_id(table, number), "type": expectation.type, "kwargs": dict(expectation.options)}
        stored.append({**identity, "description": description, "meta": {}, "severity": "critical"})
    return {"name": table, "id": expectation_id(table), "expectations": stored, "meta": {}, "notes": note}


def expectation_id(table: str, number: int | None = None) -> str:
    """Return the id of a table's suite, or of the expectation of this number in it."""
    return _id("suite", table) if number is None else _id("suite", table, str(number))


def _configuration(suites: Suites, folder: str | None) -> dict[str, Any]:
    shared = yaml.load((PROJECT / CONFIGURATION).read_bytes(), Loader=yaml.CSafeLoader)
    source: dict[str, Any] = {"type": "pandas"}
    if folder is not None:
        source = {"type": "pandas_filesystem", "base_directory": folder}
    source["id"] = _id("tables")
    source["assets"] = {name: _table_asset(name, of_file=folder is not None) for name in suites}
    return {**shared, "fluent_datasources": {DATA_SOURCE: source}}


def _table_asset(table: str, *, of_file: bool) -> dict[str, Any]:
    partitioner: dict[str, Any] | None = None
    if of_file:
        partitioner = {"regex": rf"^{table}\.parquet$", "param_names": []}
    return {
        "type": "parquet" if of_file else "dataframe",
        "id": _id("table", table),
        "batch_definitions": {BATCH: {"id": _id("batch", table), "partitioner": partitioner}},
    }


def _id(*names: str) -> str:
    return str(uuid5(NAMESPACE_URL, "/".join(("great_expectations", *names))))


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
