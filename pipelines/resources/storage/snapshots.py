"""Snapshots as Parquet: immutable folders named by the digest of their rows.

A snapshot is `<stage>/<unit>/<digest[:16]>/` with the stage's rows in `part-*.parquet`, rows carried for other stages in
`carried-<stage>-*.parquet`, `failures.parquet` and, written last, `snapshot.json`. `LATEST` beside it holds the digest.
Parts are named by number and digest, so that two writers that split the same rows differently do not overwrite each other.
A row stores its record twice. The columns are for people and SQL. The JSON is what the digest covers; reading the record from
it takes a third of the time.
"""

import hashlib
import shutil
import weakref
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from assets.engine.ports import FailureFile, SnapshotPart, SnapshotRef
from assets.engine.serialized_record import SerializedRecord
from assets.recipe.loading import how_to_remake
from assets.records.base import Failure, ItemRecord
from assets.records.columnar import to_table
from assets.reporting.plurals import counted
from dataset_card.release.writers import sync
from pipelines.errors import StoreError
from pipelines.resources.storage.file_store import FileStore, as_file_store

R = TypeVar("R", bound=ItemRecord)

MARKER = "snapshot.json"
FAILURES = "failures.parquet"
RECORD = "record"
ROWS_PER_GROUP = 50


class ParquetWriter:
    """Writes a snapshot part by part into a draft. Readers see nothing until `finish` commits it."""

    def __init__(self, files: FileStore, *, stage: str, unit: str) -> None:
        self._files = files
        self._folder = f"{stage}/{unit}"
        self._stage: str = stage
        self._unit = unit
        self._draft = files.draft(self._folder)
        self._parts: dict[str, list[SnapshotPart]] = {}
        self._digests = {stage: hashlib.sha256()}
        weakref.finalize(self, shutil.rmtree, self._draft, ignore_errors=True)

    def add(self, stage: str, rows: Sequence[tuple[int, SerializedRecord[ItemRecord]]]) -> None:
        """Write the next part of a stage. Raises ValueError if positions do not ascend within and between parts."""
        if not rows:
            return
        parts = self._parts.setdefault(stage, [])
        positions = [position for position, _ in rows]
        earlier = [part.last for part in parts[-1:]]
        if not _ascends([*earlier, *positions]):
            raise ValueError(f"Rows of {stage!r} must come in ascending order of position, not as {positions}.")
        records = [row.record for _, row in rows]
        texts = [row.text for _, row in rows]
        content = _content(positions, texts)
        self._digests.setdefault(stage, hashlib.sha256()).update(content)
        digest = hashlib.sha256(content).hexdigest()
        span = {"first": positions[0], "last": positions[-1]}
        prefix = "part" if stage == self._stage else f"carried-{stage}"
        name = f"{prefix}-{len(parts):05d}-{digest[:8]}.parquet"
        table = _with_json(to_table(records, record_type=type(records[0])), texts)
        _write(self._draft / name, table.add_column(0, "position", pa.array(positions, pa.int32())))
        parts.append(SnapshotPart(stage=stage, path=name, rows=len(rows), digest=digest, **span))

    def finish(self, failures: Sequence[Failure]) -> SnapshotRef:
        """Commit the snapshot and point LATEST at it. If a snapshot with equal rows exists, return that one."""
        failure_texts = [failure.model_dump_json() for failure in failures]
        ref = self._ref(failure_texts)
        _write(self._draft / FAILURES, _with_json(to_table(failures, record_type=Failure), failure_texts))
        marker = self._draft / MARKER
        marker.write_text(f"{ref.model_dump_json(indent=2)}\n", encoding="utf-8")
        sync(marker)
        ref = self._commit(ref)
        self._files.write(f"{self._folder}/LATEST", f"{ref.digest}\n".encode())
        return ref

    def _ref(self, failures: Sequence[str]) -> SnapshotRef:
        names = [self._stage, *sorted(self._parts.keys() - {self._stage})]
        content = [self._stage]
        parts: list[SnapshotPart] = []
        for name in names:
            content.append(f"{name} {self._digests[name].hexdigest()}")
            parts.extend(self._parts.get(name, []))
        content.extend(failures)
        digest = hashlib.sha256("\n".join(content).encode()).hexdigest()
        folder = f"{self._folder}/{digest[:16]}"
        return SnapshotRef(
            stage=self._stage,
            unit=self._unit,
            digest=digest,
            items=sum(part.rows for part in self._parts.get(self._stage, [])),
            parts=tuple(part.model_copy(update={"path": f"{folder}/{part.path}"}) for part in parts),
            failures=FailureFile(path=f"{folder}/{FAILURES}", items=len(failures)),
        )

    def _commit(self, ref: SnapshotRef) -> SnapshotRef:
        """Commit the draft. An existing folder with the same digest is kept if it is intact, and replaced if not."""
        folder = f"{self._folder}/{ref.digest[:16]}"
        if self._files.commit(self._draft, folder, last=MARKER):
            return ref
        existing = load_ref(self._files, folder)
        if existing is not None and existing.digest == ref.digest and not problems_of(self._files, existing):
            shutil.rmtree(self._draft)
            return existing
        self._files.commit(self._draft, folder, last=MARKER, overwrite=True)
        return ref


