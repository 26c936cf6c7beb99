"""Tables on a terminal or in a pipe: no cell is cut."""

import re
import textwrap
from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

LEAST_WORDS = 24  # columns of a text cell, at least, if its table is wider than the terminal
BETWEEN = 3  # columns of the terminal between two of a table
UNBROKEN = 10_000  # width of a pipe, more than any line: piped output is searched line by line
NUMBER = re.compile(r"[-+~$]?[\d.,]*\d[\d.,]*(-[\d.,]+)?( ?%|[KM])?( \[.*\]\S*)?|-?|unknown")


def print_table(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """Print a table without cutting any cell. Numbers are aligned to the right.

    On a narrow terminal, cells with sentences are wrapped. If that is not enough, many columns are printed as several tables,
    and otherwise each row as a block of lines.
    """
    if title:
        console.print(Text(title, style="italic"), soft_wrap=True)
    if not rows:
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)  # no frame, for grep
    for number, name in enumerate(head):
        cells = [row[number] for row in rows]
        numeric = number > 0 and all(map(NUMBER.fullmatch, cells))  # the first column names rows, even with numbers
        width = max(map(cell_len, [name, *cells]))
        prose = width > LEAST_WORDS and any(map(_is_prose, cells))
        table.add_column(
            Text(name),
            justify="right" if numeric else "left",
            min_width=LEAST_WORDS if prose else width,
            no_wrap=not prose,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(Text, row))
    if console.measure(table, options=console.options.update(width=UNBROKEN)).minimum <= console.width:
        console.print(table)
        return
    parts = _narrow_parts(head, rows, width=console.width)
    for number, part in enumerate(parts):
        if number:
            console.print()
        print_table(console, [head[place] for place in part], [[row[place] for place in part] for row in rows])
    if not parts:
        _print_blocks(console, head, rows)


def _narrow_parts(head: Sequence[str], rows: Sequence[Sequence[str]], *, width: int) -> list[list[int]]:
    """Return the places of columns for tables of this width, each with those that name the rows.

    None where a column is too wide, or has sentences.
    """
    widths: list[int] = []
    naming: list[int] = []
    for place, name in enumerate(head):
        cells = [row[place] for row in rows]
        widths.append(max(map(cell_len, [name, *cells])) + BETWEEN)
        if not naming and len({*cells}) == len(cells):
            naming = [*range(place + 1)]
    room = width - sum(widths[place] for place in naming)
    others = [*range(len(naming), len(head))]
    sentences = any(_is_prose(row[place]) for row in rows for place in others)
    if sentences or not others or max(widths[place] for place in others) > room:
        return []
    parts = [[*naming]]
    taken = 0
    for place in others:
        if taken + widths[place] > room:
            parts.append([*naming])
            taken = 0
        parts[-1].append(place)
        taken += widths[place]
    return parts if len(parts) > 1 else []


def _is_prose(cell: str) -> bool:
    """Return whether a cell is text that is longer than the least width of a wrapped column."""
    return cell_len(cell) > LEAST_WORDS and " " in cell


def _print_blocks(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    width = max(LEAST_WORDS, console.width)
    for name, *cells in rows:
        console.print(Text(name or head[0], style="bold"), soft_wrap=True)
        for about, cell in zip(head[1:], cells, strict=True):
            if cell:
                words = f"{about}: {cell}" if about else cell
                lines = textwrap.fill(words, width, initial_indent="  ", subsequent_indent="    ")
                console.print(Text(lines), soft_wrap=True)
