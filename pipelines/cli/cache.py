"""`amemgym cache` and `doctor`: the replies that were paid for, and whether the whole data folder is sound."""

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.table import Table

from pipelines.cli.errors import Problem
from pipelines.cli.options import JsonOption
from pipelines.cli.terminal import print_json, print_plain
from pipelines.home import home
from pipelines.resources.cache.export import ModelShare, NotReplies, shares
from pipelines.resources.cache.export import export as write_copy
from pipelines.resources.cache.export import prune as delete_replies
from pipelines.resources.cache.export import take_in as read_replies
from pipelines.resources.cache.reply_cache import open_replies
from pipelines.resources.doctor import OF_ANOTHER_VERSION, Finding, examine
from pipelines.resources.ledger.ledger import Ledger, ledger_file
from pipelines.resources.ledger.queries import summary
from pipelines.resources.storage.database import Database
from pipelines.resources.storage.key_value import KeyValueStore
from pipelines.resources.storage.open_database import open_database

MEGABYTE = 1_000_000
MOST_LOOKS = 3

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="The reply cache: every reply that was ever paid for.",
)


@app.command("info")
def info(as_json: JsonOption = False) -> None:
    """Print size, replies and hit rate, by model."""
    with _open_cache() as replies:
        models = asyncio.run(shares(replies))
        if as_json:
            print_json({"database": str(replies.database), "bytes": replies.database.size(), "models": models})
        else:
            _print_shares(models, replies.database)


@app.command("export")
def export(path: Annotated[Path, typer.Argument(help="The file to write: .jsonl, or else a SQLite copy.")]) -> None:
    """Copy the cache into a file, to keep or to give to others."""
    with _open_cache() as replies:
        try:
            count = asyncio.run(write_copy(replies, path))
        except OSError as error:
            raise Problem(f"{path} cannot be written: {error.strerror}." if error.strerror else str(error)) from error
    print(f"Wrote {count} replies to {path}.")


@app.command("import")
def import_replies(path: Annotated[Path, typer.Argument(help="A .jsonl file that export wrote.")]) -> None:
    """Keep the replies of a file, so that they need not be asked for; a reply that is there already stays."""
    with _open_cache(new=True) as replies:
        try:
            count = asyncio.run(read_replies(replies, path))
        except NotReplies as error:
            raise Problem(str(error)) from error
        except OSError as error:
            raise Problem(f"{path} cannot be read: {error.strerror}." if error.strerror else str(error)) from error
    print(f"Kept the {count} replies of {path}.")


@app.command("prune")
def prune(
    model: Annotated[Optional[str], typer.Option(help="Take out the replies of this model.")] = None,
    older_than: Annotated[Optional[float], typer.Option(min=0, metavar="DAYS", help="Take out what is older.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take replies out of the cache; making their rows again would pay for them again."""
    if model is None and older_than is None:
        raise Problem("Say what to take out: --model NAME, --older-than DAYS, or both.")
    with _open_cache() as replies:
        if not yes:
            typer.confirm(f"Take replies out of {replies.database} for good?", abort=True)
        count = asyncio.run(delete_replies(replies, model=model, older_than_days=older_than))
    print(f"Took {count} replies out.")


def _print_shares(models: list[ModelShare], database: Database) -> None:
    rates = _hit_rates()
    table = Table("model", title=str(database), title_justify="left")
    for name in ("replies", "rejected", "MB", "oldest", "newest", "hit rate"):
        table.add_column(name, justify="right")
    for share in models:
        numbers = (f"{share.replies:,}", f"{share.rejected:,}", f"{share.size / MEGABYTE:.1f}")
        table.add_row(share.model, *numbers, _day(share.oldest), _day(share.newest), rates.get(share.model, ""))
    console = Console()
    console.print(table)
    size = database.size() / MEGABYTE
    console.print(f"{sum(share.replies for share in models):,} replies, {size:.1f} MB on the disk; hit rates are the ledger's.")
    if any(share.rejected for share in models):
        console.print("Rejected replies were paid for and hold nothing that can be used; the next run asks again.")


def _hit_rates() -> dict[str, str]:
    path = ledger_file(home())
    if not open_database(path).exists:
        return {}
    ledger = Ledger(path)
    try:
        lines = asyncio.run(summary(ledger, by="model"))
    finally:
        ledger.close()
    return {line.name: f"{line.hit_rate:.0%}" for line in lines}


def _day(moment: float | None) -> str:
    return "not noted" if moment is None else time.strftime("%Y-%m-%d", time.localtime(moment))


@contextmanager
def _open_cache(*, new: bool = False) -> Generator[KeyValueStore]:
    path = home().calls
    if not new and not open_database(path).exists:
        raise Problem(f"There is no reply cache in {path.parent} yet; it begins with the first run.")
    replies = open_replies(path)
    try:
        yield replies
    finally:
        replies.close()


def doctor(repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired.")] = False) -> None:
    """Check every file of the data folder, and say what is damaged and what can be made again. --repair repairs it."""
    found = left = _tell(examine(home()), repair=repair)
    # What is taken away may be what something else points to.
    for _ in range(MOST_LOOKS if repair and found else 0):
        left = _tell(examine(home()), repair=repair)
        found += left
        if not left:
            break
    if left:
        hint = "." if repair else "; amemgym doctor --repair repairs what can be."
        raise Problem(f"{left} of {found} damages are left{hint}")
    print(f"{home().root}: {f'{found} damages were repaired' if found else 'nothing is damaged'}.")


def _tell(findings: list[Finding], *, repair: bool) -> int:
    """Say what was found, and repair it; how many damages there were. What is of another version is no damage."""
    console, others = Console(), [finding for finding in findings if finding.of_another_version]
    for finding in others if repair else ():
        finding.mend()
    if others:
        done = "They were deleted." if repair else "--repair deletes them."
        print_plain(console, f"{home().root}: {len(others)} values and snapshots are {OF_ANOTHER_VERSION} {done}")
    for finding in findings:
        if finding.of_another_version:
            continue
        if repair and finding.mend():
            print_plain(console, f"{finding.where}: {finding.what}. {finding.remedy} Repaired.")
        else:
            print_plain(console, f"{finding.where}: {finding.what}. {finding.remedy}")
    return len(findings) - len(others)
