"""The card of a benchmark that has no template of its own: what the release holds, how it was made, on which terms."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.engine.benchmark import Benchmark
from assets.recipe.recipe import Recipe
from dataset_card.card.header import LICENSE_ID, card_header, nested_path, table_path
from dataset_card.card.recipe import model_names, recipe_rows, shared_recipe

FOLDER = Path(__file__).parent
TAGS = ("memory", "synthetic", "benchmark")


def basic_card(
    benchmark: Benchmark, recipe: Recipe, *, items: int, tables: Mapping[str, int], prompts: Mapping[str, str]
) -> str:
    """The README of a release, header and all; a function of its arguments. `tables` gives the rows of each table."""
    shared = shared_recipe(recipe)
    title = f"Synthesized {benchmark.name} benchmark ({recipe.variant})"
    header = card_header(shared, pretty_name=title, items=items, tables=tables, tags=TAGS)
    return (
        card_templates()
        .get_template("basic_card.md.j2")
        .render(
            header=yaml.safe_dump(header, sort_keys=False, allow_unicode=True),
            title=title,
            noun=benchmark.noun,
            items=items,
            nested=nested_path(recipe.variant),
            tables=[(table_path(recipe.variant, name), rows) for name, rows in tables.items()],
            models=model_names(shared),
            recipe_rows=list(recipe_rows(shared).items()),
            fingerprint=recipe.fingerprint,
            prompts=dict(sorted(prompts.items())),
            license_id=LICENSE_ID,
        )
    )


@cache
def card_templates() -> Environment:
    """Strict templates of this folder; `cell` makes a text fit into a cell of a Markdown table."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = cell
    return environment


def cell(value: object) -> str:
    """Text for a cell of a Markdown table: one line, no markup."""
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")
