"""Find and repair damage in a data folder. A repair never deletes replies that were paid for."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import dagster as dg
from filelock import FileLock

from assets.engine.ports import SnapshotRef, UnreadableValue
from assets.records.json_text import parse_json
from assets.records.limits import MOST_ITEM_BYTES, read_bounded
from assets.reporting.plurals import counted, is_or_are
from assets.whole_files import DAMAGED, name_aside
from dataset_card.release.verify import verify_release
from pipelines.errors import Problem, StoreError
from pipelines.home import Home, prepare_dagster_home
from pipelines.opening.dagster_files import cancel_killed_commands, find_killed_commands
from pipelines.resources.ledger.ledger import COLUMNS as LEDGER_COLUMNS
from pipelines.resources.ledger.ledger import TABLE as LEDGER_TABLE
from pipelines.resources.ledger.ledger import is_as_written
from pipelines.resources.storage.file_store import FileStore, LocalFiles
from pipelines.resources.storage.io_manager import AssetValueIOManager
from pipelines.resources.storage.key_value import digest_of
from pipelines.resources.storage.open_stores import snapshot_files, value_files
from pipelines.resources.storage.snapshots import MARKER, ParquetSnapshots, load_ref, problems_of
from pipelines.resources.storage.sqlite import connect_to_read, damage_of, obstacle

SHOWN_BYTES = 1_000_000
FREE = "It is made again from cached replies, without a call"
SALVAGED = "--repair sets it aside, and copies the rows that can be read into a new file."
SET_ASIDE = "--repair sets it aside, and the next command that needs it creates a new one; restore a copy if you have one."


@dataclass(frozen=True)
class Finding:
    """One damaged place: where it is, what is wrong, and what to do. `repair` None: only a person can repair it."""

    where: str
    what: str
    remedy: str
    repair: Callable[[], object] | None = field(default=None, compare=False)

    def mend(self) -> bool:
        """Repair the damage if possible, and return whether it was."""
        if self.repair is not None:
            self.repair()
        return self.repair is not None


def examine(home: Home) -> list[Finding]:
    """Return all damage in a data folder. Raises StoreError where there is none."""
    if not home.root.is_dir():
        raise StoreError(f"{home.root} is not a folder; set AMEMGYM_HOME to the data folder.")
    findings = [*_databases(home), *dagster_findings(home), *_killed_commands(home)]
    findings += [*_snapshots(snapshot_files(home)), *_values(value_files(home), snapshot_files(home)), *_releases(home)]
    findings += _finished_variants(home)
    return findings


def disk_sizes(home: Home) -> Iterator[tuple[str, int]]:
    """Yield each file and folder of the data folder that takes a megabyte and more, the largest first."""
    sizes: dict[str, int] = {}
    for path in home.root.iterdir():
        files = path.rglob("*") if path.is_dir() else [path]
        sizes[path.name] = sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if sizes[name] >= SHOWN_BYTES:
            yield name, sizes[name]


def _databases(home: Home) -> Iterator[Finding]:
    """Check each SQLite file as a whole, then its rows."""
    for path in sorted(home.root.rglob("*.sqlite")):
        if DAMAGED in path.name:
            continue
        problem = damage_of(path)
        if problem:
            remedy = SET_ASIDE if obstacle(path) else SALVAGED
            yield _damaged_file(path, f"the database {problem}", remedy, partial(_salvage, path))
            continue
        with closing(connect_to_read(path, without_log=True)) as connection:
            yield from _rows(path, connection)


def dagster_findings(home: Home, *, runs: bool = True) -> Iterator[Finding]:
    """Yield the damaged ones of Dagster's SQLite files. `runs`: also check the files of single runs, maybe thousands."""
    for path in sorted(home.dagster.rglob("*.db")):
        of_a_run = path.parent.name == "runs" and path.name != "index.db"
        problem = damage_of(path) if runs or not of_a_run else ""
        if problem:
            remedy = "It holds the history of runs and no data; --repair sets it aside, and Dagster creates a new one."
            yield _damaged_file(path, f"Dagster's database {problem}", remedy, partial(_set_aside, path))


