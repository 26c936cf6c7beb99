"""Whether a release folder still is what its manifest says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyarrow import ArrowException

from dataset_card.digests import RowDigest, file_digest
from dataset_card.manifest import MANIFEST, ManifestError, ManifestFile, read_manifest

# What the Hub and its client put beside a release.
NOT_OURS = {".gitattributes", ".cache", ".git"}


def verify_release(folder: Path) -> list[str]:
    """A sentence for each file that differs from the manifest, is missing, or is not in it; none when all is well."""
    try:
        manifest = read_manifest(folder)
    except ManifestError as error:
        return [str(error)]
    problems = [problem for file in manifest.files for problem in _problems(file, folder / file.path)]
    return problems + [f"{path} is not in the manifest." for path in _extra(folder, {file.path for file in manifest.files})]


def logical_digest(path: Path) -> str:
    """The logical digest of a Parquet or JSON data file, computed anew from its rows."""
    digest = RowDigest()
    if path.suffix == ".json":
        digest.add(json.loads(path.read_bytes()))
    else:
        # Its annotations are only partly known to type checkers.
        opened: Any = pq.ParquetFile(path)
        with opened as file:
            for group in range(file.num_row_groups):
                digest.add(file.read_row_group(group).to_pylist())
    return digest.hexdigest()


def _problems(file: ManifestFile, path: Path) -> Iterator[str]:
    if not path.is_file():
        yield f"{file.path} is missing."
        return
    size = path.stat().st_size
    if size != file.bytes:
        yield f"{file.path} has {size} bytes, but the manifest says {file.bytes}."
    elif (digest := file_digest(path)) != file.sha256:
        yield f"{file.path} has the sha256 {digest}, but the manifest says {file.sha256}."
    elif file.rows is not None and (rows := _rows(path)) != file.rows:
        yield f"{file.path} has {rows} rows, but the manifest says {file.rows}."


def _rows(path: Path) -> int | None:
    """None: the file is not of its kind, although its sha256 is the manifest's."""
    try:
        return len(json.loads(path.read_bytes())) if path.suffix == ".json" else _parquet_rows(path)
    except (ValueError, ArrowException):
        return None


def _parquet_rows(path: Path) -> int:
    with pq.ParquetFile(path) as file:
        return file.metadata.num_rows


def _extra(folder: Path, known: set[str]) -> list[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())
    names = sorted(path.as_posix() for path in found if path.parts[0] not in NOT_OURS)
    return [name for name in names if name not in known | {MANIFEST}]
