"""Whether every configuration of a card's header can be loaded: by its files, and by the library that readers use.

The Hub takes a card whose patterns match nothing; only the reader who asks for that configuration would notice.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
from pyarrow import ArrowException

from dataset_card.hub.repo_card import CardError, split_card
from dataset_card.release.manifest import CARD, Manifest, ManifestFile


def configuration_problems(folder: Path, *, manifest: Manifest) -> Iterator[str]:
    """A sentence for each configuration that somebody could not load, and for each table that has none."""
    try:
        header, _ = split_card((folder / CARD).read_text(encoding="utf-8"), place=CARD)
        configurations = dict(configurations_of(header))
    except CardError as error:
        yield str(error)
        return
    except (OSError, UnicodeDecodeError, LookupError, TypeError):
        yield f"The configurations in {CARD} cannot be read."
        return
    problems = list(header_problems(configurations, manifest=manifest))
    yield from problems or (problem for name in configurations for problem in _loading(folder, name, manifest.digest))


def header_problems(configurations: Mapping[str, list[str]], *, manifest: Manifest) -> Iterator[str]:
    """Where the header and the manifest's files disagree."""
    if manifest.variant not in configurations:
        yield f"{CARD} has no configuration {manifest.variant!r}."
    asked: set[str] = set()
    for name, patterns in configurations.items():
        for pattern in patterns or [""]:
            matched = [file for file in manifest.files if matches(file.path, pattern)]
            asked |= {file.path for file in matched}
            if not matched:
                yield f"The configuration {name!r} in {CARD} asks for {pattern!r}, which matches no file."
            elif not any(file.rows for file in matched):
                yield f"The configuration {name!r} in {CARD} has no rows, so nobody could load it."
    yield from (
        f"{file.path} has rows, but no configuration in {CARD}." for file in _tables(manifest) if file.path not in asked
    )


def configurations_of(header: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Name and patterns. Raises LookupError or TypeError for a header that has none, or in another form."""
    for configuration in header["configs"]:
        yield configuration["config_name"], list(_patterns(configuration["data_files"]))


def matches(path: str, pattern: str) -> bool:
    """As the Hub matches: a star stays within one folder, unless there are two."""
    return fnmatchcase(path, pattern) and ("**" in pattern or path.count("/") == pattern.count("/"))


def _tables(manifest: Manifest) -> list[ManifestFile]:
    return [file for file in manifest.files if file.rows and file.path.endswith(".parquet")]


def _patterns(given: object) -> Iterator[str]:
    """All forms that the Hub allows: a pattern, a list of patterns, or of splits with theirs."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, dict):
        inner = cast(dict[str, object], given)
        yield from _patterns(inner["path"] if "path" in inner else list(inner.values()))
    elif isinstance(given, list):
        for item in cast(list[object], given):
            yield from _patterns(item)
    else:
        raise TypeError("a pattern is text")


@lru_cache(maxsize=256)
def _loading(folder: Path, name: str, digest: str) -> tuple[str, ...]:
    """Load one configuration; what was loaded once from files with this digest is not loaded again."""
    header, _ = split_card((folder / CARD).read_text(encoding="utf-8"), place=CARD)
    patterns = dict(configurations_of(header))[name]
    paths = [
        path for path in sorted(folder.rglob("*")) if any(matches(path.relative_to(folder).as_posix(), one) for one in patterns)
    ]
    try:
        rows = sum(_read(path) for path in paths)
        loaded = _loaded(folder, name) if find_spec("datasets") else rows
    except (OSError, ValueError, ArrowException) as error:
        return (f"The configuration {name!r} in {CARD} cannot be loaded: {_first_line(error)}.",)
    return () if rows == loaded else (f"The configuration {name!r} in {CARD} loads {loaded} of its {rows} rows.",)


def _read(path: Path) -> int:
    # Its annotations are only partly known to type checkers.
    opened: Any = pq.ParquetFile(path)
    with opened as file:
        return sum(file.read_row_group(group).num_rows for group in range(file.num_row_groups))


def _loaded(folder: Path, name: str) -> int:
    """Rows, as the `datasets` library loads them. It raises an error of its own under ValueError, and others."""
    import datasets

    library: Any = datasets
    bars = library.is_progress_bar_enabled()
    library.disable_progress_bars()
    cache = tempfile.mkdtemp(prefix="configurations-")
    try:
        return sum(split.num_rows for split in library.load_dataset(str(folder), name, cache_dir=cache).values())
    except library.exceptions.DatasetsError as error:
        raise ValueError(str(error)) from error
    finally:
        shutil.rmtree(cache, ignore_errors=True)
        if bars:
            library.enable_progress_bars()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
