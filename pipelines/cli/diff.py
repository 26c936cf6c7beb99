"""`amemgym diff`: what changed from one release to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.field_options import about, options_of
from pipelines.cli.problems import Problem
from pipelines.cli.publish import EndpointOption, hub_problems, release_folder, tell

if TYPE_CHECKING:
    from rich.console import Console

    from dataset_card.diff.records import ReleaseDiff

EXAMPLES = 100
SHOWN_CELLS = 6
CELL_LIMIT = 200
WHERE = "A folder, URL, VARIANT, VARIANT@VERSION, or OWNER/NAME@TAG."


@dataclass(frozen=True, kw_only=True)
class Form:
    """In what form the difference is told, beside the terminal's tables."""

    page: str = about("Write a web page with the changed rows.", metavar="FILE")
    json: bool = about("Print the whole record as JSON.", False)
    markdown: bool = about("Print the card's section.", False)
    examples: int = about("Changed rows to show of each table.", EXAMPLES)


@options_of(Form, keyword="form")
def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help=f"The earlier release. {WHERE}")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help=f"The later release. {WHERE}")],
    endpoint: EndpointOption = "",
    *,
    form: Form,
) -> None:
    """Tell what changed from one release to another: users, questions, answers, keys, words, figures, settings."""
    from dataset_card.diff.card_section import changes_section
    from dataset_card.diff.compare import DiffError, compare, read_side
    from dataset_card.diff.page import diff_page

    with hub_problems():
        sides = [read_side(source_folder(source, endpoint=endpoint)) for source in (before, after)]
        try:
            found = compare(sides[0], sides[1], examples=form.examples)
        except DiffError as error:
            raise Problem(str(error)) from error
        if form.page:
            Path(form.page).write_text(diff_page(found), encoding="utf-8")
            tell(f"wrote {form.page}")
    if form.json:
        print(found.model_dump_json(indent=2))
    elif form.markdown:
        print(changes_section(found), end="")
    else:
        _print(found)


def source_folder(source: str, *, endpoint: str) -> Path:
    """The folder of a release that is here, or that is fetched; every file is checked. Raises HubError or Problem."""
    from dataset_card.hub.read import ON_THE_HUB
    from pipelines.resources.hub.open_hub import release_reader

    place: str | Path = source
    if not ON_THE_HUB.fullmatch(source):
        variant, _, version = source.partition("@") if "://" not in source else (source, "", "")
        place = release_folder(variant, version=version)
    return release_reader(endpoint=endpoint or None, notice=tell).read(place).folder


def _print(found: "ReleaseDiff") -> None:
    from rich.console import Console
    from rich.text import Text

    from dataset_card.diff.card_section import figure_text

    console = Console()
    if found.level == "same":
        console.print(f"{found.before.name} and {found.after.name} are the same release.", highlight=False)
        return
    verdict = f"From {found.before.name} to {found.after.name}: a new {found.level} number, because {found.reason}."
    console.print(Text(verdict))
    counts = ("before", "after", "added", "removed", "relabelled", "reworded")
    rows = [[one.table, *(f"{getattr(one, name):,}" for name in counts)] for one in found.tables]
    _print_table(console, ("table", "before", "now", "new", "gone", "other labels", "other words"), rows)
    figures = [[one.figure, figure_text(one.before), figure_text(one.after)] for one in (*found.statistics, *found.quality)]
    _print_table(console, ("figure", "before", "now"), figures)
    settings = [[one.name, one.before, one.after] for one in found.settings]
    _print_table(console, ("how it was made", "before", "now"), settings, numbers=False)
    cells = [
        [f"{table.table}\n{', '.join(map(str, row.key.values()))}", cell.column, cell.before, cell.after]
        for table in sorted(found.tables, key=lambda one: not one.relabelled)
        for row in table.examples
        for cell in row.cells
    ]
    _print_table(console, ("row", "column", "before", "now"), cells[:SHOWN_CELLS], numbers=False)
    if len(cells) > SHOWN_CELLS:
        console.print(
            f"{len(cells) - SHOWN_CELLS} more changed values: --page FILE shows them, --json prints them.", highlight=False
        )


def _print_table(console: "Console", names: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True) -> None:
    """Nothing for no rows. Numbers stand to the right."""
    from rich.table import Table
    from rich.text import Text

    if rows:
        table = Table(show_lines=not numbers)
        for number, name in enumerate(names):
            table.add_column(name, justify="right" if number and numbers else "left")
        for row in rows:
            table.add_row(*(Text(cell if len(cell) <= CELL_LIMIT else f"{cell[: CELL_LIMIT - 3]}...") for cell in row))
        console.print(table)
