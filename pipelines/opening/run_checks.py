"""Refuses runs that would fail or are not allowed, before they exist: of no partition that there is, with an invalid recipe or
version, with a memory that does not exist or whose code is not on the list, or with a model endpoint that does not answer.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any, cast

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.provenance import is_report_of
from assets.engine.recipe_asset import check_units, lay_overrides
from assets.recipe.loading import field_problems, load_recipe, variants
from assets.recipe.partitions import PARTITION_TAG
from assets.recipe.recipe import RecipeError, units
from assets.records.problems import nearest_first
from dataset_card.release_store.folder import check_version
from pipelines.benchmarks import BENCHMARKS
from pipelines.home import home
from pipelines.jobs import GENERATE_AND_RELEASE, benchmark_jobs
from pipelines.opening.dagster_files import ProjectInstance
from pipelines.opening.dagster_resources import InstallationResource, RunContextResource
from pipelines.resources.llm.place import check_reachable
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_database import shared_database

CONFIGURED = ("recipe", "evaluation", "quality_report", "release", "hub_release")
PARTITION_TAGS = (PARTITION_TAG, "dagster/asset_partition_range_start")
ASKING_JOBS = (GENERATE_AND_RELEASE, "generate_unit")


# Not at import: every command opens Dagster's storage, and with it this module, and needs one benchmark at most.
def _benchmarks() -> Iterator[Benchmark]:
    return (entry.benchmark for entry in BENCHMARKS.values())


@cache
def _our_jobs() -> dict[str, Benchmark]:
    found: dict[str, Benchmark] = {}
    for entry in BENCHMARKS.values():
        found.update(dict.fromkeys([job.name for job in benchmark_jobs(entry)], entry.benchmark))
    return found


@cache
def _our_assets() -> frozenset[str]:
    """Return the keys of all assets that need a partition to know what to make."""
    keys: set[str] = set()
    for benchmark in _benchmarks():
        for name in (*benchmark.stage_names, "recipe", "quality_report", "release", "hub_release"):
            keys.add(benchmark.asset_path(name))
    return frozenset(keys)


class CheckingInstance(ProjectInstance):
    """Dagster's instance as each `dagster.yaml` names it. A run that is refused is never created, and leaves no event."""

    def create_run(self, *, job_name: str, **fields: Any) -> dg.DagsterRun:
        """Create the run, which its launch or a backfill asks for. Raises what `check_run` does, which Dagster shows."""
        selection = fields["asset_selection"]
        check_run(
            dg.DagsterRun(
                job_name,
                run_config=fields["run_config"],
                tags=fields["tags"],
                asset_selection=None if selection is None else frozenset(selection),
            )
        )
        return super().create_run(job_name=job_name, **fields)  # pyright: ignore[reportUnknownMemberType]


def check_run(run: dg.DagsterRun) -> None:
    """Refuse a run that would fail or is not allowed, in one sentence. Runs of other projects pass.

    Raises RecipeError, ReleaseError, EvaluationError or EndpointError.
    """
    _check_variables(run)
    _check_memories(run)
    assets = {key.to_user_string() for key in run.asset_selection or ()}
    if run.job_name not in _our_jobs() and not assets & _our_assets():
        return
    if not any(tag in run.tags for tag in PARTITION_TAGS):
        raise RecipeError("This run has no partition. Launch it for one, such as demo.")
    _check_partition(run)
    variant = run.tags.get(PARTITION_TAG, "")
    values = open_asset_values(home())
    for benchmark in _benchmarks():
        recipe = benchmark.key("recipe")
        own_assets = {key.path[-1] for key in run.asset_selection or () if key.path[0] == benchmark.name}
        check_version(_config(run, benchmark.op("release")).get("version", "auto"))
        given = _config(run, benchmark.op("recipe"))
        # A run without a selection makes all assets of its job.
        makes_recipe = given or recipe in own_assets or not assets
        is_finished = False
        if makes_recipe and _is_variant_of(benchmark, variant):
            overrides = lay_overrides(values, recipe, variant, given=given)
            # Resolving finds problems, such as missing sources, that would else end the run after hours in the queue.
            resolved = benchmark.resolve(load_recipe(variant, overrides.fields))
            if variant in benchmark.partitions.units:  # a variant added since this process started has no known units
                check_units(resolved, benchmark)
            is_finished = is_report_of(values.find(benchmark.key("quality_report"), variant), resolved)
        job_asks = not assets and run.job_name in map(benchmark.key, ASKING_JOBS)
        if not is_finished and (job_asks or own_assets.intersection(benchmark.asking_stages)):
            _check_endpoint(run)


