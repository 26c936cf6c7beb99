"""Rows as Markdown, for the Dagster UI: whatever text of personas and models a cell holds, it stays in its cell."""

import re
from collections.abc import Sequence
from typing import cast

Row = dict[str, object]
CELL_LIMIT = 400
# Dagster shows Markdown of fewer than 1000 characters in place, longer text behind a link.
IN_PLACE = 990
EXAMPLE_CELL = 240


def example(rows: Sequence[Row]) -> str:
    """The first of the fullest rows, one line per field; short enough for Dagster to show it without a click."""
    row = max(rows, key=lambda row: sum(value not in ("", None, {}, ()) for value in row.values()), default=Row())
    lines = [f"**{name}** {_cell(value, limit=EXAMPLE_CELL)}" for name, value in row.items()] or ["no rows"]
    return "\n\n".join(lines)[:IN_PLACE]


def markdown_table(rows: Sequence[Row]) -> str:
    """Rows as a Markdown table with short cells; the first row names the columns."""
    if not rows:
        return "no rows"
    head = list(rows[0])
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines.extend(f"| {' | '.join(_cell(row.get(name)) for name in head)} |" for row in rows)
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
