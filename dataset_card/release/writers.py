"""Data files written piece by piece: rows go in, a file and its line of the manifest come out."""

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from assets.amemgym.records.episode import Episode
from assets.records.base import Record
from assets.records.columnar import Columns, arrow_schema, columns_of, rows_of, table_of
from dataset_card.reference.data_json import end_bytes, item_bytes, to_reference
from dataset_card.release.digests import RowDigest, file_digest, in_order
from dataset_card.release.manifest import ManifestFile

ROWS_PER_GROUP = 10_000
ROWS_AT_ONCE = 400
EPISODES_PER_GROUP = 200
EPISODES_AT_ONCE = 50


class ParquetSink:
    """A Parquet file whose bytes follow from its rows, however many come at a time: groups have a fixed size.

    Rows that may hold floats, which JSON spells in many ways, have no digest; no release has such rows.
    """

    def __init__(
        self, path: Path, record_type: type[Record], *, rows_per_group: int = ROWS_PER_GROUP, rows_at_once: int = ROWS_AT_ONCE
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._type = record_type
        self._group, self._at_once = rows_per_group, rows_at_once
        self._waiting: dict[str, list[Any]] = {name: [] for name in record_type.model_fields}
        self._tables: list[pa.Table] = []
        self._held = 0
        schema: Any = arrow_schema(record_type)
        self._digest = None if any(_holds_floats(column.type) for column in schema) else RowDigest()
        # The two flags make later versions cheap to upload and pages cheap to show on the Hub.
        self._writer: Any = pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            use_content_defined_chunking=True,
            write_page_index=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._writer.close()

    def add(self, records: Iterable[Record]) -> None:
        """Take rows."""
        coming = iter(records)
        while more := list(islice(coming, self._at_once)):
            self.add_columns(columns_of(more, record_type=self._type))

    def add_columns(self, columns: Columns) -> None:
        """Take rows by column; full groups are written. A group that fills up waits in Arrow, in a tenth of the memory."""
        for name, values in columns.items():
            self._waiting[name].extend(values)
        while self._rows_waiting() >= (room := min(self._at_once, self._group - self._held)):
            self._convert(room)

    def close(self, *, root: Path) -> ManifestFile:
        """Write the rest and describe the file, its path relative to `root`."""
        self._convert(self._rows_waiting())
        self._write()
        self._writer.close()
        return described(self.path, root=root, digest=self._digest)

    def _rows_waiting(self) -> int:
        return len(next(iter(self._waiting.values())))

    def _convert(self, rows: int) -> None:
        columns = {name: values[:rows] for name, values in self._waiting.items()}
        for values in self._waiting.values():
            del values[:rows]
        if self._digest is not None:
            self._digest.add(rows_of(columns, record_type=self._type))
        self._tables.append(table_of(columns, record_type=self._type))
        self._held += rows
        if self._held == self._group:
            self._write()

    def _write(self) -> None:
        if self._held:
            # In one piece, because pages of the file follow the pieces of a table.
            self._writer.write_table(pa.concat_tables(self._tables).combine_chunks())
        self._tables, self._held = [], 0


def _holds_floats(kind: Any) -> bool:
    return pa.types.is_floating(kind) or any(_holds_floats(kind.field(place).type) for place in range(kind.num_fields))


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
        self._digest.add([in_order(item)])

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
