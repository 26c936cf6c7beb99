"""The root of a benchmark's graph: the recipe of a variant, with the launchpad's overrides, resolved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

import dagster as dg
from pydantic import JsonValue

from assets.engine.benchmark import Benchmark
from assets.engine.materialization import explain_failures
from assets.engine.ports import VALUES, AssetValues, RunContext, UnreadableValue
from assets.engine.provenance import ResolvedRecipe, difference
from assets.recipe.config_schema import RESET, launchpad_fields
from assets.recipe.loading import dotted_fields, load_recipe
from assets.recipe.model_policy import JudgeSpec, Models
from assets.recipe.partitions import missing_partition_message
from assets.recipe.recipe import EVERYONE, Recipe, RecipeError, units
from assets.records.base import Record
from assets.reporting.asset_description import Row, markdown_table
from assets.reporting.definition_metadata import OWNERS, definition
from assets.reporting.plurals import counted

EMBEDDED_LANGUAGE = "en"
SALT = "salt"
# How many materializations of a recipe are looked through for the one that was in force when a run was launched.
LOOK_BACK = 50
# As Dagster tags materializations and observations with their data version.
DATA_VERSION_TAG = "dagster/data_version"
GO_BACK = f"--reset, or {RESET} in the launchpad, goes back to the recipe's file"
AnyContext = dg.AssetExecutionContext | dg.AssetCheckExecutionContext
R = TypeVar("R", bound=Recipe)


def with_embedded_model(recipe: R, *, embedded_model: str | None) -> R:
    """Return the recipe with the embedded model, by its full name, in every role where no endpoint is configured.

    Raises RecipeError for a language that the embedded model does not write.
    """
    if embedded_model is not None and recipe.language != EMBEDDED_LANGUAGE:
        raise RecipeError(
            f"language is {recipe.language!r}, but the embedded model writes English alone. Set AMEMGYM_BASE_URL or "
            "AMEMGYM_API_KEY, so that a language model is asked, or set language en."
        )
    # A role whose model has no name, such as that of meanings, stays without.
    return recipe if embedded_model is None else recipe.with_models(lambda name: name and embedded_model)


def embedded_model_notice(models: Models, *, embedded_model: str | None) -> str | None:
    """The sentence that the embedded model replaces the named models; None where an endpoint is asked."""
    named = dict.fromkeys((models.writer.model, *models.judge.panel, models.user_simulator.model))
    others = [name for name in named if name != embedded_model]
    if embedded_model is None or not others:
        return None
    return f"No address or key of a model is set, so the embedded model takes every role, in place of {', '.join(others)}."


@dataclass(frozen=True)
class Overrides:
    """Values laid over a recipe's file, by dotted field: those that stay of the variant's last run, and those given now.

    `last` is empty where nothing was laid over the file, or where the run goes back to it. `unreadable` says why the last
    run's overrides cannot be read; they count as none then.
    """

    last: Mapping[str, JsonValue]
    given: Mapping[str, JsonValue]
    unreadable: str = ""

    @property
    def fields(self) -> dict[str, JsonValue]:
        """All that is laid over the file."""
        return {**self.last, **self.given}

    @property
    def notice(self) -> str:
        """Sentences on the last run's overrides: which stay, and which this run replaces; empty without either."""
        kept: list[str] = []
        replaced: list[str] = []
        for name, value in self.last.items():
            # Nobody has laid a drawn salt over the file.
            if name == SALT:
                continue
            if name not in self.given:
                kept.append(f"{name} = {value}")
            elif value != self.given[name]:
                replaced.append(f"{name} {value} by {self.given[name]}")
        sentences: list[str] = []
        if self.unreadable:
            sentences.append(f"The overrides of the last run cannot be read and count as none: {self.unreadable}")
        if kept:
            sentences.append(f"Overrides of the last run stay: {', '.join(kept)}; {GO_BACK}.")
        if replaced:
            sentences.append(f"This run replaces {', '.join(replaced)}.")
        return " ".join(sentences)

    def explain(self, error: str) -> str:
        """Return a recipe's error; where it names an override of the last run, with how to get rid of that."""
        kept = [name for name in self.last if name not in self.given and name in error]
        return f"{error} Overrides of the last run: {', '.join(kept)}; {GO_BACK}." if kept else error


def lay_overrides(values: AssetValues, recipe_asset: str, variant: str, *, given: Mapping[str, object]) -> Overrides:
    """Lay what is given, nested or dotted, over what the variant was last made with. RESET in `given` drops the latter.

    A value that the recipe has anyway overrides nothing, so that a launchpad may be filled in with all of them. Raises
    OSError where the store of values cannot be used. A salt that was drawn stays: with another one it would be another world.
    """
    new = cast(dict[str, JsonValue], dotted_fields(given))
    reset = new.pop(RESET, False)
    try:
        last = values.find(recipe_asset, variant)
    # One that is damaged or of an earlier version must not stand in the way of making it anew.
    except UnreadableValue as error:
        return Overrides({}, _changing(new, variant, {}), unreadable="" if reset else str(error))
    overrides = last.overrides if isinstance(last, ResolvedRecipe) else {}
    if reset:
        overrides = {} if _has_salt(variant) else {name: value for name, value in overrides.items() if name == SALT}
    return Overrides(overrides, _changing(new, variant, overrides))