class SnapshotError(OSError):
    """Raised for a snapshot that cannot be read. Its sentence names the file and says what to do."""


class ParquetSnapshots:
    """The SnapshotStore port over Parquet files in a file store."""

    def __init__(self, files: Path | FileStore) -> None:
        self.files = as_file_store(files)
        self._checked: set[tuple[str, str]] = set()  # parts never change, so a process checks each once

    @property
    def address(self) -> str:
        return self.files.address

    def writer(self, stage: str, *, unit: str) -> ParquetWriter:
        """Begin a snapshot, and delete the drafts that killed runs left for this stage and unit."""
        return ParquetWriter(self.files, stage=stage, unit=unit)

    def read(self, ref: SnapshotRef, stage: str, *, record: type[R], positions: Collection[int] | None = None) -> dict[int, R]:
        """Return the rows by position of the snapshot's own stage, or of one that it carries. Raises SnapshotError."""
        rows = self.read_serialized(ref, stage, record=record, positions=positions)
        return {position: row.record for position, row in rows.items()}

    def read_serialized(
        self, ref: SnapshotRef, stage: str, *, record: type[R], positions: Collection[int] | None = None
    ) -> dict[int, SerializedRecord[R]]:
        """Return the same rows, but decode each record on first use. Reading and decoding raise SnapshotError."""
        rows: dict[int, SerializedRecord[R]] = {}
        for part in ref.parts:
            if part.stage != stage:
                continue
            wanted = None
            if positions is not None:
                wanted = {position for position in positions if part.first <= position <= part.last}
            if wanted is None or wanted:
                rows.update(self._rows(ref, part, record=record, wanted=wanted))
        return rows

    def table(self, ref: SnapshotRef, stage: str) -> pa.Table | None:
        """Return the rows of a stage, the snapshot's own or a carried one; None if there are none. Raises SnapshotError.

        Columns: `unit`, `position` and the fields of the stage's record.
        """
        parts: list[pa.Table] = []
        for part in ref.parts:
            if part.stage == stage:
                self.check(ref, part)
                with self._open(ref, part.path, kind="rows") as file:
                    rows = _read(file).drop_columns([RECORD])
                parts.append(rows.add_column(0, "unit", pa.array([ref.unit] * rows.num_rows, pa.string())))
        return pa.concat_tables(parts) if parts else None

    def positions(self, ref: SnapshotRef) -> Iterator[list[int]]:
        """Yield the positions of the rows of the snapshot's own stage, one list per part. Raises SnapshotError."""
        for part in ref.parts:
            if part.stage == ref.stage:
                with self._open(ref, part.path, kind="rows") as file:
                    yield cast(list[int], _read(file, columns=["position"])["position"].to_pylist())

    def failures(self, ref: SnapshotRef) -> list[Failure]:
        """Return the failures of the items that were replaced up to this stage, by position. Raises SnapshotError."""
        with self._open(ref, ref.failures.path, kind=Failure.__name__) as file:
            texts = cast(list[str], _read(file, columns=[RECORD])[RECORD].to_pylist())
            return [Failure.model_validate_json(text) for text in texts]

    def _rows(
        self, ref: SnapshotRef, part: SnapshotPart, *, record: type[R], wanted: set[int] | None
    ) -> Iterator[tuple[int, SerializedRecord[R]]]:
        """Yield a part's rows at the wanted positions (None: all). An unchecked part is read and checked as a whole."""

        def decode(text: str) -> R:
            with self._explain_errors(ref, part.path, kind=record.__name__):
                return record.model_validate_json(text)

        with self._open(ref, part.path, kind=record.__name__) as file:
            if (part.path, part.digest) in self._checked:
                positions, texts = _rows_of(_read(file, wanted, columns=["position", RECORD]))
            else:
                positions, texts = self._checked_rows(ref, part, file)
        for position, text in zip(positions, texts, strict=True):
            if wanted is None or position in wanted:
                yield position, SerializedRecord(text, decode=decode)

    def check(self, ref: SnapshotRef, part: SnapshotPart) -> None:
        """Raise SnapshotError if a part's rows have changed since they were written."""
        with self._open(ref, part.path, kind="rows") as file:
            self._checked_rows(ref, part, file)

    def _checked_rows(self, ref: SnapshotRef, part: SnapshotPart, file: pa.NativeFile) -> tuple[list[int], list[str]]:
        """Return all rows of a part. Raises SnapshotError if they have changed, for example because the file was edited."""
        positions, texts = _rows_of(_read(file, columns=["position", RECORD]))
        if hashlib.sha256(_content(positions, texts)).hexdigest() != part.digest:
            raise SnapshotError(
                f"Snapshot file {self.files.address}/{part.path} does not hold the rows that were written (was it edited or "
                f"shortened?); {how_to_remake(ref.stage, ref.unit)}"
            )
        self._checked.add((part.path, part.digest))
        return positions, texts

    @contextmanager
    def _open(self, ref: SnapshotRef, name: str, *, kind: str) -> Generator[pa.NativeFile, None, None]:
        with self._explain_errors(ref, name, kind=kind), self.files.open(name) as file:
            yield file

    @contextmanager
    def _explain_errors(self, ref: SnapshotRef, name: str, *, kind: str) -> Generator[None, None, None]:
        """Turn an error with a snapshot's file into a SnapshotError with one sentence."""
        path = f"{self.files.address}/{name}"
        remedy = how_to_remake(ref.stage, ref.unit)
        try:
            yield
        except FileNotFoundError as error:
            raise SnapshotError(f"Snapshot file {path} is missing; {remedy}") from error
        except (StoreError, SnapshotError):
            raise
        except ValidationError as error:
            reason = " ".join(str(error).split())
            raise SnapshotError(f"Snapshot file {path} holds no valid {kind} of this version ({reason}); {remedy}") from error
        except (pa.ArrowInvalid, OSError) as error:
            self.files.raise_store_error(error)
            raise SnapshotError(f"Snapshot file {path} is damaged ({error}); {remedy}") from error


