"""Snapshots as Parquet: immutable folders named by the digest of their rows.

A snapshot is `<root>/<stage>/<unit>/<digest[:16]>/` with the stage's rows in `part-*.parquet`, rows carried for other
stages in `carried-<stage>-*.parquet`, `failures.parquet` and `snapshot.json`. `LATEST` beside it holds the digest.
"""

import hashlib
import os
import secrets
import shutil
import socket
import time
import weakref
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from assets.ports import SnapshotPart, SnapshotRef
from assets.records.base import StageName, UserRecord
from assets.records.columnar import from_table, to_table
from assets.records.failure import Failure

R = TypeVar("R", bound=UserRecord)
HOST = socket.gethostname()
ABANDONED_SECONDS = 24 * 3600
ROWS_PER_GROUP = 50


class SnapshotError(OSError):
    """A snapshot that cannot be read; one sentence names the file and says what to do."""


class ParquetSnapshots:
    """The SnapshotStore port over a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def writer(self, stage: StageName, *, unit: str) -> "ParquetWriter":
        """Begin a snapshot, and clear away what killed runs left of this stage and unit."""
        home = self.root / stage / unit
        home.mkdir(parents=True, exist_ok=True)
        for left in home.glob(".writing-*"):
            with suppress(FileNotFoundError):
                if _abandoned(left):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
        return ParquetWriter(self.root, stage=stage, unit=unit)

    def read(
        self, ref: SnapshotRef, stage: StageName, *, record: type[R], positions: Collection[int] | None = None
    ) -> dict[int, R]:
        """The snapshot's rows of a stage by position, its own or carried ones. Raises SnapshotError."""
        rows: dict[int, R] = {}
        for part in ref.parts:
            wanted = None if positions is None else [p for p in positions if part.first <= p <= part.last]
            if part.stage == stage and wanted != []:
                rows.update(self._rows(ref, part, record=record, wanted=wanted))
        return rows

    def _rows(self, ref: SnapshotRef, part: SnapshotPart, *, record: type[R], wanted: list[int] | None) -> list[tuple[int, R]]:
        path, remedy = self.root / part.path, f"materialize {ref.stage!r} of {ref.unit!r} again"
        try:
            table = _read(path, wanted)
            positions = cast(list[int], table["position"].to_pylist())
            return list(zip(positions, from_table(table, record_type=record), strict=True))
        except FileNotFoundError as error:
            raise SnapshotError(f"Snapshot file {path} is missing; {remedy}.") from error
        except (KeyError, ValidationError) as error:
            reason = " ".join(str(error).split())
            raise SnapshotError(f"Snapshot file {path} holds no {record.__name__} of today; {remedy} ({reason}).") from error
        except (pa.ArrowInvalid, OSError) as error:
            raise SnapshotError(f"Snapshot file {path} is damaged; delete its folder and {remedy} ({error}).") from error


