"""Metadata of an asset's definition: the columns of what it stores, and the code and prompts that make it."""

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast, get_args, get_origin

import dagster as dg
import pyarrow as pa

from assets.records.base import Record
from assets.records.columnar import arrow_schema
from prompts.catalogue import prompt_path

# Code references are a beta feature of Dagster, whose exact version is pinned for that reason.
warnings.filterwarnings("ignore", category=dg.BetaWarning)
OWNERS = ["team:benchmark"]
MOST_COLUMNS = 10
POSITION = dg.TableColumn("position", "int32", "place of the item in the variant's sample, from 0")


def definition(record: type[Record] | None, *sources: Callable[..., Any], prompts: Iterable[str] = ()) -> dict[str, Any]:
    """Metadata of an asset's definition: the columns of what it stores, and the code and prompts that make it."""
    columns = {} if record is None else {"dagster/column_schema": column_schema(record)}
    return {**columns, "dagster/code_references": code_references(*sources, prompts=prompts)}


def column_schema(record: type[Record], *first: dg.TableColumn) -> dg.TableSchema:
    """The columns of a table of such records, nested ones by dotted name, with the words of the records' fields.

    As deep as MOST_COLUMNS allow, because the UI shows them above everything else.
    """
    columns: list[dg.TableColumn] = [*first, *_columns(record, arrow_schema(record), above="")]
    depth = max((column.name.count(".") for column in columns), default=0)
    while len(columns) > MOST_COLUMNS and depth:
        columns = [column for column in columns if column.name.count(".") < depth]
        depth -= 1
    return dg.TableSchema(columns=columns)


def code_references(*sources: Callable[..., Any], prompts: Iterable[str] = ()) -> dg.CodeReferencesMetadataValue:
    """Return the files of functions and prompts, as paths of the machine that asks."""
    words = [dg.LocalFileCodeReference(file_path=str(prompt_path(name)), label=name) for name in prompts]
    return dg.CodeReferencesMetadataValue(code_references=[*map(_code_reference, sources), *words])


def _code_reference(source: Callable[..., Any]) -> dg.LocalFileCodeReference:
    # `inspect.getsourcelines`, which Dagster would use, reads and tokenizes the whole file.
    code = source.__code__
    path = Path(code.co_filename).resolve()
    return dg.LocalFileCodeReference(file_path=str(path), line_number=code.co_firstlineno, label=source.__name__)


def _columns(record: type[Record], fields: Iterable["pa.Field[Any]"], *, above: str) -> Iterable[dg.TableColumn]:
    for field in fields:
        info = record.model_fields[field.name]
        name = above + field.name
        inner = record_in(info.annotation)
        kind = field.type.value_type if pa.types.is_list(field.type) else field.type
        if inner is None or not pa.types.is_struct(kind):
            type_name = _mapping(kind) if get_origin(info.annotation) is dict else str(field.type).replace("item: ", "")
            yield dg.TableColumn(name, type_name, info.description)
            continue
        description = info.description or (inner.__doc__ or "").partition(".")[0]
        yield dg.TableColumn(name, "struct" if kind is field.type else "list<struct>", description)
        struct = cast(Any, kind)
        yield from _columns(inner, [struct.field(index) for index in range(struct.num_fields)], above=f"{name}.")


def _mapping(pair: Any) -> str:
    """The type of a mapping, whose column is a list of pairs."""
    value = pair.field("value").type
    if pa.types.is_struct(value):
        return "map<string, struct>"
    return "map<string, map>" if pa.types.is_list(value) else f"map<string, {value}>"


def record_in(annotation: Any) -> type[Record] | None:
    """The record that a field holds, one of it or many; None for a field of plain values or of a mapping."""
    if get_origin(annotation) is dict:
        return None
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return annotation
    for inner in get_args(annotation):
        found = record_in(inner)
        if found is not None:
            return found
    return None
