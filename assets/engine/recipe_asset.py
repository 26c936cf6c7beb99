"""The root of a benchmark's graph: the recipe of a variant, with the launchpad's overrides, resolved."""

from collections.abc import Mapping
from typing import TypeVar

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.overrides import lay_overrides
from assets.engine.ports import VALUES, AssetValues, RunContext
from assets.engine.provenance import ResolvedRecipe, difference
from assets.recipe.config_schema import RESET, launchpad_fields
from assets.recipe.loading import RecipeError, load_recipe, units
from assets.recipe.model_policy import JudgeSpec, Models
from assets.recipe.partitions import which_partition
from assets.recipe.recipe import EVERYONE, Recipe
from assets.records.base import Record
from assets.reporting.asset_description import markdown_table
from assets.reporting.definition_metadata import OWNERS, definition
from assets.reporting.plurals import counted

EMBEDDED_LANGUAGE = "en"
# How many materializations of a recipe are looked through for the one that was in force when a run was launched.
LOOK_BACK = 50
# As Dagster tags materializations and observations with their data version.
DATA_VERSION_TAG = "dagster/data_version"
AnyContext = dg.AssetExecutionContext | dg.AssetCheckExecutionContext
R = TypeVar("R", bound=Recipe)


def with_embedded_model(recipe: R, *, embedded_model: str | None) -> R:
    """The recipe with the embedded model, by its full name, in every role where no endpoint is configured, else as it is.

    Raises RecipeError for a language that the embedded model does not write.
    """
    if embedded_model is not None and recipe.language != EMBEDDED_LANGUAGE:
        raise RecipeError(
            f"language is {recipe.language!r}, but the embedded model writes English alone. Set AMEMGYM_BASE_URL or "
            "AMEMGYM_API_KEY, so that a language model is asked, or set language en."
        )
    return recipe.with_models(lambda name: name and embedded_model) if embedded_model is not None else recipe


def stand_in(models: Models, *, embedded_model: str | None) -> str | None:
    """The sentence that the embedded model stands in for the models that these name; None where an endpoint is asked."""
    named = dict.fromkeys((models.writer.model, *models.judge.panel, models.user_simulator.model))
    others = [name for name in named if name != embedded_model]
    if embedded_model is None or not others:
        return None
    return f"No address or key of a model is set, so the embedded model takes every role, in place of {', '.join(others)}."


def shown(resolved: Recipe, overrides: Mapping[str, object]) -> dict[str, str | dg.MetadataValue]:
    """The recipe as metadata: what was overridden, its own fields, each group of fields, and the models by role."""
    # In the order of recipe files.
    fields = {name: getattr(resolved, name) for name in resolved.model_dump()}
    groups = {name: dict(value) for name, value in fields.items() if isinstance(value, Record)}
    models = groups.pop("models")
    for group in groups.values():
        if resolved.source_digest and group.get("content") == resolved.source_digest:
            group["content"] = resolved.source_digest[:16]
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


def recipe_file(benchmark: Benchmark) -> dg.AssetSpec:
    """The recipe files as an asset that is made by hand: an edited one shows the recipe of its variant as out of date."""
    return dg.AssetSpec(
        benchmark.key("recipe_file"),
        partitions_def=benchmark.partitions.by_variant,
        group_name=benchmark.group(benchmark.source.description.group),
        kinds={"yaml"},
        owners=OWNERS,
        tags={"asks_a_model": "no"},
        metadata=definition(None, load_recipe),
        description="The file that says what a variant is. Edited by hand, and looked at by the sensor `recipe_files_changed`.",
    )


def observe_recipe_files(instance: dg.DagsterInstance, benchmark: Benchmark) -> list[str]:
    """Tell Dagster which recipe files say something else than when they were last looked at; return their variants."""
    key, changed = dg.AssetKey(benchmark.key("recipe_file")), list[str]()
    for variant in benchmark.partitions.units:
        try:
            version = load_recipe(variant).fingerprint
        except RecipeError:
            # Spoiled after the definitions were loaded: whoever makes this variant is told, the others go on.
            continue
        wanted = dg.AssetRecordsFilter(key, asset_partitions=[variant])
        (last,) = instance.fetch_observations(wanted, limit=1).records or (None,)
        seen = last.event_log_entry.asset_observation if last else None
        if seen is None or (seen.tags or {}).get(DATA_VERSION_TAG) != version:
            tags = {DATA_VERSION_TAG: version}
            instance.report_runless_asset_event(dg.AssetObservation(key, partition=variant, tags=tags))
            changed.append(variant)
    return changed


