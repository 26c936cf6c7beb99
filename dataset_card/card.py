"""The dataset card: computed facts in a written template, under the YAML header that the Hub reads."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, cast

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.records.recipe import Budget, Models, Recipe
from assets.records.report import QualityReport
from dataset_card.manifest import Usage
from dataset_card.rows import TableName
from validation.facts import Facts, length_rows, parity_rows

FOLDER = Path(__file__).parent
LICENSE_ID = "CC-BY-4.0"
EMBEDDED_FAMILY = "amemgym-embedded"
TAGS = ["memory", "long-horizon", "personalization", "multiple-choice", "synthetic", "benchmark"]
ROW_MEANINGS: dict[TableName, str] = {
    "users": "a user's profile",
    "state_variables": "a variable of a user's schema with its choices",
    "periods": "a period of a user's life",
    "states": "a variable's value at the end of a period",
    "sessions": "a session: event, first utterance, values it reveals",
    "questions": "a question with the right option of each period",
    "answer_choices": "an option of a question",
    "gate_records": "a judgement of a draft",
    "failures": "a user who was replaced",
}


@dataclass(frozen=True)
class Card:
    """What the card is computed from. `tables` gives the rows of each table; `report` None: none was made."""

    recipe: Recipe
    facts: Facts
    tables: dict[TableName, int]
    usage: Usage | None
    generator: str
    report: QualityReport | None = None
    repository: str | None = None


def render_card(card: Card) -> str:
    """The README of a release, header and all. It is a function of its input: no clock, no path, no version."""
    recipe = shared_recipe(card.recipe)
    return (
        _environment()
        .get_template("card.md.j2")
        .render(
            header=yaml.safe_dump(card_header(card), sort_keys=False, allow_unicode=True),
            title=_title(recipe),
            variant=recipe.variant,
            recipe=recipe,
            recipe_rows=list(recipe_rows(recipe).items()),
            fingerprint=card.recipe.fingerprint,
            facts=card.facts,
            parity=parity_rows(card.facts),
            lengths=length_rows(card.facts),
            tables=card.tables,
            row_meanings=ROW_MEANINGS,
            models=model_names(recipe),
            embedded=embedded_model(recipe),
            usage=_usage(card.usage),
            pool=_pool(recipe),
            pool_terms=_pool_terms(recipe),
            generator=card.generator,
            report=card.report,
            repository=card.repository,
        )
    )


def card_header(card: Card) -> dict[str, Any]:
    """The YAML header. An empty table has no configuration, because `datasets` fails on a file without rows."""
    variant = card.recipe.variant
    filled = [name for name, rows in card.tables.items() if rows]
    return {
        "language": [card.recipe.language],
        "license": LICENSE_ID.lower(),
        "pretty_name": _title(card.recipe),
        "size_categories": [card.facts.size_category],
        "task_categories": ["question-answering", "text-generation"],
        "annotations_creators": ["machine-generated"],
        "tags": TAGS,
        "configs": [
            {"config_name": variant, "default": True, "data_files": _files(f"{variant}/test-*.parquet")},
            *(
                {"config_name": f"{variant}_{name}", "data_files": _files(f"tables/{variant}/{name}.parquet")}
                for name in filled
            ),
        ],
    }


def shared_recipe(recipe: Recipe) -> Recipe:
    """The recipe as it may be shared: of the pool's paths, and of models that are local files, only the names.

    What changes no row (budget, transport) is left at its default, so that it changes no byte of a release either.
    """
    pool = recipe.pool.model_copy(update={"paths": tuple(_file_name(path) for path in recipe.pool.paths)})
    models = {
        role: spec.model_copy(
            update={"model": _file_name(spec.model) if _is_local(spec.model) else spec.model, "transport": "live"}
        )
        for role, spec in recipe.models
    }
    given = {"pool": pool, "models": recipe.models.model_copy(update=models), "budget": Budget()}
    return recipe.model_copy(update=given)


def _file_name(path: str) -> str:
    return PureWindowsPath(path).name


def _is_local(model: str) -> bool:
    return model.startswith((".", "~")) or PurePosixPath(model).is_absolute() or PureWindowsPath(model).is_absolute()


def recipe_rows(recipe: Recipe) -> dict[str, str]:
    """Fields as dotted names and text; empty ones are left out."""
    return dict(_flat("", recipe.model_dump(mode="json")))


def model_names(recipe: Recipe) -> dict[str, str]:
    """Role to model, for the two roles that make rows and the one that plays the user."""
    return {role: getattr(recipe.models, role).model for role in Models.model_fields}


def embedded_model(recipe: Recipe) -> str | None:
    """The embedded model's name when it wrote or judged any of the rows, else None."""
    names = (recipe.models.writer.model, recipe.models.judge.model)
    return next((name for name in names if name.startswith(EMBEDDED_FAMILY)), None)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    return environment


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")


def _files(path: str) -> list[dict[str, str]]:
    return [{"split": "test", "path": path}]


def _title(recipe: Recipe) -> str:
    return f"Synthesized AMemGym benchmark ({recipe.variant})"


def _flat(name: str, value: object) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        inner = cast(dict[str, object], value)
        return [row for key, item in inner.items() for row in _flat(f"{name}.{key}".lstrip("."), item)]
    text = ", ".join(str(item) for item in cast(list[object], value)) if isinstance(value, list) else str(value)
    return [] if value is None or not text else [(name, text)]


def _usage(usage: Usage | None) -> str:
    if usage is None:
        return "How many model calls the rows took was not recorded."
    cost = "at a price that is not known" if usage.cost_usd is None else f"for {usage.cost_usd:,.2f} USD"
    return (
        f"The rows took {usage.calls:,} model calls with {usage.input_tokens:,} input and {usage.output_tokens:,} output "
        f"tokens, {cost}."
    )


def _pool(recipe: Recipe) -> str:
    names = ", ".join(f"`{name}`" for name in recipe.pool.paths)
    return f"the persona pool in {names}" if names else "the project's own pool of invented personas"


def _pool_terms(recipe: Recipe) -> str:
    if not recipe.pool.paths:
        return "The personas are the project's own."
    return "The persona pool has its own license and may ask to be named too."
