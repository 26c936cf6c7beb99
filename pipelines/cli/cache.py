"""`amemgym cache` and `doctor`: manage the reply cache, and check and repair the data folder."""

import asyncio
import shutil
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console

from assets.isolation.boundary import available_kind, boundary_sentence
from assets.reporting.plurals import counted, is_or_are
from assets.reporting.text_table import print_table
from pipelines.cli.options import command_group, file_errors, json_option
from pipelines.cli.terminal import TextConsole, print_json, print_plain, stdout_console
from pipelines.errors import Problem
from pipelines.evaluation.folder import RESULTS, DamagedRun, check_files_of_run, runs_folder, set_damage_aside
from pipelines.home import Home, home, obstacles
from pipelines.opening.doctor import Finding, disk_sizes, examine
from pipelines.resources.cache.export import ModelShare, NotReplies, delete_replies, read_replies, shares, write_copy
from pipelines.resources.cache.reply_cache import open_replies
from pipelines.resources.ledger.ledger import Ledger, ledger_file
from pipelines.resources.ledger.queries import sum_calls
from pipelines.resources.storage.database import Database
from pipelines.resources.storage.key_value import KeyValueStore
from pipelines.resources.storage.open_database import open_database

MEGABYTE = 1_000_000
GIGABYTE = 1_000_000_000
MOST_LOOKS = 3  # one repair may uncover further damage; after this many, give up

app = command_group("The reply cache: every reply that was paid for.")


@app.command("info")
def show_cache(as_json: Annotated[bool, json_option("database", "bytes", "models")] = False) -> None:
    """Print size, replies and hit rate, by model."""
    with _open_cache(reading=True) as replies:
        models = asyncio.run(shares(replies))
        if as_json:
            print_json({"database": str(replies.database), "bytes": replies.database.size(), "models": models})
        else:
            _print_shares(models, replies.database)


@app.command("export")
def export_replies(
    path: Annotated[Path, typer.Argument(help="The .jsonl file to write, with a reply on each line.")],
) -> None:
    """Copy the cache to a file, as a backup or for other people."""
    with _open_cache(reading=True) as replies, file_errors(f"{path} cannot be written"):
        count = asyncio.run(write_copy(replies, path))
    print(f"Wrote {counted(count, 'reply')} to {path}.")


@app.command("import")
def import_replies(path: Annotated[Path, typer.Argument(help="A .jsonl file that export wrote.")]) -> None:
    """Add a file's replies to the cache, so that they need not be requested. Existing replies are kept."""
    with _open_cache(new=True) as replies:
        try:
            with file_errors(f"{path} cannot be read"):
                count = asyncio.run(read_replies(replies, path))
        except NotReplies as error:
            raise Problem(str(error)) from error
    print(f"Kept {counted(count, 'reply')} of {path}.")