def _killed_commands(home: Home) -> Iterator[Finding]:
    remedy = "--repair cancels it. The next command that makes something does too, and so does an open UI."
    for run_id in find_killed_commands(home.dagster):
        where = f"{home.dagster}, run {run_id[:8]}"
        yield Finding(where, "its command was killed, so other runs may wait for it", remedy, partial(_cancel, home))


def _cancel(home: Home) -> None:
    with dg.DagsterInstance.from_config(str(prepare_dagster_home(home))) as instance:
        cancel_killed_commands(instance)


def check_dagster_storage(home: Home, *, runs: bool) -> None:
    """Raise Problem for the first damaged file of Dagster, which itself would name no file and silently start an empty one."""
    for finding in dagster_findings(home, runs=runs):
        raise Problem(f"{finding.where}: {finding.what}. {finding.remedy} Run: amemgym doctor --repair")


@contextmanager
def sound_dagster_storage(home: Home) -> Generator[Path]:
    """Check Dagster's files, then yield their folder and keep other commands from creating them. Raises Problem or OSError."""
    folder = prepare_dagster_home(home)
    # Dagster's new files are empty for a moment. Without the lock that would look like damage.
    with FileLock(folder / "begin.lock", fallback_to_soft=False):
        check_dagster_storage(home, runs=False)
        yield folder


def _damaged_file(path: Path, what: str, remedy: str, repair: Callable[[], object]) -> Finding:
    if os.path.lexists(path) and not os.access(path, os.R_OK):
        return Finding(
            str(path), "it cannot be read", "Make it readable for the user who runs this command, or restore a copy."
        )
    return Finding(str(path), what, remedy, repair)


def _rows(path: Path, connection: sqlite3.Connection) -> Iterator[Finding]:
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, remedy in (("replies", "It is requested again when it is needed, which costs a call."), ("work", f"{FREE}.")):
        if path.name in ("calls.sqlite", "work.sqlite") and table in tables:
            rows = connection.execute(f'SELECT key, value, digest FROM "{table}"')
            bad = [key for key, value, digest in rows if digest != digest_of(key, value)]
            if bad:
                yield Finding(str(path), _damaged_rows(len(bad), table), remedy, partial(_delete, path, table, bad))
    if path.name == "ledger.sqlite" and LEDGER_TABLE in tables:
        rows = connection.execute(f"SELECT key, value, {', '.join(LEDGER_COLUMNS)} FROM {LEDGER_TABLE}")
        bad = [key for key, value, *columns in rows if not is_as_written(value, columns)]
        if bad:
            remedy = "The cost of these calls is lost; sums and budgets leave them out."
            yield Finding(str(path), _damaged_rows(len(bad), "calls"), remedy, partial(_delete, path, LEDGER_TABLE, bad))


def _damaged_rows(count: int, table: str) -> str:
    return f"{counted(count, 'row')} of {table} {is_or_are(count)} damaged"