def _has_salt(variant: str) -> bool:
    """Return True where the variant's file says its salt, so that none was drawn."""
    try:
        return load_recipe(variant).salt is not None
    except RecipeError:
        return False


def _changing(given: Mapping[str, JsonValue], variant: str, last: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Those of the given values that the variant's recipe does not have; all where it cannot be read."""
    try:
        present = dotted_fields(load_recipe(variant, last).model_dump(mode="json"))
    except RecipeError:
        return dict(given)
    changing: dict[str, JsonValue] = {}
    for name, value in given.items():
        # True equals 1 in Python, but not in a recipe.
        same_kind = name in present and isinstance(value, bool) == isinstance(present[name], bool)
        if not same_kind or present[name] != value:
            changing[name] = value
    return changing


def with_salt(fields: Mapping[str, JsonValue], variant: str, run_context: RunContext) -> dict[str, JsonValue]:
    """Return the fields laid over the variant's file, with a new salt where neither has one and the recipe takes one.

    Raises RecipeError where the recipe cannot be read.
    """
    recipe = load_recipe(variant, fields)
    if recipe.salt is None and recipe.takes_salt(embedded=run_context.embedded_model is not None):
        return {**fields, SALT: run_context.new_salt()}
    return dict(fields)


def recipe_metadata(resolved: Recipe, overrides: Mapping[str, object]) -> dict[str, str | dg.MetadataValue]:
    """The recipe as metadata: what was overridden, its own fields, each group of fields, and the models by role."""
    plain: dict[str, object] = {}
    groups: dict[str, dict[str, object]] = {}
    for name in resolved.model_dump():  # in the order of recipe files
        value = getattr(resolved, name)
        if isinstance(value, Record):
            groups[name] = dict(value)
        else:
            plain[name] = value
    models = groups.pop("models")
    for group in groups.values():
        if resolved.source_digest and group.get("content") == resolved.source_digest:
            group["content"] = resolved.source_digest[:16]
    # Nobody has laid a drawn salt over the file; it stands among the fields.
    laid_over = [f"{name} = {value}" for name, value in overrides.items() if name != SALT]
    metadata: dict[str, str | dg.MetadataValue] = {
        "overrides": ", ".join(laid_over) or "none",
        "fields": _table(plain),
        "models": dg.MetadataValue.md(markdown_table(_by_role(models))),
    }
    for name, group in groups.items():
        metadata[name] = _table(group)
    metadata["fingerprint"] = resolved.fingerprint
    return metadata


def _table(fields: dict[str, object]) -> dg.MetadataValue:
    return dg.MetadataValue.md(
        markdown_table([{"field": name, "value": _plain_value(value)} for name, value in fields.items()])
    )


def _by_role(models: Mapping[str, object]) -> list[Row]:
    """A row for each setting of a model, with a column for each role."""
    rows: list[Row] = []
    for field in JudgeSpec.model_fields:
        row: Row = {"field": field}
        for role, spec in models.items():
            row[role] = _plain_value(getattr(spec, field, ()))
        rows.append(row)
    return rows


def _plain_value(value: object) -> object:
    if value is None:
        return "not set"
    return "none" if value in ("", (), {}) else value


def recipe_file(benchmark: Benchmark) -> dg.AssetSpec:
    """The recipe files as an asset that is made by hand: an edited one shows the recipe of its variant as out of date."""
    return dg.AssetSpec(
        benchmark.asset_key("recipe_file"),
        partitions_def=benchmark.partitions.by_variant,
        group_name=benchmark.group(benchmark.source.description.group),
        kinds={"yaml"},
        owners=OWNERS,
        tags={"asks_a_model": "no"},
        metadata=definition(None, load_recipe),
        description="The file of a variant's recipe. It is edited by hand, and the sensor `recipe_files_changed` watches it.",
    )


def observe_recipe_files(instance: dg.DagsterInstance, benchmark: Benchmark) -> list[str]:
    """Tell Dagster which recipe files say something else than when they were last looked at; return their variants."""
    key = dg.AssetKey(benchmark.asset_key("recipe_file"))
    changed: list[str] = []
    for variant in benchmark.partitions.units:
        try:
            version = load_recipe(variant).fingerprint
        except RecipeError:
            # Spoiled after the definitions were loaded: whoever makes this variant is told, the others go on.
            continue
        wanted = dg.AssetRecordsFilter(key, asset_partitions=[variant])
        seen: str | None = None
        for record in instance.fetch_observations(wanted, limit=1).records:
            observation = record.event_log_entry.asset_observation
            if observation is not None:
                seen = (observation.tags or {}).get(DATA_VERSION_TAG)
        if seen != version:
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
        key_prefix=benchmark.name,
        partitions_def=benchmark.partitions.by_variant,
        io_manager_key=VALUES,
        config_schema=launchpad_fields(benchmark.recipe, asking_stages=benchmark.asking_stages),
        deps=[recipe_file(benchmark)],
        group_name=benchmark.group(first.group),
        kinds={"yaml"},
        tags={"asks_a_model": "no", "paper": first.paper},
        metadata=definition(benchmark.recipe, benchmark.resolve, load_recipe),
        owners=OWNERS,
        description="Every count, date, seed, model and policy that decides the rows. Launchpad values override the YAML and "
        f"stay until they are overridden again, or until `{RESET}` is set. Everything below carries its recipe with it.",
    )
    def recipe(
        context: dg.AssetExecutionContext,
        run_context: dg.ResourceParam[RunContext],
        asset_values: dg.ResourceParam[AssetValues],
    ) -> dg.MaterializeResult[ResolvedRecipe]:
        """Read the YAML, lay the overrides over it, resolve. Raises dg.Failure with one sentence on a bad value."""
        if not context.has_partition_key:
            raise dg.Failure(description=missing_partition_message(name), allow_retries=False)
        given: dict[str, object] = context.op_execution_context.op_config or {}
        with explain_failures(OSError):
            overrides = lay_overrides(asset_values, name, context.partition_key, given=given)
        try:
            fields = with_salt(overrides.fields, context.partition_key, run_context)
            read = load_recipe(context.partition_key, fields)
            resolved = benchmark.resolve(with_embedded_model(read, embedded_model=run_context.embedded_model))
            check_units(resolved, benchmark)
            check_again(resolved, benchmark)
        except RecipeError as error:
            raise dg.Failure(description=overrides.explain(str(error)), allow_retries=False) from error
        for sentence in (embedded_model_notice(read.models, embedded_model=run_context.embedded_model), overrides.notice):
            if sentence:
                context.log.info(sentence)
        return dg.MaterializeResult(
            value=ResolvedRecipe(recipe=resolved, overrides=fields),
            data_version=dg.DataVersion(resolved.fingerprint),
            metadata=recipe_metadata(resolved, fields),
        )

    return recipe


