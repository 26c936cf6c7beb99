"""A diff in the terminal: the verdict, the changed texts with their words marked, and then the counts."""

from rich.console import Console
from rich.text import Text

from assets.reporting.text_table import print_table
from assets.text.words import shorten
from dataset_card.diff.records import CellChange, ReleaseDiff, TableChange
from dataset_card.diff.render import LABELS, by_interest, marked_words, rows_table, settings_table, verdict

# A screen shows the gist: the page has all rows, and --json all words.
ROWS_OF_A_TABLE = 4
CELL_LIMIT = 600
VALUE_LIMIT = 200
# As in wdiff, so that they are seen without colours too.
MARKS = {"gone": ("[-", "-]", "red strike"), "new": ("{+", "+}", "green bold")}


def print_diff(diff: ReleaseDiff, console: Console) -> None:
    """Print what matters first: changed questions, answers and keys, then tables of counts and settings."""
    console.print(Text(verdict(diff)))
    if diff.level == "same":
        return
    console.print(Text(LABELS), style="dim")
    for table in by_interest(diff):
        if table.scored:
            _print_rows(table, console)
    for table in (rows_table(diff), settings_table(diff)):
        if table.rows:
            console.print()
            rows = [[shorten(cell, VALUE_LIMIT) for cell in row] for row in table.rows]
            print_table(console, table.heads, rows, title=table.title)


def _print_rows(table: TableChange, console: Console) -> None:
    rows = table.examples[:ROWS_OF_A_TABLE]
    for row in rows:
        console.print()
        key = [f"{name.removesuffix('_id')} {value}" for name, value in row.key.items()]
        console.print(Text(f"{table.table}: {', '.join(key)}", style="bold"))
        for cell in row.cells:
            note = " (a note)" if cell.kind == "note" else ""
            console.print(Text(f"  {cell.column}{note}: ").append_text(_marked_text(cell)))
    more = table.changed_rows - len(rows)
    if rows and more:
        hint = f"  {more:,} more changed rows of {table.table}: --page FILE shows them, --json prints them."
        console.print(Text(hint, style="dim"))


def _marked_text(cell: CellChange) -> Text:
    """Return both texts in one line, with what is gone and what is new marked."""
    line = Text()
    for mark, words in marked_words(cell.before, cell.after):
        opening, closing, style = MARKS.get(mark, ("", "", ""))
        line.append(f"{opening}{words}{closing}", style=style).append(" ")
    if len(line) > CELL_LIMIT:
        line.truncate(CELL_LIMIT - 3)
        line.append("...")
    return line