def impossible_values(run_config: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the place in a run's config, and a sentence, for each value that no recipe could have, whatever its file says."""
    for benchmark in _benchmarks():
        op = benchmark.op("recipe")
        ops: dict[str, Any] = run_config.get("ops") or {}
        given: dict[str, Any] = ops.get(op) or {}
        for path, sentence in field_problems(benchmark.recipe, benchmark.name, given.get("config") or {}):
            yield ("ops", op, "config", *path), sentence


def _check_partition(run: dg.DagsterRun) -> None:
    """Raise RecipeError for a partition that no benchmark of the run has."""
    names = {key.path[0] for key in run.asset_selection or ()}
    asked = [each for each in _benchmarks() if each.name in names or each == _our_jobs().get(run.job_name)]
    partition = run.tags.get(PARTITION_TAG)
    if partition is None or any(_is_partition_of(benchmark, partition) for benchmark in asked):
        return
    known = chain.from_iterable(benchmark.partitions.units for benchmark in asked)
    raise RecipeError(f"There is no partition {partition!r}; there are {nearest_first(partition, known)}.")


def _is_partition_of(benchmark: Benchmark, partition: str) -> bool:
    """Return whether the benchmark has this variant or work unit, which may be newer than this process."""
    if partition in benchmark.partitions.variant_by_unit or _is_variant_of(benchmark, partition):
        return True
    variant = partition.rpartition("-")[0]
    return _is_variant_of(benchmark, variant) and partition in [unit.key for unit in units(load_recipe(variant))]


def _is_variant_of(benchmark: Benchmark, variant: str) -> bool:
    """Return whether the benchmark makes this variant, which may be newer than this process and its partitions."""
    if variant in benchmark.partitions.units:
        return True
    return variant in variants() and load_recipe(variant).benchmark == benchmark.name


def _check_endpoint(run: dg.DagsterRun) -> None:
    """Raise EndpointError if the endpoint that the run would use does not answer."""
    if shared_database():
        return  # workers have their own environment and network, so a check from here proves nothing
    given: dict[str, Any] = cast(dict[str, Any], run.run_config).get("resources", {}).get("run_context", {}).get("config", {})
    endpoint = given.get("endpoint")
    settings = RunContextResource(
        installation=InstallationResource(), endpoint=endpoint if isinstance(endpoint, str) else None
    ).find_endpoint()
    if settings is not None:
        check_reachable(settings)


def _check_variables(run: dg.DagsterRun) -> None:
    """Refuse `{env: NAME}` in the config of our assets: Dagster would copy the value into errors, files and requests.

    Raises RecipeError.
    """
    for benchmark in _benchmarks():
        for asset in (*CONFIGURED, *benchmark.stage_names):
            name = _variable_in(_config(run, benchmark.op(asset)))
            if name:
                raise RecipeError(
                    f"The config of {asset} names the environment variable {name}, whose value would appear in files and "
                    "messages; write the value itself."
                )


def _variable_in(value: object) -> str:
    """Return the first variable that `{env: NAME}` names anywhere in a config; "" if there is none."""
    if isinstance(value, dict):
        inner = cast(dict[str, object], value)
        if set(inner) == {"env"} and isinstance(inner["env"], str):
            return inner["env"]
        parts: list[object] = list(inner.values())
    elif isinstance(value, list):
        parts = cast(list[object], value)
    else:
        return ""
    for part in parts:
        name = _variable_in(part)
        if name:
            return name
    return ""


def _check_memories(run: dg.DagsterRun) -> None:
    """Raise EvaluationError for memories or options that cannot be, and for a memory whose code is not listed.

    The asset checks again, for runs without a coordinator.
    """
    asked = [_config(run, benchmark.op("evaluation")) for benchmark in _benchmarks()]
    memories: list[object] = list(chain.from_iterable(config.get("memories", []) for config in asked))
    if not memories:
        return
    # Imported late: this loads every built-in memory, which no other run needs.
    from pipelines.memories.listed import check_listed
    from pipelines.memories.registry import DESCRIPTIONS, find_memory
    from pipelines.memories.settings import read_settings, swept_memories

    for config in asked:
        # By name, as evaluations stand on this room.
        options: Any = import_module("pipelines.evaluation.options")
        options.read_options(config.get("options", {}), source="The config")
        options.budget_of(max_cost_usd=config.get("max_cost_usd"), max_tokens=config.get("max_tokens"))
    for source in memories:
        if isinstance(source, str):  # Dagster itself refuses other values
            for memory in swept_memories(source):
                check_listed(memory)
                # Where workers share a database, they have other files than this process.
                is_file = ":" in memory or memory.endswith(DESCRIPTIONS)
                if not (is_file and shared_database()):
                    read_settings(find_memory(memory))


def _config(run: dg.DagsterRun, op: str) -> dict[str, Any]:
    ops: dict[str, Any] = cast(dict[str, Any], run.run_config).get("ops", {})
    return ops.get(op, {}).get("config", {})
