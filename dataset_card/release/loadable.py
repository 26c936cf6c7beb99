"""Load each configuration that a card's header names, as the Hub and `datasets` do."""

import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
from pyarrow import ArrowException

from assets.reporting.plurals import counted
from dataset_card.card.header import CardError, split_card
from dataset_card.release.manifest import CARD, Manifest

# Digests of releases that loaded without a problem, in this process: loading takes longer than all other checks.
LOADED: set[str] = set()


def configuration_problems(folder: Path, *, manifest: Manifest) -> Iterator[str]:
    """Yield a sentence for each configuration that somebody could not load, and for each table that has none.

    The files of the folder have to be those of the manifest, as `verify_release` finds. Not for a process whose other threads
    read the environment: `datasets` empties it for a moment.
    """
    try:
        configurations = read_configurations((folder / CARD).read_text(encoding="utf-8"), source=CARD)
    except CardError as error:
        yield str(error)
        return
    except (OSError, UnicodeDecodeError):
        yield f"The configurations in {CARD} cannot be read."
        return
    problems = list(header_problems(configurations, manifest=manifest))
    if not problems and manifest.digest not in LOADED:
        for name in configurations:
            problems += _loading(folder, name)
        if not problems:
            LOADED.add(manifest.digest)
    yield from problems


def header_problems(configurations: Mapping[str, list[str]], *, manifest: Manifest) -> Iterator[str]:
    """Yield a sentence for each place where the header and the manifest's files disagree."""
    paths = [file.path for file in manifest.files]
    yield from unmatched_configurations(configurations, paths, variant=manifest.variant, source=CARD)
    asked: set[str] = set()
    for name, patterns in configurations.items():
        for pattern in patterns:
            matched = {file.path: file.rows for file in manifest.files if matches(file.path, pattern)}
            asked.update(matched)
            if matched and not any(matched.values()):
                yield f"The configuration {name!r} in {CARD} has no rows, so nobody could load it."
    for file in manifest.files:
        if file.rows and file.path.endswith(".parquet") and file.path not in asked:
            yield f"{file.path} has rows, but no configuration in {CARD}."


def unmatched_configurations(
    configurations: Mapping[str, list[str]], paths: Collection[str], *, variant: str, source: str
) -> Iterator[str]:
    """Yield a sentence where the variant has no configuration, and for each pattern that matches none of the paths."""
    if variant not in configurations:
        yield f"{source} has no configuration {variant!r}."
    for name, patterns in configurations.items():
        # A configuration without patterns matches nothing either.
        for pattern in patterns or [""]:
            if not any(matches(path, pattern) for path in paths):
                yield f"The configuration {name!r} in {source} asks for {pattern!r}, which matches no file."


def read_configurations(card: str, *, source: str) -> dict[str, list[str]]:
    """Return the patterns of each configuration by name. Raises CardError for a header that has none, or in another form."""
    header, _ = split_card(card, source=source)
    try:
        return {part["config_name"]: list(_patterns(part["data_files"])) for part in header["configs"]}
    except (LookupError, TypeError) as error:
        raise CardError(f"The configurations in {source} cannot be read.") from error


def matches(path: str, pattern: str) -> bool:
    """Return True where the Hub would match: a star stays within one folder, unless there are two."""
    return fnmatchcase(path, pattern) and ("**" in pattern or path.count("/") == pattern.count("/"))


def _patterns(given: object) -> Iterator[str]:
    """Read all forms that the Hub allows: a pattern, a list of patterns, or of splits with theirs."""
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


def _loading(folder: Path, name: str) -> Iterator[str]:
    """Load one configuration, and yield a sentence where that fails."""
    patterns = read_configurations((folder / CARD).read_text(encoding="utf-8"), source=CARD)[name]
    paths: list[Path] = []
    for path in folder.rglob("*"):
        name_in_release = path.relative_to(folder).as_posix()
        if any(matches(name_in_release, pattern) for pattern in patterns):
            paths.append(path)
    try:
        rows = sum(map(_stored_rows, paths))
        # The library is an extra; without it the rows of the files are read all the same.
        loaded = _loaded_rows(folder, name) if find_spec("datasets") else rows
    except (OSError, ValueError, ArrowException) as error:
        yield f"The configuration {name!r} in {CARD} cannot be loaded: {_first_line(error)}."
        return
    if rows != loaded:
        yield f"The configuration {name!r} in {CARD} loads {loaded} of its {counted(rows, 'row')}."


def _stored_rows(path: Path) -> int:
    # Its annotations are only partly known to type checkers.
    opened: Any = pq.ParquetFile(path)
    with opened as file:
        # Every group is read, because one that is damaged would only be met by whoever loads it.
        return sum(file.read_row_group(group).num_rows for group in range(file.num_row_groups))


def _loaded_rows(folder: Path, name: str) -> int:
    """Count the rows that the `datasets` library loads. It raises an error of its own under ValueError, and others."""
    import datasets

    library: Any = datasets
    bars = library.is_progress_bar_enabled()
    library.disable_progress_bars()
    # A cache of its own: the library would answer from an earlier one without looking at the files.
    cache = tempfile.mkdtemp(prefix="configurations-")
    try:
        splits: Any = library.load_dataset(str(folder.resolve()), name, cache_dir=cache)
        return sum(splits.num_rows.values())
    except library.exceptions.DatasetsError as error:
        raise ValueError(str(error)) from error
    finally:
        shutil.rmtree(cache, ignore_errors=True)
        if bars:
            library.enable_progress_bars()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
