"""The jobs of each benchmark. Where a recipe is split into work units, a variant takes one run per phase and unit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.recipe.config_schema import launchpad_fields
from assets.recipe.partitions import MODEL_POOL
from pipelines.benchmarks import BenchmarkEntry

GENERATE_AND_RELEASE = "generate_and_release"


@dataclass(frozen=True)
class Phase:
    """One Dagster run: a job, its partition, the config of its ops by name, and the assets to make; none: all of the job's."""

    job: str
    partition: str
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    assets: Sequence[str] = ()


def phases(benchmark: Benchmark, variant: str, *, units: Sequence[str], config: Mapping[str, Any]) -> Iterator[Phase]:
    """Yield the runs that make, report on and release a variant, in order.

    One, or, where it is split into work units, one for the recipe, one for each unit, and one for report and release.
    `config`: as a run has it.
    """
    key = benchmark.key
    if not benchmark.partitions.is_sharded:
        yield Phase(key(GENERATE_AND_RELEASE), variant, config)
        return
    rest = dict(config)
    root: dict[str, Any] = {}
    if key("recipe") in rest:
        root[key("recipe")] = rest.pop(key("recipe"))
    yield Phase(key("resolve_recipe"), variant, root)
    for unit in units:
        yield Phase(key("generate_unit"), unit)
    yield release_phase(benchmark, variant, config=rest)


def _job(name: str, assets: tuple[str, ...], partitions: dg.StaticPartitionsDefinition, *, description: str) -> Any:
    return dg.define_asset_job(name, selection=list(assets), partitions_def=partitions, description=description)  # pyright: ignore[reportUnknownMemberType]


def benchmark_jobs(entry: BenchmarkEntry) -> list[Any]:
    """Return a benchmark's jobs: generate and release, publish, evaluate. Their names begin as those of its assets do.

    Where a recipe is split into work units, the phases of a variant are jobs as well.
    """
    benchmark = entry.benchmark
    key = benchmark.key
    items = f"{benchmark.noun}s"
    by_variant = benchmark.partitions.by_variant
    jobs = [
        _whole_job(entry, description=f"Make a variant's {items}, report on them and release them."),
        _job(
            key("publish"),
            (key("hub_release"),),
            by_variant,
            description="Bring a variant's release from the disk to the Hub.",
        ),
        _job(
            key("evaluate"),
            (key("evaluation"),),
            by_variant,
            description="Evaluate memories on the release of a variant.",
        ),
    ]
    if benchmark.partitions.is_sharded:
        jobs += _phase_jobs(benchmark)
    return jobs


def _phase_jobs(benchmark: Benchmark) -> list[Any]:
    key = benchmark.key
    by_variant = benchmark.partitions.by_variant
    return [
        _job(key("resolve_recipe"), (key("recipe"),), by_variant, description="Resolve a variant's recipe."),
        _job(
            key("generate_unit"),
            benchmark.stage_names,
            benchmark.partitions.by_unit,
            description=f"Make one work unit's {benchmark.noun}s, from {benchmark.source.name} to {benchmark.final.name}.",
        ),
        _job(
            key("make_release"),
            _release_assets(benchmark),
            by_variant,
            description="Report on a finished variant and freeze it into a release.",
        ),
    ]


def _release_assets(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the assets that are made of all of a variant's items."""
    return tuple(map(benchmark.key, ("quality_report", "dataset_card", "release")))


def release_phase(benchmark: Benchmark, variant: str, *, config: Mapping[str, Any]) -> Phase:
    """Return the run that reports on the finished items of a variant and releases them."""
    job = "make_release" if benchmark.partitions.is_sharded else GENERATE_AND_RELEASE
    return Phase(benchmark.key(job), variant, config, _release_assets(benchmark))


def phases_op(job: str) -> str:
    """The name of the op that a job consists of where recipes are split into work units."""
    return f"{job}_by_phases"


def _whole_job(entry: BenchmarkEntry, *, description: str) -> Any:
    """A job over all of a variant: one run, or, as one job takes assets of one kind of partitions alone, a run of runs."""
    partitions = entry.benchmark.partitions
    key = entry.benchmark.key
    name = key(GENERATE_AND_RELEASE)
    if not partitions.is_sharded:
        assets = (key("recipe"), *entry.benchmark.stage_names, *_release_assets(entry.benchmark))
        return _job(name, assets, partitions.by_variant, description=description)

    @dg.op(
        name=phases_op(name),
        config_schema={
            key("recipe"): dg.Field(
                launchpad_fields(entry.benchmark.recipe, asking_stages=entry.benchmark.asking_stages), is_required=False
            )
        },
        pool=MODEL_POOL,
    )
    def by_phases(context: dg.OpExecutionContext) -> None:
        """Run the phases here, unit by unit. Raises dg.Failure that names the run that failed."""
        variant = context.partition_key
        root = {name: {"config": fields} for name, fields in context.op_config.items()}
        for phase in phases(entry.benchmark, variant, units=partitions.units[variant], config=root):
            _run(context, phase)

    @dg.job(  # pyright: ignore[reportUnknownMemberType]
        name=name, partitions_def=partitions.by_variant, description=f"{description} One run for each phase and work unit."
    )
    def whole() -> None:
        by_phases()

    return whole


def _run(context: dg.OpExecutionContext, phase: Phase) -> None:
    result = context.repository_def.get_job(phase.job).execute_in_process(
        {"ops": phase.config},
        instance=context.instance,
        partition_key=phase.partition,
        asset_selection=[dg.AssetKey(name) for name in phase.assets] or None,
        raise_on_error=False,
    )
    if not result.success:
        raise dg.Failure(f"{phase.job} of {phase.partition} did not succeed; see its run {result.run_id}.", allow_retries=False)
