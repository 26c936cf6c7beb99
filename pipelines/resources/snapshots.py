"""Snapshots as Parquet: immutable folders named by the digest of their rows.

A snapshot is `<stage>/<unit>/<digest[:16]>/` with the stage's rows in `part-*.parquet`, rows carried for other stages in
`carried-<stage>-*.parquet`, `failures.parquet` and, written last, `snapshot.json`. `LATEST` beside it holds the digest.
Parts are named by number and digest, so that writers of the same rows in parts of other sizes are in nobody's way.
A row holds its record twice: in columns, for people and SQL, and as the JSON that the digest is over, from which it is
read back in a third of the time.
"""

import hashlib
import shutil
import weakref
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from assets.kept import Kept
from assets.ports import FailureFile, SnapshotPart, SnapshotRef
from assets.records.base import StageName, UserRecord
from assets.records.columnar import to_table
from assets.records.failure import Failure
from dataset_card.sinks import sync
from pipelines.resources.databases import StoreError
from pipelines.resources.places import Place, placed

R = TypeVar("R", bound=UserRecord)
SIGN = "snapshot.json"
FAILURES = "failures.parquet"
RECORD = "record"
ROWS_PER_GROUP = 50


class SnapshotError(OSError):
    """A snapshot that cannot be read; one sentence names the file and says what to do."""


class ParquetSnapshots:
    """The SnapshotStore port over a place; a path stands for its folder."""

    def __init__(self, place: Path | Place) -> None:
        self.place = placed(place)

    def writer(self, stage: StageName, *, unit: str) -> "ParquetWriter":
        """Begin a snapshot, and clear away what killed runs left of this stage and unit."""
        return ParquetWriter(self.place, stage=stage, unit=unit)

    def read(
        self, ref: SnapshotRef, stage: StageName, *, record: type[R], positions: Collection[int] | None = None
    ) -> dict[int, R]:
        """The snapshot's rows of a stage by position, its own or carried ones. Raises SnapshotError."""
        found = self.kept(ref, stage, record=record, positions=positions)
        return {position: one.record for position, one in found.items()}

    def kept(
        self, ref: SnapshotRef, stage: StageName, *, record: type[R], positions: Collection[int] | None = None
    ) -> dict[int, Kept[R]]:
        """The same, each record to be decoded when it is looked into; that, too, raises SnapshotError."""
        rows: dict[int, Kept[R]] = {}
        for part in ref.parts:
            if part.stage != stage:
                continue
            wanted = None if positions is None else [p for p in positions if part.first <= p <= part.last]
            if wanted != []:
                rows.update(self._rows(ref, part, record=record, wanted=wanted))
        return rows

    def positions(self, ref: SnapshotRef) -> Iterator[list[int]]:
        """The positions of the stage's own rows, part by part. Raises SnapshotError."""
        for part in ref.parts:
            if part.stage == ref.stage:
                with self._opened(ref, part.path, kind="rows") as file:
                    yield cast(list[int], _read(file, columns=["position"])["position"].to_pylist())

    def failures(self, ref: SnapshotRef) -> list[Failure]:
        """The users who were replaced up to this stage, by position. Raises SnapshotError."""
        with self._opened(ref, ref.failures.path, kind=Failure.__name__) as file:
            texts = cast(list[str], _read(file, columns=[RECORD])[RECORD].to_pylist())
            return [Failure.model_validate_json(text) for text in texts]

    def _rows(
        self, ref: SnapshotRef, part: SnapshotPart, *, record: type[R], wanted: list[int] | None
    ) -> Iterator[tuple[int, Kept[R]]]:
        def decode(text: str) -> R:
            with self._explained(ref, part.path, kind=record.__name__):
                return record.model_validate_json(text)

        with self._opened(ref, part.path, kind=record.__name__) as file:
            table = _read(file, wanted, columns=["position", RECORD])
            positions, texts = (cast(list[Any], table[name].to_pylist()) for name in ("position", RECORD))
        return ((position, Kept(text, decode=decode)) for position, text in zip(positions, texts, strict=True))

    @contextmanager
    def _opened(self, ref: SnapshotRef, name: str, *, kind: str) -> Generator[pa.NativeFile, None, None]:
        with self._explained(ref, name, kind=kind), self.place.open(name) as file:
            yield file

    @contextmanager
    def _explained(self, ref: SnapshotRef, name: str, *, kind: str) -> Generator[None, None, None]:
        """What goes wrong with a file of the snapshot, in one sentence."""
        path, remedy = f"{self.place.address}/{name}", f"materialize {ref.stage!r} of {ref.unit!r} again"
        try:
            yield
        except FileNotFoundError as error:
            raise SnapshotError(f"Snapshot file {path} is missing; {remedy}.") from error
        except StoreError:
            raise
        except ValidationError as error:
            reason = " ".join(str(error).split())
            raise SnapshotError(f"Snapshot file {path} holds no {kind} of today; {remedy} ({reason}).") from error
        except (pa.ArrowInvalid, OSError) as error:
            from pipelines.resources.bucket_errors import pass_on  # brings the stores' clients, which take a while to import

            pass_on(error, address=self.place.address)
            raise SnapshotError(f"Snapshot file {path} is damaged; delete its folder and {remedy} ({error}).") from error


class ParquetWriter:
    """Writes into a draft, which `finish` lets settle in its place."""

    def __init__(self, place: Place, *, stage: StageName, unit: str) -> None:
        self._place, self._home = place, f"{stage}/{unit}"
        self._stage: StageName = stage
        self._unit = unit
        self._draft = place.draft(self._home)
        self._parts: dict[StageName, list[SnapshotPart]] = {}
        self._digests = {stage: hashlib.sha256()}
        weakref.finalize(self, shutil.rmtree, self._draft, ignore_errors=True)

    def add(self, stage: StageName, rows: Sequence[tuple[int, Kept[UserRecord]]]) -> None:
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
        names: list[StageName] = [self._stage, *sorted(name for name in self._parts if name != self._stage)]
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


def _read(file: pa.NativeFile, positions: list[int] | None = None, *, columns: list[str]) -> pa.Table:
    wanted = None if positions is None else pc.field("position").isin(positions)  # pyright: ignore[reportUnknownMemberType]
    return pq.read_table(  # pyright: ignore[reportUnknownMemberType]
        file, columns=columns, filters=wanted, partitioning=None, page_checksum_verification=True
    )


def _write(path: Path, table: pa.Table) -> None:
    # Pages of a dictionary have no checksum.
    pq.write_table(  # pyright: ignore[reportUnknownMemberType]
        table, path, compression="zstd", row_group_size=ROWS_PER_GROUP, write_page_checksum=True, use_dictionary=False
    )
    sync(path)
