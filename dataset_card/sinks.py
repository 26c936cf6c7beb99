"""Data files written piece by piece: rows go in, a file and its line of the manifest come out."""

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from assets.records.base import Record
from assets.records.columnar import arrow_schema, to_rows, to_table
from assets.records.episode import Episode
from dataset_card.digests import RowDigest, file_digest
from dataset_card.manifest import ManifestFile
from dataset_card.reference import end_bytes, item_bytes, to_reference

ROWS_PER_GROUP = 10_000
ROWS_AT_ONCE = 100
EPISODES_PER_GROUP = 200


class ParquetSink:
    """A Parquet file whose bytes follow from its rows, however many come at a time: groups have a fixed size."""

    def __init__(self, path: Path, record_type: type[Record], *, rows_per_group: int = ROWS_PER_GROUP) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._type = record_type
        self._group = rows_per_group
        self._waiting: list[Record] = []
        self._tables: list[pa.Table] = []
        self._held = 0
        self._digest = RowDigest()
        # The two flags make later versions cheap to upload and pages cheap to show on the Hub.
        self._writer: Any = pq.ParquetWriter(
            path,
            arrow_schema(record_type),
            compression="zstd",
            use_content_defined_chunking=True,
            write_page_index=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._writer.close()

    def add(self, records: Iterable[Record]) -> None:
        """Take rows; full groups are written. A group that fills up waits as columns, which take a tenth of the memory."""
        coming = iter(records)
        while more := list(islice(coming, self._room() - len(self._waiting))):
            self._waiting.extend(more)
            if len(self._waiting) == self._room():
                self._convert()

    def close(self, *, root: Path) -> ManifestFile:
        """Write the rest and describe the file, its path relative to `root`."""
        self._convert()
        self._write()
        self._writer.close()
        return described(self.path, root=root, digest=self._digest)

    def _room(self) -> int:
        return min(ROWS_AT_ONCE, self._group - self._held)

    def _convert(self) -> None:
        self._digest.add(to_rows(self._waiting, record_type=self._type))
        self._tables.append(to_table(self._waiting, record_type=self._type))
        self._held += len(self._waiting)
        self._waiting.clear()
        if self._held == self._group:
            self._write()

    def _write(self) -> None:
        if self._held:
            # In one piece, because pages of the file follow the pieces of a table.
            self._writer.write_table(pa.concat_tables(self._tables).combine_chunks())
        self._tables, self._held = [], 0


class DataJsonSink:
    """The reference's JSON array, written item by item."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._digest = RowDigest()
        self._stream = path.open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stream.close()

    def add(self, episode: Episode) -> None:
        """Take one episode. Raises ReferenceError when the reference's shape cannot hold it."""
        item = to_reference(episode)
        self._stream.write(item_bytes(item, first=self._digest.rows == 0))
        self._digest.add([item])

    def close(self, *, root: Path) -> ManifestFile:
        """End the array and describe the file, its path relative to `root`."""
        self._stream.write(end_bytes(empty=self._digest.rows == 0))
        self._stream.close()
        return described(self.path, root=root, digest=self._digest)


def written(path: Path, content: bytes, *, root: Path) -> ManifestFile:
    """Write a file without rows and describe it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return described(path, root=root)


def described(path: Path, *, root: Path, digest: RowDigest | None = None) -> ManifestFile:
    """A file's line of the manifest."""
    return ManifestFile(
        path=path.relative_to(root).as_posix(),
        bytes=path.stat().st_size,
        sha256=file_digest(path),
        rows=digest.rows if digest else None,
        logical_digest=digest.hexdigest() if digest else None,
    )


def sync_tree(folder: Path) -> None:
    """Wait until everything below `folder` and the folders themselves have reached the disk."""
    for path in [*folder.rglob("*"), folder]:
        sync(path)


def write_durably(path: Path, content: bytes) -> None:
    """Write a file as a whole, and return when it is on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.tmp")
    draft.write_bytes(content)
    sync(draft)
    draft.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's entries, have reached the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
