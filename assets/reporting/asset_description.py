"""How a stage describes itself in the Dagster UI, and rows as Markdown. Imports no Dagster: the evaluation reads stages too."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

if TYPE_CHECKING:
    import dagster as dg

Row = dict[str, object]
CELL_LIMIT = 400
# Dagster shows Markdown of fewer than 1000 characters in place, longer text behind a link.
IN_PLACE = 990
EXAMPLE_CELL = 240
# Cells of a preview; tables of few columns have room for longer ones.
PREVIEW_CELLS = (120, 80, 60, 45, 30, 20)
MOST_PREVIEWED = 6
BREAK = "\N{ZERO WIDTH SPACE}"
ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")


def example(rows: Sequence[Row]) -> str:
    """The first of the fullest rows, one line per field; short enough for Dagster to show it without a click."""
    row = max(rows, key=lambda row: sum(value not in ("", None, {}, ()) for value in row.values()), default=Row())
    lines = [f"**{name}** {_cell(value, limit=EXAMPLE_CELL)}" for name, value in row.items()] or ["no rows"]
    return "\n\n".join(lines)[:IN_PLACE]


def preview(rows: Sequence[Row]) -> str:
    """The first rows as a table that Dagster shows without a click: without ids, cells as long as there is room for.

    Names of variables may break at their underscores, so that the table is no wider than its place.
    """
    names = [name for name in (rows[0] if rows else ()) if not ID.fullmatch(str(rows[0][name]))]
    shown = [{name: row.get(name) for name in names} for row in rows[:MOST_PREVIEWED]]
    tables = (markdown_table(shown[:count], limit=limit) for count in (len(shown), 3, 1) for limit in PREVIEW_CELLS)
    broken = (table.replace("_", f"_{BREAK}") for table in tables)
    return next((table for table in broken if len(table) < IN_PLACE), markdown_table(shown[:1], limit=PREVIEW_CELLS[-1]))


def markdown_table(rows: Sequence[Row], *, limit: int = CELL_LIMIT) -> str:
    """Rows as a Markdown table whose cells have `limit` characters at most; the first row names the columns."""
    if not rows:
        return "no rows"
    head = list(rows[0])
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines.extend(f"| {' | '.join(_cell(row.get(name), limit=limit) for name in head)} |" for row in rows)
    return "\n".join(lines)


def _cell(value: object, *, limit: int = CELL_LIMIT) -> str:
    if isinstance(value, dict):
        pairs = cast(dict[str, object], value)
        value = ", ".join(f"{key} = {item}" for key, item in pairs.items())
    elif isinstance(value, (list, tuple)):
        value = ", ".join(str(item) for item in cast(Sequence[object], value))
    text = " ".join(str(value).split())
    text = text if len(text) <= limit else text[: limit - 3] + "..."
    # Text of personas and models is shown as it is: it must not end a cell, or load a picture from somewhere.
    return re.sub(r"([\\`*~|<>\[\]])", r"\\\1", text)


GroupName = Literal["sampling", "schema", "trajectory", "sessions", "answers", "release", "evaluation"]
Metadata = Mapping[str, "dg.MetadataValue[Any] | int | float | str"]


def no_summary(_: Sequence[Any]) -> Metadata:
    """The summary of a stage that has none."""
    return {}


def fields(record: Any) -> Sequence[Row]:
    """The preview of a stage that describes no other: one row, the record's fields."""
    return [record.model_dump(mode="json")]


@dataclass(frozen=True)
class AssetDescription:
    """How a stage shows itself: its group, two sentences, and rows of a record for the preview.

    `paper`: the section that it follows. `summary`: what the finished items' records come to, as metadata. `kinds`: what the
    asset is made with, as icons.
    """

    group: str = "items"
    description: str = ""
    rows: Callable[[Any], Sequence[Row]] = fields
    paper: str = "3.1"
    kinds: tuple[str, ...] = ("python",)
    summary: Callable[[Sequence[Any]], Metadata] = no_summary


def group(name: GroupName) -> str:
    """The group's name in Dagster, which sorts groups by name: numbered in the order in which data passes them."""
    return f"{get_args(GroupName).index(name) + 1}_{name}"