def recipe_in_force(context: AnyContext, benchmark: Benchmark, variant: str) -> str | None:
    """Fingerprint of the recipe that the variant had when this run, or the run that it goes on with, was launched.

    What the run resolved itself comes first. None: nothing is known of a recipe.
    """
    own = {context.run.run_id, context.run.root_run_id, context.run.parent_run_id}
    root = context.instance.get_run_record_by_id(context.run.root_run_id or context.run.run_id)
    launched = root.create_timestamp.timestamp() if root else float("inf")
    wanted = dg.AssetRecordsFilter(dg.AssetKey(benchmark.asset_key("recipe")), asset_partitions=[variant])
    for record in context.instance.fetch_materializations(wanted, limit=LOOK_BACK).records:
        if record.event_log_entry.run_id in own or record.timestamp < launched:
            tags = record.asset_materialization.tags if record.asset_materialization else None
            return (tags or {}).get(DATA_VERSION_TAG)
    return None


def current_recipe(context: AnyContext, benchmark: Benchmark, made_under: Recipe, *, values: AssetValues) -> Recipe:
    """The recipe to go on under: what the inputs were made under, with the present budget and ways of making calls.

    Raises dg.Failure when the variant had another recipe when this run was launched, or got one from this run, and when
    its recipe cannot be read.
    """
    with explain_failures(OSError):
        latest = values.find(benchmark.key("recipe"), made_under.variant)
    if not isinstance(latest, ResolvedRecipe):
        return made_under
    present = latest.recipe
    is_present = present.fingerprint == made_under.fingerprint
    in_force = recipe_in_force(context, benchmark, made_under.variant) or present.fingerprint
    if in_force == made_under.fingerprint:
        return present if is_present else made_under
    if is_present:
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
    known = benchmark.partitions.units[resolved.variant]
    for unit in units(resolved):
        if unit.key not in known:
            raise RecipeError(
                f"{counted(resolved.num_items, benchmark.noun)} need the work unit {unit.key!r}, which {resolved.variant}.yaml "
                "does not have; change the number or the size of units in the file itself, so that the partition exists."
            )


def check_again(resolved: Recipe, benchmark: Benchmark) -> None:
    """Raise RecipeError when a stage that asks no model, or an item that the sample does not have, is to be asked again."""
    benchmark.check_stages_asked_again(resolved)
    asked = [item for item in resolved.again if item != EVERYONE]
    if not asked:
        return
    draw = benchmark.source.draw
    assert draw is not None
    known: set[str] = set()
    for unit in units(resolved):
        known.update(record.item_id for _, record in draw(resolved, unit))
    for item in asked:
        if item not in known:
            raise RecipeError(
                f"again names the {benchmark.noun} {item!r}, which is not in the sample of {resolved.variant!r}; take an id "
                f"from the asset {benchmark.source.name}, or {EVERYONE!r}."
            )
