"""The YAML header of the card, from which the Hub and `datasets` learn what to load."""

from typing import Any

from assets.amemgym.records.rows import TableName
from assets.recipe.recipe import Recipe
from dataset_card.card.statements import LICENSE_ID, TAGS
from validation.amemgym.report.contents import Facts

SPLIT = "test"


def card_header(recipe: Recipe, *, facts: Facts, tables: dict[TableName, int]) -> dict[str, Any]:
    """The header. An empty table has no configuration, because `datasets` fails on a file without rows."""
    variant = recipe.variant
    filled: list[TableName] = [name for name, rows in tables.items() if rows]
    return {
        "language": [recipe.language],
        "license": LICENSE_ID.lower(),
        "pretty_name": title(recipe),
        "size_categories": [facts.size_category],
        "task_categories": ["question-answering", "text-generation"],
        "annotations_creators": ["machine-generated"],
        "tags": list(TAGS),
        "configs": [
            {"config_name": variant, "default": True, "data_files": _files(nested_pattern(variant))},
            *({"config_name": f"{variant}_{name}", "data_files": _files(table_path(variant, name))} for name in filled),
        ],
    }


def title(recipe: Recipe) -> str:
    """The dataset's name."""
    return f"Synthesized AMemGym benchmark ({recipe.variant})"


def nested_path(variant: str) -> str:
    """The Parquet file with a row for each user, relative to the release."""
    return nested_pattern(variant).replace("*", "00000-of-00001")


def nested_pattern(variant: str) -> str:
    """What the nested file's name matches."""
    return f"{variant}/{SPLIT}-*.parquet"


def data_json_path(variant: str) -> str:
    """The file in the reference's shape, relative to the release."""
    return f"{variant}/data.json"


def table_path(variant: str, name: TableName) -> str:
    """A flat table's file, relative to the release."""
    return f"tables/{variant}/{name}.parquet"


def _files(path: str) -> list[dict[str, str]]:
    return [{"split": SPLIT, "path": path}]
