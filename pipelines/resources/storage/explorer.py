"""DuckDB views over the latest snapshots, so that all rows made so far can be queried with SQL."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb

from assets.engine.ports import SnapshotRef
from pipelines.resources.storage.file_store import FileStore
from pipelines.resources.storage.snapshots import FAILURES, load_ref


def views(files: FileStore, *, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Register a view for each stage that has rows, and `failures`; return their names.

    A view contains the rows of all units, with the column `unit`, and the rows of replacement users that later stages carry.
    The files are read from this machine. Objects of an object store are copied to it first, because DuckDB could read them
    directly only with an extension.
    """
    selects: dict[str, list[str]] = {}
    for folder, ref in _latest(files):
        paths_of: dict[str, list[Path]] = {}
        for part in ref.parts:
            paths_of.setdefault(part.stage, []).append(files.local_path(part.path).resolve())
        for stage, paths in paths_of.items():
            selects.setdefault(stage, []).append(_select(ref, paths, carried=stage != ref.stage))
        selects.setdefault("failures", []).append(
            _select(ref, [files.local_path(f"{folder}/{FAILURES}").resolve()], carried=False)
        )
    for name, parts in selects.items():
        key = "unit, stage, position" if name == "failures" else "unit, position"
        rows = " UNION ALL BY NAME ".join(parts)
        connection.execute(
            f'CREATE OR REPLACE VIEW "{name}" AS SELECT DISTINCT ON ({key}) * EXCLUDE (carried, record) FROM ({rows}) '
            f"ORDER BY {key}, carried"
        )
    return sorted(selects)


def write_explorer(files: FileStore, path: Path) -> list[str]:
    """Write a DuckDB file that holds the views, and return their names. Without any view, no file is written.

    Views need absolute paths, so the file is useful only on this machine and is never part of a release.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with duckdb.connect(str(draft)) as connection:
        names = views(files, connection=connection)
    if names:
        draft.replace(path)
    else:
        draft.unlink()
    return names


def _latest(files: FileStore) -> Iterator[tuple[str, SnapshotRef]]:
    for pointer in files.names():
        unit, _, name = pointer.rpartition("/")
        if name == "LATEST":
            folder = f"{unit}/{files.read(pointer).decode().strip()[:16]}"
            ref = load_ref(files, folder)
            if ref is not None:
                yield folder, ref


def _select(ref: SnapshotRef, files: Iterable[Path], *, carried: bool) -> str:
    paths = ", ".join(_literal(re.sub(r"([\[*?])", r"[\1]", str(file))) for file in files)
    return f"SELECT {_literal(ref.unit)} AS unit, {carried} AS carried, * FROM read_parquet([{paths}])"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