@app.command("prune")
def prune_replies(
    model: Annotated[Optional[str], typer.Option(help="Remove this model's replies.")] = None,
    older_than: Annotated[Optional[float], typer.Option(min=0, metavar="DAYS", help="Remove replies that are older.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove replies from the cache. Making their rows again would cost again."""
    if model is None and older_than is None:
        raise Problem("Say which replies to remove: --model NAME, --older-than DAYS, or both.")
    with _open_cache() as replies:
        if not yes:
            typer.confirm(f"Take replies out of {replies.database} for good?", abort=True)
        count = asyncio.run(delete_replies(replies, model=model, older_than_days=older_than))
    print(f"Took {counted(count, 'reply')} out.")


def _print_shares(models: list[ModelShare], database: Database) -> None:
    rates = _hit_rates()
    head = ("model", "replies", "rejected", "MB", "oldest", "newest", "hit rate")
    rows: list[tuple[str, ...]] = []
    replies = rejected = 0
    for share in models:
        replies += share.replies
        rejected += share.rejected
        size = f"{share.size / MEGABYTE:.1f}"
        dates = (_day(share.oldest), _day(share.newest))
        rows.append((share.model, f"{share.replies:,}", f"{share.rejected:,}", size, *dates, rates.get(share.model, "")))
    console = stdout_console()
    print_table(console, head, rows, title=str(database))
    console.print(
        f"{counted(replies, 'reply')}, {database.size() / MEGABYTE:.1f} MB on the disk; hit rates come from the ledger."
    )
    if rejected:
        console.print("Rejected replies were paid for but cannot be used; the next run requests them again.")


def _hit_rates() -> dict[str, str]:
    path = ledger_file(home())
    if not open_database(path).exists:
        return {}
    with closing(Ledger(path, reading=True)) as ledger:
        lines = asyncio.run(sum_calls(ledger, by="model"))
    return {line.name: f"{line.hit_rate:.0%}" for line in lines}


def _day(moment: float | None) -> str:
    return "not noted" if moment is None else time.strftime("%Y-%m-%d", time.localtime(moment))


@contextmanager
def _open_cache(*, new: bool = False, reading: bool = False) -> Generator[KeyValueStore]:
    path = home().calls
    if not new and not open_database(path).exists:
        raise Problem(f"There is no reply cache in {path.parent} yet; the first run creates it.")
    with closing(open_replies(path, reading=reading)) as replies:
        yield replies


def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired.")] = False,
    as_json: Annotated[bool, json_option("folder", "obstacles", "packages", "damages")] = False,
) -> None:
    """Check every file of the data folder, and print what is damaged and what can be made again. --repair repairs it.

    Print also which folders cannot be written, what takes room on the disk and whether it is nearly full, and how the code of
    packages is isolated.
    """
    data = home()
    console = TextConsole(quiet=as_json)
    print_plain(console, boundary_sentence())
    stopping = list(obstacles(data))
    for sentence in stopping:
        print_plain(console, sentence)
    damages, left = _examine_all(console, data, repair=repair)
    if as_json:
        rows: list[dict[str, object]] = []
        for damage in damages:
            repaired = repair and damage not in left
            rows.append({"where": damage.where, "what": damage.what, "remedy": damage.remedy, "repaired": repaired})
        found = {"folder": str(data.root), "obstacles": stopping, "packages": available_kind()}
        print_json({**found, "damages": rows})
    if left:
        hint = "." if repair else "; amemgym doctor --repair repairs what it can."
        raise Problem(f"{len(left)} of {counted(len(damages), 'damage')} {is_or_are(len(left))} left{hint}")
    if stopping:
        raise Problem("Nothing is damaged, but a run could not write here.")
    free = f"{shutil.disk_usage(data.root).free / GIGABYTE:,.1f} GB are free"
    was = "was" if len(damages) == 1 else "were"
    mended = "nothing is damaged"
    if damages:
        mended = f"{counted(len(damages), 'damage')} {was} repaired, generate and evaluate make again what was removed"
    print_plain(console, f"{data.root}: {mended}, everything can be written, {free}.")
    sizes = ", ".join(f"{name} {size / MEGABYTE:,.1f} MB" for name, size in disk_sizes(data))
    if sizes:
        print_plain(console, f"What takes most room: {sizes}. cache prune removes old replies, the page Runs old runs.")


def _examine_all(console: TextConsole, data: Home, *, repair: bool) -> tuple[list[Finding], list[Finding]]:
    """Tell all damages, and repair them where it is asked; return them, and those that are left."""
    damages = _tell(console, [*examine(data), *_damaged_runs(data)], repair=repair)
    left = damages
    # A repair may remove a file that another one refers to, so check again.
    for _ in range(MOST_LOOKS if repair and damages else 0):
        left = [*examine(data), *_damaged_runs(data)]
        new = [damage for damage in left if damage not in damages]
        if not new:
            break
        damages = damages + _tell(console, new, repair=repair)
    return damages, left


def _damaged_runs(data: Home) -> Iterator[Finding]:
    """Yield the finished runs of which a file cannot be read."""
    runs = runs_folder(data)
    for results in sorted([*runs.glob(f"*/{RESULTS}"), *runs.glob(f"alone/*/{RESULTS}")]):
        folder = results.parent
        try:
            check_files_of_run(folder)
        except DamagedRun as error:
            yield Finding(str(folder), error.problem, error.remedy, partial(set_damage_aside, folder))


def _tell(console: Console, findings: list[Finding], *, repair: bool) -> list[Finding]:
    """Print the findings and repair them if asked; return them."""
    for finding in findings:
        repaired = " Repaired." if repair and finding.mend() else ""
        print_plain(console, f"{finding.where}: {finding.what}. {finding.remedy}{repaired}")
    return findings
