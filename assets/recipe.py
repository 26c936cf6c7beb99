"""The root of the graph: the recipe of a variant, with the launchpad's overrides, resolved."""

from typing import Any, Optional, cast

import dagster as dg
from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from assets.partitions import UNITS, VARIANT_PARTITIONS
from assets.recipes import RecipeError, load_recipe, units
from assets.records.base import Record
from assets.records.recipe import JudgeSpec, Models, Recipe
from assets.sampling import pool_digest, pool_files
from assets.stage import OWNERS, markdown_table
from assets.workshop import Workshop

GROUPS: dict[str, Any] = dict.fromkeys(("pool", "models", "gates", "audit", "wall", "diversity", "budget"), dict[str, Any])
KINDS: dict[str, Any] = {"exclude_ids": list[str], "start_date": str, "language": str, "golden_changes": float}


def _override_fields() -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, info in Recipe.model_fields.items():
        if name == "variant":
            continue
        kind = GROUPS.get(name) or KINDS.get(name, int)
        fields[name] = (Optional[kind], Field(default=None, description=f"{_meaning(name, info)}; left out: as the YAML says"))
    return fields


def _meaning(name: str, info: FieldInfo) -> str:
    """A field's own words, else those of the group it holds, else its name."""
    group = info.annotation.__doc__ if isinstance(info.annotation, type) and issubclass(info.annotation, Record) else None
    return info.description or (group or name.removeprefix("num_").replace("_", " ")).partition(".")[0]


class RecipeOverrides(dg.Config):
    """Values that override the YAML; one optional field per field of the recipe, made below."""


def overrides_config() -> type[RecipeOverrides]:
    """The launchpad's fields, derived from the recipe's so that the two cannot drift."""
    return create_model("RecipeOverrides", __base__=RecipeOverrides, **_override_fields())


Overrides = overrides_config()


def resolve(recipe: Recipe, *, embedded_model: str | None) -> Recipe:
    """Settle what the YAML leaves open: the pool's digest, and the embedded model where no endpoint is configured.

    `embedded_model` is the embedded model's full name when it has to stand in for every role, else None.
    """
    pool = recipe.pool.model_copy(update={"content": pool_digest(pool_files(recipe.pool))})
    models = recipe.models if embedded_model is None else _all_roles(recipe.models, embedded_model)
    diversity = recipe.diversity
    if embedded_model is not None and diversity.embedding_model:
        diversity = diversity.model_copy(update={"embedding_model": embedded_model})
    return recipe.model_copy(update={"pool": pool, "models": models, "diversity": diversity})


def _all_roles(models: Models, name: str) -> Models:
    roles = {role: {**spec, "model": name} for role, spec in models.model_dump().items()}
    roles["judge"]["further"] = (name,) * len(models.judge.further)
    return Models.model_validate(roles)


def shown(resolved: Recipe, overrides: dict[str, object]) -> dict[str, str | dg.MetadataValue]:
    """The recipe as metadata: what was overridden, its own fields, each group of fields, and the models by role."""
    groups = {name: dict(value) for name, value in resolved if isinstance(value, Record)}
    models = groups.pop("models")
    groups["pool"]["content"] = resolved.pool.content[:16]
    roles = [
        {"field": field, **{role: _said(getattr(models[role], field, ())) for role in models}}
        for field in JudgeSpec.model_fields
    ]
    return {
        "overrides": ", ".join(f"{name} = {value}" for name, value in overrides.items()) or "none",
        "fields": _table({name: value for name, value in resolved if not isinstance(value, Record)}),
        "models": dg.MetadataValue.md(markdown_table(roles)),
        **{name: _table(group) for name, group in groups.items()},
        "fingerprint": resolved.fingerprint,
    }


def _table(fields: dict[str, object]) -> dg.MetadataValue:
    return dg.MetadataValue.md(markdown_table([{"field": name, "value": _said(value)} for name, value in fields.items()]))


def _said(value: object) -> object:
    if value is None:
        return "not set"
    return "none" if value in ("", ()) else value


@dg.asset(
    name="recipe",
    partitions_def=VARIANT_PARTITIONS,
    required_resource_keys={"workshop"},
    group_name="sampling",
    kinds={"yaml"},
    owners=OWNERS,
    description="Every count, date, seed, model and policy that decides the rows (paper section 4.1). Launchpad values "
    "override the YAML, and everything below reads the recipe from here.",
)
def recipe(context: dg.AssetExecutionContext, config: Overrides) -> dg.MaterializeResult[Recipe]:  # pyright: ignore[reportInvalidTypeForm, reportUnknownParameterType]
    """Read the YAML, lay the overrides over it, resolve. Raises dg.Failure with one sentence on a bad value."""
    workshop: Workshop = context.resources.workshop
    values = cast(RecipeOverrides, config).model_dump()
    overrides = {name: value for name, value in values.items() if value is not None}
    try:
        resolved = resolve(load_recipe(context.partition_key, flatten(overrides)), embedded_model=workshop.embedded_model)
        check_units(resolved)
    except RecipeError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    if workshop.embedded_model is not None:
        context.log.info("No model endpoint is configured, so the embedded model plays every role.")
    return dg.MaterializeResult(
        value=resolved,
        data_version=dg.DataVersion(resolved.fingerprint),
        metadata=shown(resolved, flatten(overrides)),
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
