"""The YAML header of a card: written, read, and checked, because the Hub and `datasets` learn from it what to load.

The Hub takes a card whose patterns match nothing; only the reader who asks for that configuration would notice.
"""

import copy
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from pyarrow import ArrowException

from assets.recipe.recipe import Recipe
from assets.reporting.plurals import counted
from dataset_card.card.recipe import embedded_model
from dataset_card.hub.port import HubError
from dataset_card.release.limits import TooMuch, load_yaml
from dataset_card.release.manifest import CARD, Manifest, ManifestFile

SPLIT = "test"
LICENSE_ID = "CC-BY-4.0"
LICENSE_TEXT = (Path(__file__).parent / "license.txt").read_text(encoding="utf-8")
TASKS = ("multiple-choice", "question-answering", "text-generation")
HEADER = re.compile(r"\A---\n(.*?\n)---\n(.*)\Z", re.DOTALL)
# The Hub's names for numbers of rows, each below a limit.
SIZES = (
    *((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")),
    *((10**7, "1M<n<10M"), (10**8, "10M<n<100M"), (10**9, "100M<n<1B")),
)


class CardError(HubError):
    """A card without a header that can be read."""


def card_header(
    recipe: Recipe,
    *,
    pretty_name: str,
    tables: Mapping[str, int],
    tags: Sequence[str],
    info: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The header. `tables` gives the rows of each; an empty one has no configuration, because `datasets` fails on it.

    `info` is the files' `dataset_info`.
    """
    variant = recipe.variant
    filled = [name for name, rows in tables.items() if rows]
    return {
        "language": [recipe.language],
        "license": LICENSE_ID.lower(),
        "pretty_name": pretty_name,
        "size_categories": [size_category(sum(split["num_examples"] for one in info for split in one["splits"]))],
        "task_categories": list(TASKS),
        "annotations_creators": ["machine-generated"],
        "language_creators": ["machine-generated"],
        "multilinguality": ["monolingual"],
        "tags": [*tags, *(["embedded-model"] if embedded_model(recipe) else [])],
        "configs": [
            {"config_name": variant, "default": True, "data_files": _files(nested_pattern(variant))},
            *({"config_name": f"{variant}_{name}", "data_files": _files(table_path(variant, name))} for name in filled),
        ],
        "dataset_info": [dict(one) for one in info],
    }


def dataset_info(folder: Path, *, variant: str, tables: Mapping[str, int]) -> list[dict[str, Any]]:
    """Columns, rows and bytes of each configuration, as the Hub shows them and `datasets` checks them.

    `num_bytes` are those of the pages before compression. Raises OSError or ArrowException for files that are none.
    """
    paths = {
        variant: nested_path(variant),
        **{f"{variant}_{name}": table_path(variant, name) for name, rows in tables.items() if rows},
    }
    return [{"config_name": name, **_file_info(folder / path)} for name, path in paths.items()]


def _file_info(path: Path) -> dict[str, Any]:
    # Its annotations are only partly known to type checkers.
    opened: Any = pq.ParquetFile(path)
    with opened as file:
        unpacked = sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
        return {
            "features": [{"name": column.name, **_feature(column.type)} for column in file.schema_arrow],
            "splits": [{"name": SPLIT, "num_bytes": unpacked, "num_examples": file.metadata.num_rows}],
            "download_size": path.stat().st_size,
            "dataset_size": unpacked,
        }


def _feature(kind: Any) -> dict[str, Any]:
    """A column's type in the words of `datasets`."""
    if pa.types.is_struct(kind):
        return {"struct": _fields_of(kind)}
    if pa.types.is_list(kind):
        item = kind.value_type
        return {"list": _fields_of(item) if pa.types.is_struct(item) else _feature(item).get("dtype", _feature(item))}
    return {"dtype": {"double": "float64"}.get(str(kind), str(kind))}


def _fields_of(kind: Any) -> list[dict[str, Any]]:
    return [{"name": field.name, **_feature(field.type)} for field in kind]


def size_category(rows: int) -> str:
    """The Hub's name for this number of rows."""
    return next((name for limit, name in SIZES if rows < limit), "1B<n<10B")


def nested_path(variant: str) -> str:
    """The Parquet file with a row for each item, relative to the release."""
    return nested_pattern(variant).replace("*", "00000-of-00001")


def nested_pattern(variant: str) -> str:
    """What the nested file's name matches."""
    return f"{variant}/{SPLIT}-*.parquet"


def table_path(variant: str, name: str) -> str:
    """A flat table's file, relative to the release."""
    return f"tables/{variant}/{name}.parquet"


def expectations_path(variant: str) -> str:
    """The project of Great Expectations that checks the flat tables, relative to the release."""
    return f"{variant}/gx"


def _files(path: str) -> list[dict[str, str]]:
    return [{"split": SPLIT, "path": path}]


def split_card(text: str, *, source: str) -> tuple[dict[str, Any], str]:
    """Header and body of a card; an empty header when there is none. Raises CardError naming the source."""
    parts = HEADER.match(text.replace("\r\n", "\n"))
    if parts is None:
        return {}, text
    try:
        header = copy.deepcopy(_loaded(parts[1]))
    except TooMuch as problem:
        raise CardError(f"The YAML header of {source} {problem}; correct it.") from problem
    except yaml.YAMLError as error:
        raise CardError(f"The YAML header of {source} cannot be read; correct it.") from error
    if not isinstance(header, dict):
        raise CardError(f"The YAML header of {source} is not a list of fields; correct it.")
    return cast(dict[str, Any], header), parts[2]


@lru_cache(maxsize=64)
def _loaded(text: str) -> object:
    # A header with all its configurations takes a while, and the same ones are read in every round.
    return load_yaml(text)


def configuration_problems(folder: Path, *, manifest: Manifest) -> Iterator[str]:
    """A sentence for each configuration that somebody could not load, and for each table that has none."""
    try:
        header, _ = split_card((folder / CARD).read_text(encoding="utf-8"), source=CARD)
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
    header, _ = split_card((folder / CARD).read_text(encoding="utf-8"), source=CARD)
    patterns = dict(configurations_of(header))[name]
    paths = [
        path for path in sorted(folder.rglob("*")) if any(matches(path.relative_to(folder).as_posix(), one) for one in patterns)
    ]
    try:
        rows = sum(_stored_rows(path) for path in paths)
        loaded = _loaded_rows(folder, name) if find_spec("datasets") else rows
    except (OSError, ValueError, ArrowException) as error:
        return (f"The configuration {name!r} in {CARD} cannot be loaded: {_first_line(error)}.",)
    return () if rows == loaded else (f"The configuration {name!r} in {CARD} loads {loaded} of its {counted(rows, 'row')}.",)


def _stored_rows(path: Path) -> int:
    # Its annotations are only partly known to type checkers.
    opened: Any = pq.ParquetFile(path)
    with opened as file:
        return sum(file.read_row_group(group).num_rows for group in range(file.num_row_groups))


def _loaded_rows(folder: Path, name: str) -> int:
    """Rows, as the `datasets` library loads them. It raises an error of its own under ValueError, and others."""
    import datasets

    library: Any = datasets
    bars = library.is_progress_bar_enabled()
    library.disable_progress_bars()
    cache = tempfile.mkdtemp(prefix="configurations-")
    try:
        return sum(split.num_rows for split in library.load_dataset(str(folder.resolve()), name, cache_dir=cache).values())
    except library.exceptions.DatasetsError as error:
        raise ValueError(str(error)) from error
    finally:
        shutil.rmtree(cache, ignore_errors=True)
        if bars:
            library.enable_progress_bars()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
