"""A diff in the terminal: the verdict, the changed texts with their words marked, and then the counts."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dataset_card.diff.records import CellChange, MetricChange, ReleaseDiff, RowChange, TableChange
from dataset_card.diff.render import COUNTS, by_interest, figure_text, marked_words, rules_text, shown_counts, verdict

ROWS_OF_A_TABLE = 4
CELL_LIMIT = 600
VALUE_LIMIT = 200
# As in wdiff, so that they are seen without colours too.
MARKS = {"gone": ("[-", "-]", "red strike"), "new": ("{+", "+}", "green bold")}


def print_diff(diff: ReleaseDiff, console: Console) -> None:
    """Print what matters first: changed questions, answers and keys, then tables of counts, figures and settings."""
    console.print(Text(verdict(diff)))
    if diff.level == "same":
        return
    console.print(Text(rules_text(diff)), style="dim")
    for table in by_interest(diff.tables):
        if table.scored:
            _print_rows(table, console)
    changed = [table for table in by_interest(diff.tables) if table.changed]
    names = shown_counts(diff)
    counts = [[table.table, *(f"{getattr(table, name):,}" for name in names)] for table in changed]
    _print_table(console, ["table", *(COUNTS[name] for name in names)], counts)
    _print_figures(console, "figures that moved", [one for one in diff.figures if not one.is_noise])
    _print_figures(console, "figures that moved inside their intervals", [one for one in diff.figures if one.is_noise])
    settings = [[setting.name, setting.before, setting.after] for setting in diff.settings]
    _print_table(console, ("how it was made", "before", "now"), settings, numbers=False)


def marked_text(cell: CellChange) -> Text:
    """Both texts in one line, with what is gone and what is new marked."""
    line = Text()
    for mark, words in marked_words(cell.before, cell.after):
        opening, closing, style = MARKS.get(mark, ("", "", ""))
        line.append(f"{opening}{words}{closing}", style=style).append(" ")
    if len(line) > CELL_LIMIT:
        line.truncate(CELL_LIMIT - 3)
        line.append("...")
    return line


def _print_rows(table: TableChange, console: Console) -> None:
    rows = table.examples[:ROWS_OF_A_TABLE]
    for row in rows:
        console.print()
        console.print(Text(f"{table.table}: {_name(row)}", style="bold"))
        for cell in row.cells:
            note = {"wording": " (wording only)", "note": " (a note)"}.get(cell.kind, "")
            console.print(Text(f"  {cell.column}{note}: ").append_text(marked_text(cell)))
    more = table.relabelled + table.reworded + table.annotated - len(rows)
    if rows and more:
        told = f"  {more:,} more changed rows of {table.table}: --page FILE shows them, --json prints them."
        console.print(Text(told, style="dim"))


def _name(row: RowChange) -> str:
    parts = (f"{name.removesuffix('_id')} {row.titles.get(name, value)}" for name, value in row.key.items())
    return ", ".join(parts)


def _print_figures(console: Console, title: str, figures: Sequence[MetricChange]) -> None:
    rows = [[row.figure, figure_text(row.before), figure_text(row.after)] for row in figures]
    _print_table(console, (title, "before", "now"), rows)


def _print_table(console: Console, names: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True) -> None:
    """Print a table unless it is empty; numbers are aligned to the right."""
    if rows:
        table = Table(show_lines=not numbers)
        for number, name in enumerate(names):
            table.add_column(name, justify="right" if number and numbers else "left")
        for row in rows:
            table.add_row(*(Text(cell) for cell in _shortened(row)))
        console.print()
        console.print(table)


def _shortened(row: Sequence[str]) -> list[str]:
    return [cell if len(cell) <= VALUE_LIMIT else f"{cell[: VALUE_LIMIT - 3]}..." for cell in row]
