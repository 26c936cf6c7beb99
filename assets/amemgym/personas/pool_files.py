"""The files of a persona pool: what the recipe's paths match, and DuckDB's reader for them.

What a file is follows from its first bytes, whatever its name: Parquet, JSON (a list, or an object on each line) or CSV. The
latter may be packed by gzip, and text may begin with a byte order mark.
"""

import glob
import gzip
import hashlib
import shutil
import zlib
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assets.recipe.amemgym import PoolSpec
from assets.recipe.recipe import RecipeError

OWN_POOL = Path(__file__).parent / "pool.jsonl"
GZIP = b"\x1f\x8b"
BEGINNING = 4_096  # bytes that tell what a file is
FORMS = "Parquet, JSONL, a JSON list or CSV"
# Files that hold tables or folders and are none of these, by their first bytes.
OTHERS: Mapping[bytes, str] = {b"ARROW1": "an Arrow file", b"PK\x03\x04": "a ZIP archive", b"SQLite": "a SQLite database"}
SUFFIXES = (".parquet", ".pq", ".jsonl", ".ndjson", ".json", ".csv")


@dataclass(frozen=True)
class PoolReader:
    """How DuckDB reads a pool. `types_option` takes the types of columns, and is None where files have their own."""

    function: str
    options: str = ""
    types_option: str | None = None

    @property
    def has_row_numbers(self) -> bool:
        return self.types_option is None

    def source(self, files: Sequence[Path], *, types: Mapping[str, str] | None = None) -> str:
        """Return the table function's call in SQL. `types`: the columns' types, by name."""
        listed = ", ".join(literal(str(path)) for path in files)
        call = f"{self.function}([{listed}], union_by_name = true, filename = true{self.options}"
        if self.types_option and types:
            pairs = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in types.items())
            call += f", {self.types_option} = {{{pairs}}}"
        return f"{call})"


PARQUET = PoolReader("read_parquet", ", file_row_number = true")


def pool_files(pool: PoolSpec) -> list[Path]:
    """Return the pool's files, sorted; a folder stands for the tables in it. Raises RecipeError when a path matches nothing."""
    if not pool.paths:
        return [OWN_POOL]
    files: set[Path] = set()
    for pattern in pool.paths:
        # A person's own folder is meant by ~, as on a command line.
        expanded = str(Path(pattern.removeprefix("file://")).expanduser())
        found: list[Path] = []
        for path in map(Path, glob.glob(expanded, recursive=True)):  # noqa: PTH207 (absolute patterns)
            inside = path.rglob("*") if path.is_dir() else ()
            found += [path] if path.is_file() else [file for file in inside if _is_table(file)]
        if not found:
            raise RecipeError(f"The persona pool {pattern!r} matches no file; check pool.paths in the recipe.")
        files.update(found)
    return sorted(files)


def _is_table(path: Path) -> bool:
    return path.is_file() and path.name.lower().removesuffix(".gz").endswith(SUFFIXES)


def pool_digest(files: Sequence[Path]) -> str:
    """Return the sha256 over the files' contents, independent of their names and order. Raises RecipeError if unreadable."""
    digests: list[str] = []
    for path in files:
        try:
            with path.open("rb") as stream:
                digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
        except OSError as error:
            raise unreadable(path, error) from error
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def plain_files(files: Sequence[Path], *, place: Path) -> list[Path]:
    """Return the files as DuckDB reads them: what is packed, or begins with a byte order mark, as a plain copy in `place`."""
    readable: list[Path] = []
    for number, path in enumerate(files):
        try:
            with path.open("rb") as stream:
                packed = stream.read(len(GZIP)) == GZIP
            with gzip.open(path) if packed else path.open("rb") as stream:
                marked = stream.read(len(BOM_UTF8)) == BOM_UTF8
                if packed or marked:
                    stream.seek(len(BOM_UTF8) if marked else 0)
                    with (place / str(number)).open("wb") as copy:
                        shutil.copyfileobj(stream, copy)
        except (OSError, EOFError, zlib.error) as error:
            raise unreadable(path, error) from error
        readable.append(place / str(number) if packed or marked else path)
    return readable


def find_reader(plain: Mapping[Path, Path]) -> PoolReader:
    """Return what reads all of the files. `plain`: each file's plain form. Raises RecipeError if they are of several kinds."""
    readers = {_reader_of(path, name=original.name) for original, path in plain.items()}
    if len(readers) > 1:
        raise RecipeError(f"The persona pool has files of several kinds; give it one of these: {FORMS}.")
    return readers.pop()


def _reader_of(path: Path, *, name: str) -> PoolReader:
    with path.open("rb") as stream:
        beginning = stream.read(BEGINNING)
    if beginning.startswith(b"PAR1"):
        return PARQUET
    text = beginning.lstrip()
    header = text.partition(b"\n")[0]
    if text.startswith(b"["):
        return PoolReader("read_json", ", format = 'array'", "columns")
    if text.startswith(b"{"):
        return PoolReader("read_json", ", format = 'newline_delimited'", "columns")
    if b"uuid" in header and b"\0" not in header:
        return PoolReader("read_csv", ", header = true", "types")
    found = next((other for start, other in OTHERS.items() if beginning.startswith(start)), "none of them")
    raise RecipeError(
        f"The persona pool {name} cannot be read: it is {found}. A pool is {FORMS}; any of them may be packed by gzip."
    )


def unreadable(path: Path, error: Exception) -> RecipeError:
    """Return the error to raise for a pool's file that the system does not give."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return RecipeError(f"The persona pool {path} cannot be read: {reason}.")


def literal(text: str) -> str:
    """Return the text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