def recipe_asset(benchmark: Benchmark) -> dg.AssetsDefinition:
    """The root of a benchmark's graph. Its value is a ResolvedRecipe, its data version the recipe's fingerprint."""
    name = benchmark.key("recipe")
    first = benchmark.source.description

    @dg.asset(
        name=name,
        partitions_def=benchmark.partitions.by_variant,
        required_resource_keys={"run_context", VALUES},
        io_manager_key=VALUES,
        config_schema=launchpad_fields(benchmark.recipe),
        deps=[recipe_file(benchmark)],
        group_name=benchmark.group(first.group),
        kinds={"yaml"},
        tags={"asks_a_model": "no", "paper": first.paper},
        metadata=definition(benchmark.recipe, benchmark.resolve, load_recipe),
        owners=OWNERS,
        description="Every count, date, seed, model and policy that decides the rows. Launchpad values override the YAML and "
        f"stay until they are overridden again, or until `{RESET}` is set. Everything below carries its recipe with it.",
    )
    def recipe(context: dg.AssetExecutionContext) -> dg.MaterializeResult[ResolvedRecipe]:
        """Read the YAML, lay the overrides over it, resolve. Raises dg.Failure with one sentence on a bad value."""
        if not context.has_partition_key:
            raise dg.Failure(description=which_partition(name), allow_retries=False)
        run_context: RunContext = context.resources.run_context
        values: AssetValues = context.resources.asset_values
        given: dict[str, object] = context.op_execution_context.op_config or {}
        try:
            overrides = lay_overrides(values, name, context.partition_key, given=given)
        except OSError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        try:
            read = load_recipe(context.partition_key, overrides.fields)
            resolved = benchmark.resolve(with_embedded_model(read, embedded_model=run_context.embedded_model))
            check_units(resolved, benchmark)
            check_again(resolved, benchmark)
        except RecipeError as error:
            raise dg.Failure(description=overrides.explain(str(error)), allow_retries=False) from error
        for sentence in (stand_in(read.models, embedded_model=run_context.embedded_model), overrides.notice):
            if sentence:
                context.log.info(sentence)
        return dg.MaterializeResult(
            value=ResolvedRecipe(recipe=resolved, overrides=overrides.fields),
            data_version=dg.DataVersion(resolved.fingerprint),
            metadata=shown(resolved, overrides.fields),
        )

    return recipe


def recipe_in_force(context: AnyContext, benchmark: Benchmark, variant: str) -> str | None:
    """Fingerprint of the recipe that the variant had when this run, or the run that it goes on with, was launched.

    What the run resolved itself comes first. None: nothing is known of a recipe.
    """
    own = {context.run.run_id, context.run.root_run_id, context.run.parent_run_id}
    root = context.instance.get_run_record_by_id(context.run.root_run_id or context.run.run_id)
    launched = root.create_timestamp.timestamp() if root else float("inf")
    wanted = dg.AssetRecordsFilter(dg.AssetKey(benchmark.key("recipe")), asset_partitions=[variant])
    for record in context.instance.fetch_materializations(wanted, limit=LOOK_BACK).records:
        if record.event_log_entry.run_id in own or record.timestamp < launched:
            tags = record.asset_materialization.tags if record.asset_materialization else None
            return (tags or {}).get(DATA_VERSION_TAG)
    return None


def current_recipe(context: AnyContext, benchmark: Benchmark, made_under: Recipe) -> Recipe:
    """The recipe to go on under: what the inputs were made under, with the present budget and ways of making calls.

    Raises dg.Failure when the variant had another recipe when this run was launched, or got one from this run, and when
    its recipe cannot be read.
    """
    values: AssetValues = context.resources.asset_values
    try:
        latest = values.find(benchmark.key("recipe"), made_under.variant)
    except OSError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    if not isinstance(latest, ResolvedRecipe):
        return made_under
    present, in_force = latest.recipe, recipe_in_force(context, benchmark, made_under.variant)
    if made_under.fingerprint == (in_force or present.fingerprint):
        return present if present.fingerprint == made_under.fingerprint else made_under
    if present.fingerprint == made_under.fingerprint:
        raise dg.Failure(
            description=f"Another run made {made_under.variant!r} under another recipe while this one was at work; run this "
            "one again when the other is done.",
            allow_retries=False,
        )
    raise dg.Failure(
        description=f"What is there of {made_under.variant!r} was made with {difference(made_under, present)}, as its "
        "recipe says now. If another run is making it, run this one again when that is done; else make all of it again (in "
        f"Dagster: {benchmark.source.name} and everything below), or give the recipe its former values.",
        allow_retries=False,
    )


def check_units(resolved: Recipe, benchmark: Benchmark) -> None:
    """Raise RecipeError when overrides make more work units than the graph has partitions for."""
    unknown = [unit.key for unit in units(resolved) if unit.key not in benchmark.partitions.units[resolved.variant]]
    if unknown:
        raise RecipeError(
            f"{counted(resolved.num_items, benchmark.noun)} need the work unit {unknown[0]!r}, which "
            f"{resolved.variant}.yaml does not "
            "have; change the number or the size of units in the file itself, so that the partition exists."
        )


def check_again(resolved: Recipe, benchmark: Benchmark) -> None:
    """Raise RecipeError when an item is to be asked again that the sample does not have."""
    asked = [item for item in resolved.again if item != EVERYONE]
    if not asked:
        return
    draw, source = benchmark.source.draw, benchmark.source.name
    assert draw is not None
    known = {record.item_id for unit in units(resolved) for _, record in draw(resolved, unit)}
    unknown = [item for item in asked if item not in known]
    if unknown:
        raise RecipeError(
            f"again names the {benchmark.noun} {unknown[0]!r}, which is not in the sample of {resolved.variant!r}; take an id "
            f"from the asset {source}, or {EVERYONE!r}."
        )
