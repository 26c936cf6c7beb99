"""Whether a release folder still is what its manifest says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyarrow import ArrowException

from assets.reporting.plurals import counted
from dataset_card.card.header import configuration_problems, expectations_path
from dataset_card.release.digests import RowDigest, file_digest, in_order
from dataset_card.release.limits import TooMuch, bounded_rows, check_links
from dataset_card.release.manifest import MANIFEST, Manifest, ManifestError, ManifestFile, read_manifest
from dataset_card.release.writers import array_items

# What the Hub and its client put beside a release.
ADDED_BY_THE_HUB = {".gitattributes", ".cache", ".git"}


def verify_release(folder: Path) -> list[str]:
    """A sentence for each file that differs from the manifest, is missing, or is not in it; none when all is well."""
    try:
        manifest = read_manifest(folder)
    except ManifestError as error:
        return [str(error)]
    problems = [problem for file in manifest.files for problem in _problems(file, folder)]
    return [*problems, *_extra(folder, manifest)]


def examine_release(folder: Path) -> list[str]:
    """The same, and more that takes longer: rows read anew give each logical digest, and every configuration loads."""
    try:
        manifest = read_manifest(folder)
    except ManifestError as error:
        return [str(error)]
    problems = [problem for file in manifest.files for problem in _examined(file, folder)]
    # What is not whole cannot be loaded for that reason, which needs no second sentence.
    return [*problems, *_extra(folder, manifest)] or list(configuration_problems(folder, manifest=manifest))


def logical_digest(path: Path) -> str:
    """The logical digest of a Parquet or JSON data file, computed anew from its rows."""
    digest = RowDigest()
    digest.add(map(in_order, file_rows(path)))
    return digest.hexdigest()


def file_rows(path: Path) -> Iterator[Any]:
    """The rows of a Parquet or JSON data file, a few at a time. Raises ValueError (TooMuch), ArrowException or OSError."""
    if path.suffix == ".json":
        yield from array_items(path)
    else:
        yield from bounded_rows(path)


def _problems(file: ManifestFile, folder: Path) -> Iterator[str]:
    path = folder / file.path
    try:
        check_links(folder, path)
    except TooMuch as problem:
        yield f"{file.path} {problem}."
        return
    if not path.is_file():
        yield f"{file.path} is missing."
        return
    size = path.stat().st_size
    if size != file.bytes:
        yield f"{file.path} has {counted(size, 'byte')}, but the manifest says {file.bytes}."
    elif (digest := file_digest(path)) != file.sha256:
        yield f"{file.path} has the sha256 {digest}, but the manifest says {file.sha256}."
    elif file.rows is not None and (rows := _rows(path)) != file.rows:
        held = "its rows cannot be read" if rows is None else f"it has {counted(rows, 'row')}"
        yield f"{file.path}: {held}, but the manifest says {file.rows}."


def _examined(file: ManifestFile, folder: Path) -> Iterator[str]:
    path, problems = folder / file.path, list(_problems(file, folder))
    yield from problems
    if not problems and file.logical_digest:
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
    """None: the file is not of its kind, although its sha256 is the manifest's."""
    try:
        return sum(1 for _ in array_items(path)) if path.suffix == ".json" else _parquet_rows(path)
    except (ValueError, ArrowException, OSError) as error:
        _of_file(error)
        return None


def _of_file(error: Exception) -> str:
    """What is wrong with the file, in one line. Raises the error itself where it is the disk's: Arrow's have no number."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    return " ".join(str(error).split())


def _parquet_rows(path: Path) -> int:
    with pq.ParquetFile(path) as file:
        return file.metadata.num_rows


def _extra(folder: Path, manifest: Manifest) -> list[str]:
    known = {MANIFEST, *(file.path for file in manifest.files)}
    paths = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())
    # Great Expectations leaves there what its checkpoint came to.
    results = f"{expectations_path(manifest.variant)}/uncommitted/"
    names = sorted(path.as_posix() for path in paths if path.parts[0] not in ADDED_BY_THE_HUB)
    return [f"{name} is not in the manifest." for name in names if name not in known and not name.startswith(results)]
