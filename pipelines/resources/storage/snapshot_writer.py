"""How a snapshot comes to be: rows go in part by part, and nothing is visible until all of them are there."""

import hashlib
import shutil
import weakref
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from assets.engine.serialized_record import SerializedRecord
from assets.llm.ports import FailureFile, SnapshotPart, SnapshotRef
from assets.records.base import UserRecord
from assets.records.columnar import to_table
from assets.records.failure import Failure
from dataset_card.release.writers import sync
from pipelines.resources.storage.filesystem import Place

SIGN = "snapshot.json"
FAILURES = "failures.parquet"
RECORD = "record"
ROWS_PER_GROUP = 50


class ParquetWriter:
    """Writes into a draft, which `finish` lets settle in its place."""

    def __init__(self, place: Place, *, stage: str, unit: str) -> None:
        self._place, self._home = place, f"{stage}/{unit}"
        self._stage: str = stage
        self._unit = unit
        self._draft = place.draft(self._home)
        self._parts: dict[str, list[SnapshotPart]] = {}
        self._digests = {stage: hashlib.sha256()}
        weakref.finalize(self, shutil.rmtree, self._draft, ignore_errors=True)

    def add(self, stage: str, rows: Sequence[tuple[int, SerializedRecord[UserRecord]]]) -> None:
        """Write the next part of a stage. Raises ValueError when positions do not ascend from part to part."""
        if not rows:
            return
        parts, positions = self._parts.setdefault(stage, []), [position for position, _ in rows]
        if any(later <= earlier for earlier, later in pairwise([*(part.last for part in parts[-1:]), *positions])):
            raise ValueError(f"Rows of {stage!r} must come in ascending order of position, not as {positions}.")
        records, texts = [one.record for _, one in rows], [one.text for _, one in rows]
        content = "".join(f"{position}\t{text}\n" for position, text in zip(positions, texts, strict=True)).encode()
        self._digests.setdefault(stage, hashlib.sha256()).update(content)
        digest, span = hashlib.sha256(content).hexdigest(), {"first": positions[0], "last": positions[-1]}
        name = f"{'part' if stage == self._stage else f'carried-{stage}'}-{len(parts):05d}-{digest[:8]}.parquet"
        table = _with_json(to_table(records, record_type=type(records[0])), texts)
        _write(self._draft / name, table.add_column(0, "position", pa.array(positions, pa.int32())))
        parts.append(SnapshotPart(stage=stage, path=name, rows=len(rows), digest=digest, **span))

    def finish(self, failures: Sequence[Failure]) -> SnapshotRef:
        """Put the snapshot in its place and point LATEST at it. Equal rows give the snapshot that is already there."""
        told = [failure.model_dump_json() for failure in failures]
        ref = self._ref(told)
        _write(self._draft / FAILURES, _with_json(to_table(failures, record_type=Failure), told))
        sign = self._draft / SIGN
        sign.write_text(f"{ref.model_dump_json(indent=2)}\n", encoding="utf-8")
        sync(sign)
        ref = self._settled(ref)
        self._place.write(f"{self._home}/LATEST", f"{ref.digest}\n".encode())
        return ref

    def _ref(self, failures: Sequence[str]) -> SnapshotRef:
        names: list[str] = [self._stage, *sorted(name for name in self._parts if name != self._stage)]
        content = [self._stage, *(f"{name} {self._digests[name].hexdigest()}" for name in names)]
        content.extend(failures)
        digest = hashlib.sha256("\n".join(content).encode()).hexdigest()
        parts = [part for name in names for part in self._parts.get(name, [])]
        home = f"{self._home}/{digest[:16]}"
        return SnapshotRef(
            stage=self._stage,
            unit=self._unit,
            digest=digest,
            users=sum(part.rows for part in self._parts.get(self._stage, [])),
            parts=tuple(part.model_copy(update={"path": f"{home}/{part.path}"}) for part in parts),
            failures=FailureFile(path=f"{home}/{FAILURES}", users=len(failures)),
        )

    def _settled(self, ref: SnapshotRef) -> SnapshotRef:
        """Where the digest's folder exists: keep it when it is whole, else take its place."""
        home = f"{self._home}/{ref.digest[:16]}"
        if self._place.settle(self._draft, home, last=SIGN):
            return ref
        there = load_ref(self._place, home)
        if there is not None and {part.path for part in there.parts} <= set(self._place.names(home)):
            shutil.rmtree(self._draft)
            return there
        self._place.settle(self._draft, home, last=SIGN, anew=True)
        return ref


def load_ref(place: Place, home: str) -> SnapshotRef | None:
    """The snapshot in a folder of the place, if there is a readable one."""
    try:
        return SnapshotRef.model_validate_json(place.read(f"{home}/{SIGN}"))
    except (FileNotFoundError, ValidationError):
        return None


def _with_json(table: pa.Table, texts: Sequence[str]) -> pa.Table:
    return table.append_column(RECORD, pa.array(texts, pa.string()))


def _write(path: Path, table: pa.Table) -> None:
    # Pages of a dictionary have no checksum.
    pq.write_table(  # pyright: ignore[reportUnknownMemberType]
        table, path, compression="zstd", row_group_size=ROWS_PER_GROUP, write_page_checksum=True, use_dictionary=False
    )
    sync(path)
