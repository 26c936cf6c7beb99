"""Data files written piece by piece: rows go in, a file and its line of the manifest come out."""

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic_core import to_json

from assets.records.base import Record
from assets.records.columnar import Columns, arrow_schema, columns_of, rows_as_dicts, table_of
from assets.records.json_text import JsonTooDeep, parse_json
from assets.records.limits import MB, MOST_ITEM_BYTES, TooMuch
from dataset_card.release.digests import RowDigest, file_sha256, with_sorted_keys
from dataset_card.release.manifest import ManifestFile

# A reader takes a group at a time, and a writer converts a part of one: both stay below some ten megabytes. Bytes of files
# follow from the sizes of groups, so that another size would be another release.
ROWS_PER_GROUP = 10_000
ROWS_AT_ONCE = 400
ITEMS_PER_GROUP = 200
ITEMS_AT_ONCE = 50


class ParquetFileWriter:
    """A Parquet file whose bytes follow from its rows, however many come at a time: groups have a fixed size.

    Rows that may hold floats, which JSON spells in many ways, have no digest; no release has such rows.
    """

    def __init__(
        self,
        path: Path,
        record_type: type[Record],
        *,
        rows_per_group: int = ROWS_PER_GROUP,
        rows_at_once: int = ROWS_AT_ONCE,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._type = record_type
        self._group = rows_per_group
        self._at_once = rows_at_once
        self._pending: dict[str, list[Any]] = {name: [] for name in record_type.model_fields}
        self._tables: list[pa.Table] = []
        self._converted = 0
        schema: Any = arrow_schema(record_type)
        self._digest = None if any(_holds_floats(column.type) for column in schema) else RowDigest()
        # The two flags make later versions cheap to upload and pages cheap to show on the Hub.
        self._writer: Any = pq.ParquetWriter(
            path,
            # Empty metadata are bytes as well.
            schema.with_metadata(metadata) if metadata else schema,
            compression="zstd",
            use_content_defined_chunking=True,
            write_page_index=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._writer.close()

    def add(self, records: Iterable[Record]) -> None:
        coming = iter(records)
        while True:
            more = list(islice(coming, self._at_once))
            if not more:
                return
            self.add_columns(columns_of(more, record_type=self._type))

    def add_columns(self, columns: Columns) -> None:
        """Take rows by column; full groups are written. A group that fills up waits in Arrow, in a tenth of the memory."""
        for name, values in columns.items():
            self._pending[name].extend(values)
        while self._pending_rows() >= self._room():
            self._convert(self._room())

    def close(self, *, root: Path) -> ManifestFile:
        """Write the rest and describe the file, its path relative to `root`."""
        self._convert(self._pending_rows())
        self._write()
        self._writer.close()
        return describe_file(self.path, root=root, digest=self._digest)

    def _room(self) -> int:
        """Return how many rows are converted next, which never are of two groups."""
        return min(self._at_once, self._group - self._converted)

    def _pending_rows(self) -> int:
        return len(next(iter(self._pending.values())))

    def _convert(self, rows: int) -> None:
        columns = {name: values[:rows] for name, values in self._pending.items()}
        for values in self._pending.values():
            del values[:rows]
        if self._digest is not None:
            self._digest.add(rows_as_dicts(columns, record_type=self._type))
        self._tables.append(table_of(columns, record_type=self._type))
        self._converted += rows
        if self._converted == self._group:
            self._write()

    def _write(self) -> None:
        if self._converted:
            # In one piece, because pages of the file follow the pieces of a table.
            self._writer.write_table(pa.concat_tables(self._tables).combine_chunks())
        self._tables = []
        self._converted = 0


def _holds_floats(kind: Any) -> bool:
    return pa.types.is_floating(kind) or any(_holds_floats(kind.field(index).type) for index in range(kind.num_fields))


class JsonArrayWriter:
    """A JSON array written item by item, which `array_items` reads back item by item."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._digest = RowDigest()
        self._stream = path.open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stream.close()

    def add(self, item: dict[str, Any]) -> None:
        self._stream.write(item_bytes(item, first=self._digest.rows == 0))
        self._digest.add([with_sorted_keys(item)])

    def close(self, *, root: Path) -> ManifestFile:
        """End the array and describe the file, its path relative to `root`."""
        self._stream.write(end_bytes(empty=self._digest.rows == 0))
        self._stream.close()
        return describe_file(self.path, root=root, digest=self._digest)


def item_bytes(item: dict[str, Any], *, first: bool) -> bytes:
    """Return one item's part of the array, so that large files can be written item by item."""
    # Strings have no raw newline in JSON, so the replacement only indents.
    return (b"[" if first else b",") + (b"\n" + to_json(item, indent=2)).replace(b"\n", b"\n  ")


def end_bytes(*, empty: bool) -> bytes:
    return b"[]\n" if empty else b"\n]\n"


def array_items(path: Path) -> Iterator[Any]:
    """Yield the items of an array written like this, one after another, so that a large file takes no memory.

    Raises ValueError when the file is laid out otherwise, OSError when it cannot be read.
    """
    item: list[bytes] = []
    with path.open("rb") as stream:
        begun = stream.read(1) == b"["
        size = 0
        # Lines are read up to a limit, so that a file of one endless line takes no memory either.
        for line in iter(lambda: stream.readline(MOST_ITEM_BYTES), b""):
            item.append(line)
            size += len(line)
            if size > MOST_ITEM_BYTES:
                raise TooMuch(f"has an item of more than {MOST_ITEM_BYTES // MB} MB")
            # Only an item ends at this depth: what is inside an item is indented more, and strings have no raw newline.
            if line.rstrip(b",\n") == b"  }":
                try:
                    yield parse_json(b"".join(item).strip().removesuffix(b","))
                except JsonTooDeep as error:
                    raise TooMuch("nests values deeper than any release") from error
                item = []
                size = 0
    if not begun or b"".join(item).strip() != b"]":
        raise ValueError(f"{path.name} is not laid out as an array of items")


def write_file(path: Path, content: bytes, *, root: Path) -> ManifestFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return describe_file(path, root=root)


def describe_file(path: Path, *, root: Path, digest: RowDigest | None = None) -> ManifestFile:
    """Return a file's line of the manifest."""
    return ManifestFile(
        path=path.relative_to(root).as_posix(),
        bytes=path.stat().st_size,
        sha256=file_sha256(path),
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
