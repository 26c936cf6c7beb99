"""`amemgym ledger`: what was asked, what it used and what it cost."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from pipelines.resources.ledger.ledger import Ledger
    from pipelines.resources.ledger.queries import LedgerSums

app = typer.Typer(help="Every call that was made: calls, tokens, cost and hit rate.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def summarise(
    context: typer.Context,
    variant: Annotated[Optional[str], typer.Option(help="Only this variant.")] = None,
) -> None:
    """Print the ledger's sums by stage, model and prompt."""
    if context.invoked_subcommand is None:
        print_summary(variant)


@app.command("export")
def export(path: Annotated[Path, typer.Argument(help="The Parquet file to write.")] = Path("ledger.parquet")) -> None:
    """Write every row of the ledger to a Parquet file."""
    export_rows(path)


def print_summary(variant: str | None) -> None:
    """Three tables. Raises Problem when nothing has been asked yet."""
    import asyncio

    from rich.console import Console

    from pipelines.cli.problems import Problem
    from pipelines.resources.ledger.queries import summary

    ledger, console = _ledger(), Console()
    try:
        groups = {by: asyncio.run(summary(ledger, by=by, variant=variant)) for by in ("stage", "model", "prompt")}
    finally:
        ledger.close()
    if not groups["stage"]:
        raise Problem(f"The ledger has no calls of {variant!r}." if variant else "The ledger has no calls yet.")
    for by, lines in groups.items():
        console.print(_table(by, lines))
    console.print("Tokens and cost are of paid calls; calls answered by the cache cost nothing.", style="dim")


def export_rows(path: Path) -> None:
    """Raises Problem when the file cannot be written."""
    import asyncio

    from pipelines.cli.problems import Problem
    from pipelines.resources.ledger.queries import export

    ledger = _ledger()
    try:
        count = asyncio.run(export(ledger, path))
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror}." if error.strerror else str(error)) from error
    finally:
        ledger.close()
    print(f"Wrote {count} calls to {path}.")


def _ledger() -> "Ledger":
    from pipelines.cli.problems import Problem
    from pipelines.home import home
    from pipelines.resources.ledger.ledger import Ledger, ledger_file
    from pipelines.resources.storage.database import database_of

    path = ledger_file(home())
    if not database_of(path).exists:
        raise Problem(f"There is no ledger in {path.parent} yet; it begins with the first run, as in: amemgym generate demo")
    return Ledger(path)


def _table(by: str, lines: "list[LedgerSums]") -> "Table":
    from rich import box
    from rich.table import Table

    rows = [dict(_cells(line)) for line in lines]
    table = Table(by, title=f"by {by}", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    # What never happened gets no column.
    names = [name for name in rows[0] if name not in ("errors", "cached") or any(row[name] != "0" for row in rows)]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for line, row in zip(lines, rows, strict=True):
        table.add_row(line.name, *(row[name] for name in names))
    return table


def _cells(line: "LedgerSums") -> list[tuple[str, str]]:
    return [
        ("calls", f"{line.calls:,}"),
        ("hits", f"{line.hit_rate:.0%}"),
        ("errors", f"{line.errors:,}"),
        ("input", f"{line.input_tokens:,}"),
        ("cached", f"{line.cached_input_tokens:,}"),
        ("output", f"{line.output_tokens:,}"),
        ("s/call", f"{line.seconds_per_call:.2f}"),
        ("cost", line.cost),
    ]
