"""A stage's description for the Dagster UI, and rows as Markdown. Imports no Dagster: the evaluation reads stages too."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from assets.text.words import shorten

Row = dict[str, object]
CELL_LIMIT = 400
# Dagster shows Markdown of fewer than 1000 characters in place, longer text behind a link.
IN_PLACE = 990
# Cells of a preview; tables of few columns have room for longer ones.
PREVIEW_CELLS = (120, 80, 60, 45, 30, 20)
MOST_PREVIEWED = 6
BREAK = "\N{ZERO WIDTH SPACE}"
ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")


def preview(rows: Sequence[Row]) -> str:
    """The first rows as a table that Dagster shows without a click: without ids, cells as long as there is room for.

    Names of variables may break at their underscores, so that the table is no wider than its place.
    """
    first = rows[0] if rows else Row()
    names = [name for name, value in first.items() if not ID.fullmatch(str(value))]
    shown: list[Row] = []
    for row in rows[:MOST_PREVIEWED]:
        shown.append({name: row.get(name) for name in names})
    for count in (len(shown), 3, 1):
        for limit in PREVIEW_CELLS:
            table = markdown_table(shown[:count], limit=limit).replace("_", f"_{BREAK}")
            if len(table) < IN_PLACE:
                return table
    return markdown_table(shown[:1], limit=PREVIEW_CELLS[-1])


def markdown_table(rows: Sequence[Row], *, limit: int = CELL_LIMIT) -> str:
    """Rows as a Markdown table whose cells have `limit` characters at most; the first row names the columns."""
    if not rows:
        return "no rows"
    head = list(rows[0])
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [_cell(row.get(name), limit=limit) for name in head]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: object, *, limit: int) -> str:
    if isinstance(value, dict):
        pairs = cast(dict[str, object], value)
        value = ", ".join(f"{key} = {item}" for key, item in pairs.items())
    elif isinstance(value, (list, tuple)):
        value = ", ".join(map(str, cast(Sequence[object], value)))
    text = "" if value is None else " ".join(str(value).split())
    # Text of personas and models is shown as it is: it must not end a cell, or load a picture from somewhere.
    return re.sub(r"([\\`*~|<>\[\]])", r"\\\1", shorten(text, limit))


def fields(record: Any) -> Sequence[Row]:
    """The preview of a stage that describes no other: one row, the record's fields."""
    return [record.model_dump(mode="json")]


@dataclass(frozen=True)
class AssetDescription:
    """A stage's description: its group, two sentences, and rows of a record for the preview.

    `paper`: the section that it follows. `picture`: one record as Markdown, which the UI shows as `life`. `kinds`: what the
    asset is made with, as icons.
    """

    group: str = "items"
    description: str = ""
    rows: Callable[[Any], Iterable[Row]] = fields
    paper: str = "3.1"
    kinds: tuple[str, ...] = ()
    picture: Callable[[Any], str] | None = None