def _delete(path: Path, table: str, keys: list[str]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(f'DELETE FROM "{table}" WHERE key = ?', [(key,) for key in keys])


def _salvage(path: Path) -> None:
    """Set a damaged file aside, and copy its readable rows into a new file."""
    aside = _set_aside(path)
    if obstacle(aside):
        return
    with closing(connect_to_read(aside, without_log=True)) as old:
        try:
            tables = old.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql NOT NULL").fetchall()
        except sqlite3.DatabaseError:
            return
        _copy(old, tables, into=path)


def _copy(old: sqlite3.Connection, tables: Sequence[tuple[str, str]], *, into: Path) -> None:
    with closing(sqlite3.connect(into)) as new:
        for name, sql in tables:
            new.execute(sql)
            for row in _readable(old, name):
                new.execute(f'INSERT OR IGNORE INTO "{name}" VALUES ({", ".join("?" for _ in row)})', row)
        new.commit()


def _set_aside(path: Path) -> Path:
    """Rename a file together with SQLite's -wal and -shm files, and return its new path."""
    aside = name_aside(path)
    for suffix in ("-wal", "-shm", ""):
        part = Path(f"{path}{suffix}")
        if os.path.lexists(part):
            part.replace(f"{aside}{suffix}")
    return aside


def _readable(connection: sqlite3.Connection, table: str) -> Iterator[tuple[object, ...]]:
    """Yield the rows before the first damage, then the rows that SQLite can read backwards from the end."""
    for order in ("ASC", "DESC"):
        try:
            yield from connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid {order}')
        except sqlite3.DatabaseError:
            continue
        return


def _snapshots(files: FileStore) -> Iterator[Finding]:
    names = files.names()
    folders = {name.rpartition("/")[0] for name in names if not name.endswith("/LATEST")}
    for folder in sorted(folders):
        where = f"{files.address}/{folder}"
        remedy = f"{FREE}, when the stage is materialized."
        ref = load_ref(files, folder)
        problems = [f"its {MARKER} is missing or cannot be read"] if ref is None else problems_of(files, ref)
        # The repair of the first removes the folder of all.
        removal = partial(shutil.rmtree, files.root / folder, ignore_errors=True) if isinstance(files, LocalFiles) else None
        for problem in problems:
            yield Finding(where, problem.rstrip("."), remedy, removal)
    for name in names:
        unit, _, last = name.rpartition("/")
        if last == "LATEST" and f"{unit}/{files.read(name).decode(errors='replace').strip()[:16]}/{MARKER}" not in names:
            removal = partial((files.root / name).unlink) if isinstance(files, LocalFiles) else None
            yield Finding(f"{files.address}/{name}", "it names a snapshot that does not exist", f"{FREE}.", removal)


def _values(files: FileStore, snapshots: FileStore) -> Iterator[Finding]:
    manager = AssetValueIOManager(files, ParquetSnapshots(snapshots))
    for name in files.names():
        removal = partial((files.root / name).unlink) if isinstance(files, LocalFiles) else None
        where = f"{files.address}/{name}"
        try:
            value = manager.check(name)
        except UnreadableValue as error:
            yield Finding(where, str(error).rstrip("."), f"{FREE}.", removal)
            continue
        for folder in _folders(value):
            if load_ref(snapshots, folder) is None:
                yield Finding(where, f"its snapshot {folder} does not exist", f"{FREE}.", removal)
                break


def _folders(value: object) -> list[str]:
    """Return the folders of the snapshots that a value refers to."""
    provenance = getattr(value, "provenance", value)
    folders: list[str] = []
    for group in getattr(provenance, "snapshots", {}).values():
        for ref in group.values():
            if isinstance(ref, SnapshotRef):
                folders.append(ref.failures.path.rpartition("/")[0])
    return folders


def _releases(home: Home) -> Iterator[Finding]:
    for manifest in sorted(home.releases.glob("*/*/manifest.json")):
        problems = verify_release(manifest.parent)
        if problems:
            remedy = "A release is never changed: fetch it again, or make the same version again in another folder."
            yield Finding(
                str(manifest.parent), f"{counted(len(problems), 'problem')}, the first: {str(problems[0]).rstrip('.')}", remedy
            )


def _finished_variants(home: Home) -> Iterator[Finding]:
    """Yield what cannot be read of what `generate` keeps of its last runs; one of another version is no damage."""
    for path in sorted(home.root.glob("finished/*.json")):
        try:
            parse_json(read_bounded(path, most=MOST_ITEM_BYTES))
        except (OSError, ValueError):
            remedy = f"The next generate of {path.stem} makes it again; --repair sets it aside."
            yield _damaged_file(path, "it was cut or changed", remedy, partial(_set_aside, path))
