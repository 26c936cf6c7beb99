"""DuckDB views over the latest snapshots: everything that has been made so far, open to SQL."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb

from assets.ports import SnapshotRef
from pipelines.resources.snapshots import load_ref


def views(root: Path, *, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Register a view for each stage that has rows, and `failures`; return their names.

    A view unites all units, with the column `unit`, and the rows of replacement users that later stages carry.
    """
    selects: dict[str, list[str]] = {}
    for folder, ref in _latest(root.resolve()):
        for stage in dict.fromkeys(part.stage for part in ref.parts):
            files = [folder / Path(part.path).name for part in ref.parts if part.stage == stage]
            selects.setdefault(stage, []).append(_select(ref, files, carried=stage != ref.stage))
        selects.setdefault("failures", []).append(_select(ref, [folder / "failures.parquet"], carried=False))
    for name, parts in selects.items():
        key = "unit, stage, position" if name == "failures" else "unit, position"
        rows = " UNION ALL BY NAME ".join(parts)
        connection.execute(
            f'CREATE OR REPLACE VIEW "{name}" AS SELECT DISTINCT ON ({key}) * EXCLUDE (carried) FROM ({rows}) '
            f"ORDER BY {key}, carried"
        )
    return sorted(selects)


def write_explorer(root: Path, path: Path) -> list[str]:
    """Write a DuckDB file that holds the views, and return their names.

    Views need absolute paths, so the file is a convenience for this machine and never part of a release.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with duckdb.connect(str(draft)) as connection:
        names = views(root, connection=connection)
    draft.replace(path)
    return names


def _latest(root: Path) -> Iterator[tuple[Path, SnapshotRef]]:
    for pointer in sorted(root.glob("*/*/LATEST")):
        folder = pointer.with_name(pointer.read_text(encoding="utf-8").strip()[:16])
        ref = load_ref(folder)
        if ref is not None:
            yield folder, ref


def _select(ref: SnapshotRef, files: Iterable[Path], *, carried: bool) -> str:
    paths = ", ".join(_literal(re.sub(r"([\[*?])", r"[\1]", str(file))) for file in files)
    return f"SELECT {_literal(ref.unit)} AS unit, {carried} AS carried, * FROM read_parquet([{paths}])"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
