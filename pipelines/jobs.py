"""The jobs of each benchmark. Where a recipe is split into work units, a variant takes one run per phase and unit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.recipe.partitions import PARTITION_TAG
from pipelines.benchmarks import BenchmarkEntry

GENERATE_AND_RELEASE = "generate_and_release"
# Made of all of a variant's items.
RELEASE_ASSETS = ("quality_report", "dataset_card", "release")
# Of a run that a sensor launched after another one: the id of the run that began the variant.
BEGAN_WITH = "amemgym/began_with"


@dataclass(frozen=True)
class Phase:
    """One Dagster run: a job, its partition, its config by op, and the keys of the assets to make; none: all of the job's."""

    job: str
    partition: str
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    assets: Sequence[str] = ()


def phases(benchmark: Benchmark, variant: str, *, units: Sequence[str], config: Mapping[str, Any]) -> Iterator[Phase]:
    """Yield the runs that make, report on and release a variant, in order.

    One, or, where it is split into work units, one for the recipe, one for each unit, and one for report and release.
    `config`: as a run has it, by the names of ops.
    """
    key = benchmark.key
    if not benchmark.partitions.is_sharded:
        yield Phase(key(GENERATE_AND_RELEASE), variant, config)
        return
    rest = dict(config)
    recipe = benchmark.op("recipe")
    root = {recipe: rest.pop(recipe)} if recipe in rest else {}
    yield Phase(key("resolve_recipe"), variant, root)
    for unit in units:
        yield Phase(key("generate_unit"), unit)
    yield release_phase(benchmark, variant, config=rest)


def _job(benchmark: Benchmark, name: str, assets: Sequence[str], *, description: str) -> Any:
    selection = dg.AssetSelection.assets(*map(benchmark.asset_key, assets))
    return dg.define_asset_job(benchmark.key(name), selection=selection, description=description)  # pyright: ignore[reportUnknownMemberType]


@cache
def benchmark_jobs(entry: BenchmarkEntry) -> list[Any]:
    """Return a benchmark's jobs: generate and release, publish, evaluate. Their names begin as those of its assets do.

    Where a recipe is split into work units, the phases of a variant are jobs as well.
    """
    benchmark = entry.benchmark
    items = f"{benchmark.noun}s"
    is_sharded = benchmark.partitions.is_sharded
    made_at_once = ("recipe",) if is_sharded else ("recipe", *benchmark.stage_names, *RELEASE_ASSETS)
    further = " One run resolves the recipe; a sensor launches those of the work units, then that of the release."
    whole = f"Make a variant's {items}, report on them and release them.{further if is_sharded else ''}"
    jobs = [
        _job(benchmark, GENERATE_AND_RELEASE, made_at_once, description=whole),
        _job(benchmark, "publish", ("hub_release",), description="Bring a variant's release from the disk to the Hub."),
        _job(benchmark, "evaluate", ("evaluation",), description="Evaluate memories on the release of a variant."),
    ]
    if is_sharded:
        unit = f"Make one work unit's {items}, from {benchmark.source.name} to {benchmark.final.name}."
        release = "Report on a finished variant and freeze it into a release."
        jobs += [
            _job(benchmark, "resolve_recipe", ("recipe",), description="Resolve a variant's recipe."),
            _job(benchmark, "generate_unit", benchmark.stage_names, description=unit),
            _job(benchmark, "make_release", RELEASE_ASSETS, description=release),
        ]
    return jobs


def release_phase(benchmark: Benchmark, variant: str, *, config: Mapping[str, Any]) -> Phase:
    """Return the run that reports on the finished items of a variant and releases them."""
    job = "make_release" if benchmark.partitions.is_sharded else GENERATE_AND_RELEASE
    return Phase(benchmark.key(job), variant, config, tuple(map(benchmark.asset_path, RELEASE_ASSETS)))


def next_phases(entry: BenchmarkEntry, run: dg.DagsterRun, instance: dg.DagsterInstance) -> Iterator[dg.RunRequest]:
    """Yield the runs that follow a successful one of a variant in work units: those of all units, then that of its release."""
    benchmark = entry.benchmark
    partitions = benchmark.partitions
    unit_job = benchmark.key("generate_unit")
    partition = run.tags.get(PARTITION_TAG, "")
    began_with = run.tags.get(BEGAN_WITH, run.run_id)
    tags = {BEGAN_WITH: began_with}
    if run.job_name == benchmark.key(GENERATE_AND_RELEASE):
        for unit in partitions.units[partition]:
            yield dg.RunRequest(f"{began_with} {unit}", job_name=unit_job, partition_key=unit, tags=tags)
    elif run.job_name == unit_job and BEGAN_WITH in run.tags:
        variant = partitions.variant_by_unit[partition]
        made = dg.RunsFilter(job_name=unit_job, tags=tags, statuses=[dg.DagsterRunStatus.SUCCESS])
        finished = {record.tags[PARTITION_TAG] for record in instance.get_runs(made)}
        if finished >= set(partitions.units[variant]):
            job = benchmark.key("make_release")
            yield dg.RunRequest(f"{began_with} {job}", job_name=job, partition_key=variant, tags=tags)
