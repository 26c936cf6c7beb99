"""The card of a benchmark that has no template of its own: what the release holds, how it was made, on which terms."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.engine.benchmark import Benchmark
from assets.recipe.recipe import Recipe
from assets.records.report import BenchmarkReport
from dataset_card.card import markdown
from dataset_card.card.fields import column_rows, field_rows
from dataset_card.card.header import LICENSE_ID, card_header
from dataset_card.card.paths import expectations_path, nested_path, table_path
from dataset_card.card.recipe import canary_terms, models_by_role, recipe_rows, salt_terms, shared_recipe, verdict_on_rows

TEMPLATES = Path(__file__).parent / "templates"
TAGS = ("memory", "synthetic", "benchmark")


def basic_card(
    benchmark: Benchmark,
    recipe: Recipe,
    *,
    items: int,
    tables: Mapping[str, int],
    prompts: Mapping[str, str],
    template: str = "basic_card.md.j2",
    report: BenchmarkReport | None = None,
    **values: object,
) -> str:
    """The README of a release, header and all; a function of its arguments. `tables` gives the rows of each table.

    `template` may extend the plain one, and has `values` beside.
    """
    shared = shared_recipe(recipe)
    title = f"Synthesized {benchmark.name} benchmark ({recipe.variant})"
    embedded = bool(verdict_on_rows(shared).embedded)
    header = card_header(shared, pretty_name=title, tables=tables, tags=TAGS, items=items, embedded=embedded)
    return (
        card_templates()
        .get_template(template)
        .render(
            **values,
            report=report,
            verdict=verdict_on_rows(shared, report),
            header=yaml.safe_dump(header, sort_keys=False, allow_unicode=True),
            title=title,
            noun=benchmark.noun,
            items=items,
            variant=recipe.variant,
            nested=nested_path(recipe.variant),
            expectations=expectations_path(recipe.variant),
            tables=[(table_path(recipe.variant, name), rows) for name, rows in tables.items()],
            models=models_by_role(shared),
            recipe_rows=list(recipe_rows(shared).items()),
            fingerprint=recipe.fingerprint,
            salt_terms=salt_terms(recipe),
            fields=list(field_rows(benchmark.final.record)),
            columns=list(column_rows(benchmark.tables, shown=tables)),
            prompts=dict(sorted(prompts.items())),
            license_id=LICENSE_ID,
        )
    )


@cache
def card_templates(*folders: Path) -> Environment:
    """Return strict templates: those of `folders`, then the shared ones of this room.

    The filter `cell` shows a text as it is, also in a cell of a Markdown table; `canary` tells that of a recipe's fingerprint.
    """
    environment = Environment(
        loader=FileSystemLoader((*folders, TEMPLATES)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Bytes of a card end as the template does.
        keep_trailing_newline=True,
    )
    environment.filters.update(cell=markdown.text, code=markdown.code, canary=canary_terms)
    return environment
