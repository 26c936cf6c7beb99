"""What is damaged in a data folder, what that costs, and how it is repaired: nothing that was paid for is thrown away."""

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from assets.engine.ports import SnapshotRef, UnreadableValue
from assets.records.json_text import parse_json
from assets.reporting.plurals import counted, is_or_are
from dataset_card.release.verify import verify_release
from pipelines.home import VERSION_FILE, Home, note_version, version_of
from pipelines.resources.cache.reply_cache import REPLY
from pipelines.resources.ledger.ledger import COLUMNS as LEDGER_COLUMNS
from pipelines.resources.ledger.ledger import TABLE as LEDGER_TABLE
from pipelines.resources.ledger.ledger import row_digest
from pipelines.resources.storage.errors import OtherVersion, StoreError
from pipelines.resources.storage.file_store import FileStore, LocalFiles
from pipelines.resources.storage.io_manager import AssetValueIOManager
from pipelines.resources.storage.key_value import digest_of
from pipelines.resources.storage.open_stores import snapshot_files, value_files
from pipelines.resources.storage.snapshots import MARKER, ParquetSnapshots, load_ref, problems_of
from pipelines.resources.storage.sqlite import connect_to_read

FREE = "It is made again from kept replies, without a call"
OF_ANOTHER_VERSION = (
    "of another version of this program and not used. amemgym generate VARIANT makes anew what it needs, from kept replies; "
    "only what this version asks in other words costs calls."
)
DAMAGED = ".damaged-"


@dataclass(frozen=True)
class Finding:
    """One damage: where, what, and what it means. `repair` None: only a person can.

    `of_another_version`: it is whole, but this version does not read it.
    """

    where: str
    what: str
    remedy: str
    repair: Callable[[], None] | None = field(default=None, compare=False)
    of_another_version: bool = False

    def mend(self) -> bool:
        """Repair it; whether that can be done."""
        if self.repair is not None:
            self.repair()
        return self.repair is not None


def examine(home: Home) -> list[Finding]:
    """All damages of a data folder. Raises StoreError for a folder of a later version."""
    if not home.root.is_dir():
        raise StoreError(f"{home.root} is no folder; give one in AMEMGYM_HOME.")
    findings = [*_version(home), *_databases(home)]
    findings += [*_snapshots(snapshot_files(home)), *_values(value_files(home), snapshot_files(home)), *_releases(home)]
    return findings


def _version(home: Home) -> Iterator[Finding]:
    path = home.root / VERSION_FILE
    try:
        version_of(home)
    except StoreError:
        try:
            parse_json(path.read_bytes())
        except ValueError:
            yield Finding(str(path), "it cannot be read", "It says the folder's version.", partial(_note_anew, home))
        else:
            raise  # a later version is no damage, and nothing here is ours to judge


def _note_anew(home: Home) -> None:
    (home.root / VERSION_FILE).unlink()
    note_version(home)


