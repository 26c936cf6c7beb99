"""Verify that a release folder still is what its manifest says, and that its files say the same as each other."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
from pyarrow import ArrowException

from assets.records.limits import TooMuch, bounded_rows
from assets.records.paths import PathRefused, read_relative_path, refuse_links
from assets.reporting.plurals import counted, is_or_are
from dataset_card.card.paths import expectations_path
from dataset_card.release.digests import RowDigest, file_sha256, with_sorted_keys
from dataset_card.release.manifest import MANIFEST, Manifest, ManifestError, ManifestFile, read_manifest
from dataset_card.release.versions import released_versions
from dataset_card.release.writers import array_items

MOST_NAMED = 5  # files in one sentence
PATH = "path"
# What the Hub and its client put beside a release.
ADDED_BY_THE_HUB = {".gitattributes", ".cache", ".git"}


def verify_release(folder: Path, *, every_digest: bool = False) -> list[str]:
    """Return a sentence for each file that differs from the manifest, is missing, or is not in it; none when all is well.

    `every_digest`: rows of Parquet files are read anew too, and give their logical digest, which takes longer.
    """
    problems_of = _examine_file if every_digest else _problems
    try:
        manifest = read_manifest(folder)
    except ManifestError as error:
        return [str(error)]
    problems: list[str] = []
    missing: list[str] = []
    for file in manifest.files:
        path = folder / file.path
        # A link is refused by the file's own check.
        if path.exists() or path.is_symlink():
            problems += problems_of(file, folder)
        else:
            missing.append(file.path)
    return [*problems, *_of_all(missing, "missing"), *_of_all(_extra(folder, manifest), "not in the manifest")]


def remedy(folder: Path) -> str:
    """Return what to do about a release with problems. Only the newest in a variant's folder can be made again."""
    again = ""
    if released_versions(folder.parent)[-1:] == [folder.name]:
        again = f", or move {folder} away and make it again with: amemgym release {folder.parent.name}"
    return f"Put back an unchanged copy{again}."


def _of_all(names: Sequence[str], what: str) -> list[str]:
    """Return one sentence on all of these files, however many; none where there are none. What steers a terminal is escaped."""
    if not names:
        return []
    shown = ", ".join(map(_escape_name, names[:MOST_NAMED]))
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return [f"{shown}{more} {is_or_are(len(names))} {what}."]


def _escape_name(name: str) -> str:
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in name)


def logical_digest(path: Path) -> str:
    """Return the logical digest of a Parquet or JSON data file, computed anew from its rows."""
    digest = RowDigest()
    digest.add(map(with_sorted_keys, file_rows(path)))
    return digest.hexdigest()


def file_rows(path: Path) -> Iterator[Any]:
    """Yield the rows of a Parquet or JSON data file. Raises ValueError (TooMuch), ArrowException or OSError."""
    if path.suffix == ".json":
        yield from array_items(path)
    else:
        yield from bounded_rows(path)


def _problems(file: ManifestFile, folder: Path) -> Iterator[str]:
    path = folder / file.path
    try:
        # A link would lead out of the release, to a file that its owner may not mean to share.
        refuse_links(folder, path)
    except PathRefused as problem:
        yield f"{file.path} {problem}."
        return
    if not path.is_file():
        yield f"{file.path} is no file."
        return
    size = path.stat().st_size
    # Sizes come first, because they cost nothing.
    if size != file.bytes:
        yield f"{file.path} has {counted(size, 'byte')}, but the manifest says {file.bytes}."
        return
    digest = file_sha256(path)
    if digest != file.sha256:
        yield f"{file.path} has the sha256 {digest}, but the manifest says {file.sha256}."
        return
    if file.rows is None:
        return
    rows = _rows(path)
    if rows is None:
        yield f"{file.path}: its rows cannot be read, but the manifest says {file.rows}."
    elif rows != file.rows:
        yield f"{file.path}: it has {counted(rows, 'row')}, but the manifest says {file.rows}."
    elif path.suffix == ".parquet":
        yield from _foreign_paths(file, path)
    else:
        # An evaluation reads this file, and a diff believes the digest: nobody else would see that they differ.
        yield from _other_rows(file, path)


def _foreign_paths(file: ManifestFile, path: Path) -> Iterator[str]:
    """Yield a sentence where the rows hold a path that leads out of a folder: whoever writes such a file writes elsewhere.

    A path stands in a column or field called `path`, in the tables of every benchmark.
    """
    try:
        for row in bounded_rows(path, named=PATH):
            for text in _texts_in(row):
                read_relative_path(text)
    except PathRefused as problem:
        yield f"{file.path}: the path {problem}."
    except TooMuch as problem:
        yield f"{file.path} {problem}, which no release needs."
    except (ValueError, ArrowException, OSError) as error:
        yield f"{file.path} cannot be read: {_of_file(error)}."


def _texts_in(value: object) -> Iterator[str]:
    """Yield the texts in lists and objects at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        inner = cast(dict[str, object], value).values() if isinstance(value, dict) else cast(list[object], value)
        for item in inner:
            yield from _texts_in(item)


def _examine_file(file: ManifestFile, folder: Path) -> Iterator[str]:
    problems = list(_problems(file, folder))
    yield from problems
    if not problems and file.path.endswith(".parquet"):
        yield from _other_rows(file, folder / file.path)


def _other_rows(file: ManifestFile, path: Path) -> Iterator[str]:
    """Yield a sentence where the rows, read anew, do not give the manifest's digest."""
    if not file.logical_digest:
        return
    try:
        digest = logical_digest(path)
    except TooMuch as problem:
        yield f"{file.path} {problem}, which no release needs."
    except (ValueError, ArrowException, OSError) as error:
        yield f"{file.path} cannot be read: {_of_file(error)}."
    else:
        if digest != file.logical_digest:
            yield f"{file.path} has rows with the digest {digest}, but the manifest says {file.logical_digest}."


def _rows(path: Path) -> int | None:
    """Count the rows. None: the file is not of its kind, although its sha256 is the manifest's."""
    try:
        if path.suffix == ".json":
            return sum(1 for _ in array_items(path))
        with pq.ParquetFile(path) as file:
            return file.metadata.num_rows
    except (ValueError, ArrowException, OSError) as error:
        _of_file(error)
        return None


def _of_file(error: Exception) -> str:
    """Return the error in one line. Raises it where it is the disk's, not the file's: Arrow's own have no number."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    return " ".join(str(error).split())


def _extra(folder: Path, manifest: Manifest) -> list[str]:
    known = {MANIFEST, *(file.path for file in manifest.files)}
    # Great Expectations leaves there what its checkpoint came to.
    results = f"{expectations_path(manifest.variant)}/uncommitted/"
    names: list[str] = []
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        name = inside.as_posix()
        # A link to a folder counts: it would lead out of the release.
        if (path.is_dir() and not path.is_symlink()) or inside.parts[0] in ADDED_BY_THE_HUB or name.startswith(results):
            continue
        if name not in known:
            names.append(name)
    return sorted(names)
