"""Bounds on what a release costs its reader: on texts, nesting and unpacking, for folders that somebody else wrote."""

import gzip
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from assets.records.paths import expect_file

MB = 1 << 20
MOST_MANIFEST_BYTES = 16 * MB
MOST_YAML_BYTES = MB // 2
MOST_ITEM_BYTES = 64 * MB
# Rows of a release take up to fifty times the bytes of their Parquet file.
MOST_UNPACKING = 100
UNPACKED_ANYWAY = 64 * MB
ROWS_AT_ONCE = 64  # little is unpacked before it is counted


class TooMuch(ValueError):
    """A file that asks for more than any release needs; the message follows a file's name."""


def read_bounded(path: Path, *, most: int) -> bytes:
    """The file's bytes. Raises TooMuch for one with more, OSError for one that cannot be read."""
    with expect_file(path).open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise TooMuch(f"has more than {most // MB or 1} MB, which no release needs")
    return content


def read_unpacked(path: Path, *, most: int) -> bytes:
    """Return the file's bytes, unpacked where they are gzip's. Raises TooMuch for more, and where it is damaged; OSError."""
    content = read_bounded(path, most=most)
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        # A file may consist of several packed ones, which this reads as one.
        with gzip.open(BytesIO(content)) as packed:
            found = packed.read(most + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TooMuch("is packed by gzip, and damaged") from error
    if len(found) > most:
        raise TooMuch(f"unpacks to more than {most // MB:,} MB")
    return found


class PlainLoader(yaml.SafeLoader):
    """YAML without aliases, which no release writes and which a few lines can make into gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise TooMuch("has a YAML alias, which no release writes")
        return super().compose_node(parent, index)


def load_yaml(text: str) -> object:
    """The content of a release's YAML. Raises TooMuch for a bomb, yaml.YAMLError for what is no YAML."""
    if len(text) > MOST_YAML_BYTES:
        raise TooMuch(f"has more than {MOST_YAML_BYTES:,} characters of YAML")
    try:
        return yaml.load(text, Loader=PlainLoader)  # noqa: S506 (a SafeLoader)
    except RecursionError as error:
        raise TooMuch("nests YAML deeper than any release") from error


def bounded_rows(path: Path, *, named: str = "") -> Iterator[Any]:
    """The rows of a Parquet file. Raises TooMuch as soon as they take far more bytes than the file has.

    `named`: of columns and of fields in them those of this name alone; no row where there are none.
    """
    most = UNPACKED_ANYWAY + MOST_UNPACKING * path.stat().st_size
    # Its annotations are only partly known to type checkers.
    opened: Any = pq.ParquetFile(expect_file(path))
    with opened as file:
        stored = sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
        if stored > most:
            raise TooMuch(f"unpacks to {stored // MB:,} MB")
        if any("dictionary<" in str(column.type) for column in file.schema_arrow):
            raise TooMuch("has columns of dictionaries, which unpack to any size")
        columns = _leaves_named(file, named) if named else None
        if columns == []:
            return
        unpacked = 0
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=columns):
            unpacked += batch.nbytes
            if unpacked > most:
                raise TooMuch(f"unpacks to more than {most // MB:,} MB")
            yield from batch.to_pylist()


def _leaves_named(file: Any, name: str) -> list[str]:
    """Return the columns of a Parquet file, and the fields in its columns, that have this name, as dotted paths."""
    leaves = [file.schema.column(number).path for number in range(len(file.schema))]
    return [leaf for leaf in leaves if leaf.rpartition(".")[2] == name]