def load_ref(files: FileStore, folder: str) -> SnapshotRef | None:
    """Return the snapshot in a folder; None if there is none, or if its marker file cannot be read."""
    try:
        return SnapshotRef.model_validate_json(files.read(f"{folder}/{MARKER}"))
    except (FileNotFoundError, ValidationError):
        return None


def problems_of(files: FileStore, ref: SnapshotRef) -> list[str]:
    """Read all files of a snapshot, and return one sentence for each problem."""
    store = ParquetSnapshots(files)
    problems = list[str]()
    for part in ref.parts:
        try:
            store.check(ref, part)
        except OSError as error:
            problems.append(str(error))
    try:
        found = len(store.failures(ref))
        if found != ref.failures.items:
            problems.append(
                f"Snapshot file {files.address}/{ref.failures.path} has {counted(found, 'row')}, not {ref.failures.items}."
            )
    except OSError as error:
        problems.append(str(error))
    return problems


def _ascends(positions: Sequence[int]) -> bool:
    return all(earlier < later for earlier, later in pairwise(positions))


def _content(positions: Sequence[int], texts: Sequence[str]) -> bytes:
    """Return the bytes from which a part's digest is computed."""
    return "".join(f"{position}\t{text}\n" for position, text in zip(positions, texts, strict=True)).encode()


def _rows_of(table: pa.Table) -> tuple[list[int], list[str]]:
    positions = cast(list[int], table["position"].to_pylist())
    texts = cast(list[str], table[RECORD].to_pylist())
    return positions, texts


def _with_json(table: pa.Table, texts: Sequence[str]) -> pa.Table:
    return table.append_column(RECORD, pa.array(texts, pa.string()))


def _write(path: Path, table: pa.Table) -> None:
    # No dictionary encoding, because dictionary pages have no checksum.
    pq.write_table(  # pyright: ignore[reportUnknownMemberType]
        table, path, compression="zstd", row_group_size=ROWS_PER_GROUP, write_page_checksum=True, use_dictionary=False
    )
    sync(path)


def _read(file: pa.NativeFile, positions: set[int] | None = None, *, columns: list[str] | None = None) -> pa.Table:
    wanted = None if positions is None else pc.field("position").isin(sorted(positions))  # pyright: ignore[reportUnknownMemberType]
    return pq.read_table(  # pyright: ignore[reportUnknownMemberType]
        file, columns=columns, filters=wanted, partitioning=None, page_checksum_verification=True
    )