class ParquetWriter:
    """Writes into a hidden folder, which `finish` renames into its place."""

    def __init__(self, root: Path, *, stage: StageName, unit: str) -> None:
        self._root, self._unit = root, unit
        self._stage: StageName = stage
        self._folder = root / stage / unit / f".writing-{HOST}-{os.getpid()}-{secrets.token_hex(4)}"
        self._folder.mkdir()
        self._parts: dict[StageName, list[SnapshotPart]] = {}
        self._digests = {stage: hashlib.sha256()}
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def add(self, stage: StageName, rows: Sequence[tuple[int, UserRecord]]) -> None:
        """Write the next part of a stage. Raises ValueError when positions do not ascend from part to part."""
        if not rows:
            return
        parts, positions = self._parts.setdefault(stage, []), [position for position, _ in rows]
        if any(later <= earlier for earlier, later in pairwise([*(part.last for part in parts[-1:]), *positions])):
            raise ValueError(f"Rows of {stage!r} must come in ascending order of position, not as {positions}.")
        content = "".join(f"{position}\t{record.model_dump_json()}\n" for position, record in rows).encode()
        self._digests.setdefault(stage, hashlib.sha256()).update(content)
        name = f"{'part' if stage == self._stage else f'carried-{stage}'}-{len(parts):05d}.parquet"
        records = [record for _, record in rows]
        table = to_table(records, record_type=type(records[0]))
        _write(self._folder / name, table.add_column(0, "position", pa.array(positions, pa.int32())))
        digest, span = hashlib.sha256(content).hexdigest(), {"first": positions[0], "last": positions[-1]}
        parts.append(SnapshotPart(stage=stage, path=name, rows=len(rows), digest=digest, **span))

    def finish(self, failures: Sequence[Failure]) -> SnapshotRef:
        """Put the snapshot in its place and point LATEST at it. Equal rows give the snapshot that is already there."""
        ref = self._ref(failures)
        _write(self._folder / "failures.parquet", to_table(failures, record_type=Failure))
        _write_text(self._folder / "snapshot.json", ref.model_dump_json(indent=2))
        _sync(self._folder)
        home = self._folder.parent
        final = home / ref.digest[:16]
        try:
            self._folder.rename(final)
        except OSError:
            ref = self._settle(ref, final)
        pointer = home / f"{self._folder.name}1"
        _write_text(pointer, ref.digest)
        pointer.replace(home / "LATEST")
        _sync(home)
        return ref

    def _ref(self, failures: Sequence[Failure]) -> SnapshotRef:
        names: list[StageName] = [self._stage, *sorted(name for name in self._parts if name != self._stage)]
        content = [self._stage, *(f"{name} {self._digests[name].hexdigest()}" for name in names)]
        content.extend(failure.model_dump_json() for failure in failures)
        digest = hashlib.sha256("\n".join(content).encode()).hexdigest()
        parts = [part for name in names for part in self._parts.get(name, [])]
        home = f"{self._stage}/{self._unit}/{digest[:16]}"
        return SnapshotRef(
            stage=self._stage,
            unit=self._unit,
            digest=digest,
            users=sum(part.rows for part in self._parts.get(self._stage, [])),
            parts=tuple(part.model_copy(update={"path": f"{home}/{part.path}"}) for part in parts),
            failures=tuple(failures),
        )

    def _settle(self, ref: SnapshotRef, final: Path) -> SnapshotRef:
        """The digest's folder exists: keep it when it is whole, else take its place."""
        there = load_ref(final)
        if there is not None and all((self._root / part.path).is_file() for part in there.parts):
            shutil.rmtree(self._folder)
            return there
        broken = self._folder.with_name(f"{self._folder.name}0")
        final.rename(broken)
        self._folder.rename(final)
        shutil.rmtree(broken)
        return ref


def load_ref(folder: Path) -> SnapshotRef | None:
    """The snapshot in a folder, if there is a readable one."""
    try:
        return SnapshotRef.model_validate_json((folder / "snapshot.json").read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _abandoned(left: Path) -> bool:
    """Whether its writer is dead. A writer on another host is given up after a day without a new part."""
    *_, pid, _ = left.name.split("-")
    if not left.name.startswith(f".writing-{HOST}-{pid}-"):
        return time.time() - left.stat().st_mtime > ABANDONED_SECONDS
    try:
        os.kill(int(pid), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def _read(path: Path, positions: list[int] | None) -> pa.Table:
    wanted = None if positions is None else pc.field("position").isin(positions)  # pyright: ignore[reportUnknownMemberType]
    return pq.read_table(path, filters=wanted, partitioning=None)  # pyright: ignore[reportUnknownMemberType]


def _write(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, compression="zstd", row_group_size=ROWS_PER_GROUP)  # pyright: ignore[reportUnknownMemberType]
    _sync(path)


def _write_text(path: Path, text: str) -> None:
    path.write_text(f"{text}\n", encoding="utf-8")
    _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
