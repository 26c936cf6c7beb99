"""The root of the graph: the recipe of a variant, with the launchpad's overrides, resolved."""

import hashlib
from typing import Any, TypeVar

import dagster as dg

from assets.amemgym.personas.sampling import pool_digest, pool_files, sample_personas
from assets.amemgym.recipe import AMemGymRecipe
from assets.engine.run_context import RunContext
from assets.recipe.config_schema import launchpad_fields
from assets.recipe.loading import RecipeError, load_recipe, units, variants
from assets.recipe.model_policy import JudgeSpec, Models
from assets.recipe.partitions import UNITS, VARIANT_PARTITIONS
from assets.recipe.recipe import EVERYONE, Recipe
from assets.records.base import Record
from assets.reporting.asset_description import group, markdown_table
from assets.reporting.definition_metadata import OWNERS, definition

R = TypeVar("R", bound=Recipe)


def resolve(recipe: R, *, embedded_model: str | None) -> R:
    """Settle what the YAML leaves open: the pool's digest, and the embedded model where no endpoint is configured.

    `embedded_model` is the embedded model's full name when it has to stand in for every role, else None.
    """
    pool = recipe.pool.model_copy(update={"content": pool_digest(pool_files(recipe.pool))})
    if embedded_model is not None:
        recipe = recipe.with_models(lambda name: name and embedded_model)
    return recipe.model_copy(update={"pool": pool})


def stand_in(models: Models, *, embedded_model: str | None) -> str | None:
    """The sentence that the embedded model stands in for the models that these name; None where an endpoint is asked."""
    named = dict.fromkeys((models.writer.model, *models.judge.panel, models.user_simulator.model))
    others = [name for name in named if name != embedded_model]
    if embedded_model is None or not others:
        return None
    return f"No address or key of a model is set, so the embedded model takes every role, in place of {', '.join(others)}."


def shown(resolved: Recipe, overrides: dict[str, object]) -> dict[str, str | dg.MetadataValue]:
    """The recipe as metadata: what was overridden, its own fields, each group of fields, and the models by role."""
    # In the order of recipe files.
    fields = {name: getattr(resolved, name) for name in resolved.model_dump()}
    groups = {name: dict(value) for name, value in fields.items() if isinstance(value, Record)}
    models = groups.pop("models")
    groups["pool"]["content"] = resolved.pool.content[:16]
    roles = [
        {"field": field, **{role: _said(getattr(models[role], field, ())) for role in models}}
        for field in JudgeSpec.model_fields
    ]
    return {
        "overrides": ", ".join(f"{name} = {value}" for name, value in overrides.items()) or "none",
        "fields": _table({name: value for name, value in fields.items() if not isinstance(value, Record)}),
        "models": dg.MetadataValue.md(markdown_table(roles)),
        **{name: _table(group) for name, group in groups.items()},
        "fingerprint": resolved.fingerprint,
    }


def _table(fields: dict[str, object]) -> dg.MetadataValue:
    return dg.MetadataValue.md(markdown_table([{"field": name, "value": _said(value)} for name, value in fields.items()]))


def _said(value: object) -> object:
    if value is None:
        return "not set"
    return "none" if value in ("", (), {}) else value


def files_version() -> str:
    """Changes when a recipe file says something else, so that an edited file shows as out of date after a reload."""
    said = (load_recipe(variant).fingerprint for variant in variants())
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:12]


@dg.asset(
    name="recipe",
    partitions_def=VARIANT_PARTITIONS,
    required_resource_keys={"run_context"},
    config_schema=launchpad_fields(AMemGymRecipe),
    code_version=files_version(),
    group_name=group("sampling"),
    kinds={"yaml"},
    tags={"asks_a_model": "no", "paper": "4.1"},
    metadata=definition(AMemGymRecipe, resolve, load_recipe),
    owners=OWNERS,
    description="Every count, date, seed, model and policy that decides the rows (paper section 4.1). Launchpad values "
    "override the YAML, and everything below reads the recipe from here.",
)
def recipe(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Recipe]:
    """Read the YAML, lay the overrides over it, resolve. Raises dg.Failure with one sentence on a bad value."""
    run_context: RunContext = context.resources.run_context
    overrides = flatten(context.op_execution_context.op_config or {})
    try:
        read = load_recipe(context.partition_key, overrides)
        resolved = resolve(read, embedded_model=run_context.embedded_model)
        check_units(resolved)
        check_again(resolved)
    except RecipeError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    if sentence := stand_in(read.models, embedded_model=run_context.embedded_model):
        context.log.info(sentence)
    return dg.MaterializeResult(
        value=resolved,
        data_version=dg.DataVersion(resolved.fingerprint),
        metadata=shown(resolved, overrides),
    )


def flatten(overrides: dict[str, Any], prefix: str = "") -> dict[str, object]:
    """Nested overrides as dotted keys, so that naming one field of a group keeps the others."""
    found: dict[str, object] = {}
    for key, value in overrides.items():
        if isinstance(value, dict):
            found.update(flatten(value, f"{prefix}{key}."))  # pyright: ignore[reportUnknownArgumentType]
        else:
            found[prefix + key] = value
    return found


def check_units(resolved: Recipe) -> None:
    """Raise RecipeError when overrides make more work units than the graph has partitions for."""
    unknown = [unit.key for unit in units(resolved) if unit.key not in UNITS[resolved.variant]]
    if unknown:
        raise RecipeError(
            f"num_users {resolved.num_users} needs the work unit {unknown[0]!r}, which {resolved.variant}.yaml does not "
            "have; change num_users or users_per_shard in the file itself, so that the partition exists."
        )


def check_again(resolved: Recipe) -> None:
    """Raise RecipeError when somebody is to be asked again whom the sample does not have."""
    asked = [user for user in resolved.again if user != EVERYONE]
    if not asked:
        return
    count = 1 + max(position for unit in units(resolved) for position in unit.positions)
    there = {persona.user_id for persona in sample_personas(resolved, pool_files(resolved.pool), count=count)}
    unknown = [user for user in asked if user not in there]
    if unknown:
        raise RecipeError(
            f"again names the user {unknown[0]!r}, who is not in the sample of {resolved.variant!r}; take an id from "
            f"the column uuid of personas, or {EVERYONE!r}."
        )
