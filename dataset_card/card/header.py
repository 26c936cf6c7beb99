"""The YAML header of a card: written, read, and checked, because the Hub and `datasets` learn from it what to load.

The Hub takes a card whose patterns match nothing; only the reader who asks for that configuration would notice.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import yaml

from assets.recipe.recipe import Recipe
from assets.records.limits import TooMuch, load_yaml
from dataset_card.card.paths import SPLIT, nested_pattern, table_path
from dataset_card.errors import HubError

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
    items: int,
    embedded: bool,
) -> dict[str, Any]:
    """Return the header. `tables` gives the rows of each; an empty one has no configuration, because `datasets` fails on it.

    Columns, rows and bytes the Hub reads from the files.
    """
    variant = recipe.variant
    configs = [{"config_name": variant, "default": True, "data_files": _files(nested_pattern(variant))}]
    for name, count in tables.items():
        if count:
            configs.append({"config_name": f"{variant}_{name}", "data_files": _files(table_path(variant, name))})
    own_tags = ["embedded-model"] if embedded else []
    return {
        "language": [recipe.language],
        "license": LICENSE_ID.lower(),
        "pretty_name": pretty_name,
        "size_categories": [size_category(items + sum(tables.values()))],
        "task_categories": list(TASKS),
        "annotations_creators": ["machine-generated"],
        "language_creators": ["machine-generated"],
        "multilinguality": ["monolingual"],
        "tags": [*tags, *own_tags],
        "configs": configs,
    }


def size_category(rows: int) -> str:
    """Return the Hub's name for this number of rows."""
    for limit, name in SIZES:
        if rows < limit:
            return name
    return "1B<n<10B"


def _files(path: str) -> list[dict[str, str]]:
    return [{"split": SPLIT, "path": path}]


def split_card(text: str, *, source: str) -> tuple[dict[str, Any], str]:
    """Split a card into header and body; an empty header when there is none. Raises CardError naming the source."""
    parts = HEADER.match(text.replace("\r\n", "\n"))
    if parts is None:
        return {}, text
    try:
        # Callers change the header that they get, and the loaded one is shared.
        header = copy.deepcopy(_load_header(parts[1]))
    except TooMuch as problem:
        raise CardError(f"The YAML header of {source} {problem}; correct it.") from problem
    except yaml.YAMLError as error:
        raise CardError(f"The YAML header of {source} cannot be read; correct it.") from error
    if not isinstance(header, dict):
        raise CardError(f"The YAML header of {source} is not a list of fields; correct it.")
    return cast(dict[str, Any], header), parts[2]


@lru_cache(maxsize=64)
def _load_header(text: str) -> object:
    # A header with all its configurations takes a while, and the same ones are read in every round.
    return load_yaml(text)
