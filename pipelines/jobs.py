"""The jobs of each benchmark. Where a recipe is split into work units, a variant takes one run per phase and unit."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.amemgym.pipeline import AMEMGYM
from assets.recipe.config_schema import launchpad_fields
from assets.recipe.partitions import MODEL_POOL
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry

GENERATE_AND_RELEASE = "generate_and_release"


def _job(name: str, assets: tuple[str, ...], partitions: dg.StaticPartitionsDefinition, *, description: str) -> Any:
    return dg.define_asset_job(name, selection=list(assets), partitions_def=partitions, description=description)  # pyright: ignore[reportUnknownMemberType]


def benchmark_jobs(entry: BenchmarkEntry) -> list[Any]:
    """The jobs that make, release and publish a benchmark's variants; their names begin as those of its assets do."""
    benchmark, key, partitions = entry.benchmark, entry.benchmark.key, entry.benchmark.partitions
    recipe, report = (key("recipe"),), (key("quality_report"),)
    release = (key("dataset_card"), key("release"))
    phases = [
        _job(key("resolve_recipe"), recipe, partitions.by_variant, description="Resolve a variant's recipe."),
        _job(
            key("generate_unit"),
            benchmark.stage_names,
            partitions.by_unit,
            description=f"Make one work unit's {benchmark.noun}s, from {benchmark.source.name} to {benchmark.final.name}.",
        ),
        _job(
            key("make_release"),
            (*report, *release),
            partitions.by_variant,
            description="Report on a finished variant and freeze it into a release.",
        ),
    ]
    made, released = (*recipe, *benchmark.stage_names, *report), (*recipe, *benchmark.stage_names, *report, *release)
    noun = f"Make a variant's {benchmark.noun}s"
    whole = [
        _whole_job(entry, key("generate"), made, description=f"{noun} and report on them; nothing is released."),
        _whole_job(entry, key(GENERATE_AND_RELEASE), released, description=f"{noun}, report on them and release them."),
    ]
    return [
        *phases,
        *whole,
        _job(
            key("freeze_release"),
            release,
            partitions.by_variant,
            description="Freeze a variant whose report is there into a release.",
        ),
        _job(
            key("publish"),
            (key("hub_release"),),
            partitions.by_variant,
            description="Bring a variant's release from the disk to the Hub.",
        ),
    ]


def _whole_job(entry: BenchmarkEntry, name: str, assets: tuple[str, ...], *, description: str) -> Any:
    """A job over all of a variant: one run, or, as one job takes assets of one kind of partitions alone, a run of runs."""
    partitions = entry.benchmark.partitions
    if not partitions.sharded:
        return _job(name, assets, partitions.by_variant, description=description)
    key = entry.benchmark.key
    last = [asset for asset in assets if asset not in (key("recipe"), *entry.benchmark.stage_names)]

    @dg.op(
        name=f"{name}_by_phases",
        config_schema={key("recipe"): dg.Field(launchpad_fields(entry.benchmark.recipe), is_required=False)},
        pool=MODEL_POOL,
    )
    def by_phases(context: dg.OpExecutionContext) -> None:
        """Run the phases here, unit by unit. Raises dg.Failure that names the run that failed."""
        variant, config = context.partition_key, context.op_config
        _run(context, key("resolve_recipe"), variant, config={name: {"config": fields} for name, fields in config.items()})
        for unit in partitions.units[variant]:
            _run(context, key("generate_unit"), unit)
        _run(context, key("make_release"), variant, assets=last)

    @dg.job(  # pyright: ignore[reportUnknownMemberType]
        name=name, partitions_def=partitions.by_variant, description=f"{description} One run for each phase and work unit."
    )
    def whole() -> None:
        by_phases()

    return whole


def _run(
    context: dg.OpExecutionContext,
    job: str,
    partition: str,
    *,
    config: Mapping[str, Any] | None = None,
    assets: Sequence[str] | None = None,
) -> None:
    result = context.repository_def.get_job(job).execute_in_process(
        {"ops": config or {}},
        instance=context.instance,
        partition_key=partition,
        asset_selection=[dg.AssetKey(name) for name in assets] if assets else None,
        raise_on_error=False,
    )
    if not result.success:
        raise dg.Failure(f"{job} of {partition} did not succeed; see its run {result.run_id}.", allow_retries=False)


EVALUATE = _job(
    "evaluate", ("evaluation",), AMEMGYM.partitions.by_variant, description="Evaluate memory assistants on a variant's release."
)
JOBS = [*(job for entry in BENCHMARKS for job in benchmark_jobs(entry)), EVALUATE]