def _databases(home: Home) -> Iterator[Finding]:
    """Each SQLite file as a whole, then its rows."""
    for path in sorted(home.root.rglob("*.sqlite")):
        if DAMAGED in path.name:
            continue
        try:
            with closing(connect_to_read(path, without_log=True)) as connection:
                (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                problem = "" if state == "ok" else str(state)
                if not problem:
                    yield from _rows(path, connection)
        except sqlite3.Error as error:
            problem = str(error)
        if problem:
            words = " ".join(problem.split())
            remedy = "The rows that can be read are copied into a new file, and this one is set aside."
            yield Finding(str(path), f"the database is damaged ({words})", remedy, partial(_salvage, path))


def _rows(path: Path, connection: sqlite3.Connection) -> Iterator[Finding]:
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, remedy in (("replies", "It is asked for again when it is needed, which costs a call."), ("work", f"{FREE}.")):
        if path.name in ("calls.sqlite", "work.sqlite") and table in tables:
            rows = connection.execute(f'SELECT key, value, {_digest(connection, table)} FROM "{table}"')
            bad = [key for key, value, digest in rows if not _fits(table, key, value, digest)]
            if bad:
                yield Finding(str(path), _damaged_rows(len(bad), table), remedy, partial(_delete, path, table, bad))
    if path.name == "ledger.sqlite" and LEDGER_TABLE in tables:
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        rows = connection.execute(f"SELECT key, value, {', '.join(LEDGER_COLUMNS)} FROM {LEDGER_TABLE}")
        bad = [key for key, value, *columns in rows if not _is_as_written(value, columns)]
        if bad:
            remedy = "What these calls cost cannot be known any more; sums and budgets leave them out."
            yield Finding(str(path), _damaged_rows(len(bad), "calls"), remedy, partial(_delete, path, LEDGER_TABLE, bad))


def _damaged_rows(count: int, table: str) -> str:
    return f"{counted(count, 'row')} of {table} {is_or_are(count)} damaged"


def _digest(connection: sqlite3.Connection, table: str) -> str:
    return "digest" if "digest" in {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')} else "NULL"


def _fits(table: str, key: str, value: object, digest: str | None) -> bool:
    """Whether a row holds what was written; one of an earlier version, without digest, has to be readable at least."""
    if digest is not None:
        return digest == digest_of(key, value)
    try:
        if table == "replies":
            REPLY.validate_json(value if isinstance(value, bytes) else b"")
        else:
            usage, _, content = (value if isinstance(value, bytes) else b"").partition(b"\n")
            json.loads(usage)
            json.loads(content)
    except ValueError:
        return False
    return True


def _is_as_written(digest: bytes, columns: Sequence[object]) -> bool:
    """Whether a row of the ledger holds what was written; one of an earlier version, without digest, has to be of its kinds."""
    try:
        found = row_digest(columns)
    except (ValueError, TypeError, OverflowError):
        return False
    return not digest or digest == found


def _delete(path: Path, table: str, keys: list[str]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(f'DELETE FROM "{table}" WHERE key = ?', [(key,) for key in keys])


def _salvage(path: Path) -> None:
    """Set a damaged file aside, and copy the rows that can be read from it into a new one."""
    aside = path.with_name(f"{path.name}{DAMAGED}{time.strftime('%Y%m%d-%H%M%S')}")
    for suffix in ("-wal", "-shm", ""):
        part = Path(f"{path}{suffix}")
        if part.exists():
            part.replace(f"{aside}{suffix}")
    with closing(connect_to_read(aside, without_log=True)) as old, closing(sqlite3.connect(path)) as new:
        try:
            tables = old.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql NOT NULL").fetchall()
        except sqlite3.DatabaseError:
            tables = []
        for name, sql in tables:
            new.execute(sql)
            for row in _readable(old, name):
                new.execute(f'INSERT OR IGNORE INTO "{name}" VALUES ({", ".join("?" for _ in row)})', row)
        new.commit()


def _readable(connection: sqlite3.Connection, table: str) -> Iterator[tuple[object, ...]]:
    """The rows before the first damage, and those after it as far as SQLite gets from the other end."""
    for order in ("ASC", "DESC"):
        try:
            yield from connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid {order}')
        except sqlite3.DatabaseError:
            continue
        return


def _snapshots(files: FileStore) -> Iterator[Finding]:
    names = files.names()
    for folder in sorted({name.rpartition("/")[0] for name in names if not name.endswith("/LATEST")}):
        where = f"{files.address}/{folder}"
        remedy = f"{FREE}, when the stage is materialized."
        ref = load_ref(files, folder)
        problems = [f"its {MARKER} is missing or cannot be read"] if ref is None else problems_of(files, ref)
        if problems:
            removal = partial(shutil.rmtree, files.root / folder) if isinstance(files, LocalFiles) else None
            other = ref is None and _is_whole(files, f"{folder}/{MARKER}")
            yield Finding(where, problems[0].rstrip("."), remedy, removal, of_another_version=other)
    for name in names:
        unit, _, last = name.rpartition("/")
        if last == "LATEST" and f"{unit}/{files.read(name).decode(errors='replace').strip()[:16]}/{MARKER}" not in names:
            removal = partial((files.root / name).unlink) if isinstance(files, LocalFiles) else None
            yield Finding(f"{files.address}/{name}", "it names a snapshot that is not there", f"{FREE}.", removal)


def _is_whole(files: FileStore, name: str) -> bool:
    """Whether the file is there and holds a JSON object."""
    try:
        return isinstance(json.loads(files.read(name)), dict)
    except (FileNotFoundError, ValueError):
        return False


def _values(files: FileStore, snapshots: FileStore) -> Iterator[Finding]:
    manager = AssetValueIOManager(files, ParquetSnapshots(snapshots))
    for name in files.names():
        removal = partial((files.root / name).unlink) if isinstance(files, LocalFiles) else None
        where = f"{files.address}/{name}"
        try:
            value = manager.check(name)
        except UnreadableValue as error:
            other = isinstance(error, OtherVersion)
            yield Finding(where, str(error).rstrip("."), f"{FREE}.", removal, of_another_version=other)
            continue
        for folder in _folders(value):
            if load_ref(snapshots, folder) is None:
                yield Finding(where, f"its snapshot {folder} is not there", f"{FREE}.", removal)
                break


def _folders(value: object) -> list[str]:
    """The folders of the snapshots that a value points to."""
    provenance = getattr(value, "provenance", value)
    refs = [ref for group in getattr(provenance, "snapshots", {}).values() for ref in group.values()]
    return [ref.failures.path.rpartition("/")[0] for ref in refs if isinstance(ref, SnapshotRef)]


def _releases(home: Home) -> Iterator[Finding]:
    for manifest in sorted(home.releases.glob("*/*/manifest.json")):
        problems = verify_release(manifest.parent)
        if problems:
            remedy = "A release is never changed: fetch it again, or make the same version in another folder."
            yield Finding(
                str(manifest.parent), f"{counted(len(problems), 'problem')}, the first: {str(problems[0]).rstrip('.')}", remedy
            )
