"""AMemGym's dataset card: computed facts in a written template, under the YAML header that the Hub reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport
from assets.amemgym.tables import TABLES
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.erratum import SettledErratum
from assets.records.estimate import interval_note, percent, percents, with_interval
from dataset_card.amemgym import statements
from dataset_card.amemgym.example import Example
from dataset_card.amemgym.plots import Plot
from dataset_card.amemgym.pool import pool_terms, source_datasets
from dataset_card.amemgym.reference.settings import settings_path
from dataset_card.amemgym.statements import TAGS, data_json_path, title
from dataset_card.card.basic import card_templates
from dataset_card.card.fields import column_rows, field_rows
from dataset_card.card.header import LICENSE_ID, card_header
from dataset_card.card.paths import expectations_path, nested_path, table_path
from dataset_card.card.recipe import (
    models_by_role,
    recipe_rows,
    salt_terms,
    shared_recipe,
    verdict_on_rows,
)
from dataset_card.release.manifest import ManifestUsage
from validation.amemgym.report.contents import Facts, paper_count_rows, paper_length_rows

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Card:
    """The facts that the card is computed from.

    `tables` gives the rows of each table; `prompts` maps a template's name to its
    fingerprint; `report` None: none was made; `usage` None: it was not recorded; `example` None: no right answer ever changes.
    """

    recipe: AMemGymRecipe
    facts: Facts
    tables: Mapping[str, int]
    usage: ManifestUsage | None
    generator: str
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    plots: Mapping[str, Plot] = field(default_factory=dict[str, Plot])
    report: QualityReport | None = None
    example: Example | None = None
    errata: Sequence[SettledErratum] = ()


def render_card(card: Card) -> str:
    """The README of a release, header and all. It is a function of its input: no clock, no path, no version."""
    recipe = shared_recipe(card.recipe)
    verdict = verdict_on_rows(recipe, card.report)
    header = card_header(
        recipe,
        pretty_name=title(recipe),
        tables=card.tables,
        tags=TAGS,
        items=card.facts.counts["users"],
        embedded=bool(verdict_on_rows(recipe).embedded),
    )
    header["source_datasets"] = source_datasets(recipe.pool)
    return (
        _environment()
        .get_template("card.md.j2")
        .render(
            header=yaml.safe_dump(header, sort_keys=False, allow_unicode=True),
            title=title(recipe),
            variant=recipe.variant,
            nested=nested_path(recipe.variant),
            data_json=data_json_path(recipe.variant),
            data_settings=settings_path(data_json_path(recipe.variant)),
            expectations=expectations_path(recipe.variant),
            recipe=recipe,
            recipe_rows=list(recipe_rows(recipe).items()),
            fingerprint=card.recipe.fingerprint,
            salt_terms=salt_terms(card.recipe),
            prompts=dict(sorted(card.prompts.items())),
            facts=card.facts,
            parity=paper_count_rows(card.facts),
            lengths=paper_length_rows(card.facts),
            tables=card.tables,
            table_paths={name: table_path(recipe.variant, name) for name in card.tables},
            models=models_by_role(recipe),
            verdict=verdict,
            cost=cost(card.usage, users=card.facts.counts["users"], embedded=bool(verdict.embedded)),
            pool_terms=pool_terms(recipe.pool),
            generator=card.generator,
            plots=card.plots,
            report=card.report,
            intervals=interval_note(card.report.finished, card.report.noun) if card.report else "",
            example=card.example,
            noun="user",
            fields=list(field_rows(Episode)),
            columns=list(column_rows(TABLES, shown=card.tables)),
            errata=card.errata,
            license_id=LICENSE_ID,
            statements=statements,
        )
    )


@cache
def _environment() -> Environment:
    environment = card_templates(TEMPLATES)
    filters: dict[str, Any] = {"shown": with_interval, "percent": percent, "percents": percents}
    environment.filters.update(filters)
    return environment


def cost(usage: ManifestUsage | None, *, users: int, embedded: bool) -> str:
    """Say in sentences what the rows took. Prices change, so a release tells tokens; calls of the `embedded` model are free."""
    if usage is None:
        return "How many model calls the rows took was not recorded."
    price = "" if usage.cost_usd is None else f", for {usage.cost_usd:,.2f} USD"
    by_price = "The embedded model's are free" if embedded else "What that costs depends on the provider's prices"
    why = "" if price else f" {by_price}."
    each = f"{usage.calls / users:,.0f} calls, {usage.input_tokens / users:,.0f} and {usage.output_tokens / users:,.0f} tokens"
    return (
        f"The rows took {usage.calls:,} model calls with {usage.input_tokens:,} input and {usage.output_tokens:,} output "
        f"tokens{price}.{why} Per user these are {each}. Calls that the cache answered are counted like the others, and "
        "so are those for users who had to be replaced."
    )
