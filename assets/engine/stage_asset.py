"""The one wrapper that turns a stage, an async function about one item, into a native Dagster asset."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.cancellation import stop_with_run
from assets.engine.materialization import explain_failures, first_records, stage_metadata
from assets.engine.ports import VALUES, AssetValues, RunContext, SnapshotRef, StageProgress
from assets.engine.progress import ProgressLog, heartbeat, progress_line
from assets.engine.provenance import PROVENANCE, MixedProvenance, Provenance, combine_parts
from assets.engine.recipe_asset import current_recipe
from assets.engine.serialized_record import serialized_rows
from assets.engine.stage import Stage
from assets.engine.stage_runner import StageResult, StageRunner
from assets.llm.ports import BudgetReached, EndpointError
from assets.llm.usage import Meter
from assets.recipe.partitions import MODEL_POOL
from assets.recipe.recipe import Recipe, RecipeError, Unit, units
from assets.records.base import ItemRecord
from assets.reporting.definition_metadata import OWNERS, POSITION, column_schema, definition
from assets.reporting.plurals import counted


def stage_assets(benchmark: Benchmark) -> list[dg.AssetsDefinition]:
    """The assets of all stages, in order."""
    return [stage_asset(stage, benchmark) for stage in benchmark.stages]


def stage_asset(stage: Stage[ItemRecord], benchmark: Benchmark) -> dg.AssetsDefinition:
    """Wrap a stage. The asset's value is the Provenance of its rows, its data version their digest."""
    if stage.draw is not None:
        return _source_asset(stage, benchmark)
    description = stage.description
    ins = {need.name: dg.AssetIn(key_prefix=benchmark.name, dagster_type=PROVENANCE) for need in stage.direct_needs}

    @dg.asset(
        name=stage.name,
        key_prefix=benchmark.name,
        ins=ins,
        partitions_def=benchmark.partitions.by_unit,
        io_manager_key=VALUES,
        group_name=benchmark.group(description.group),
        description=description.description,
        kinds={*description.kinds, "parquet", *(["llm"] if stage.prompts else [])},
        owners=OWNERS,
        code_version=stage.code_version,
        pool=MODEL_POOL if stage.prompts else None,
        tags={"asks_a_model": "yes" if stage.prompts else "no", "paper": description.paper},
        metadata=stage_definition(stage),
        dagster_type=PROVENANCE,
    )
    async def materialize(
        context: dg.AssetExecutionContext,
        run_context: dg.ResourceParam[RunContext],
        asset_values: dg.ResourceParam[AssetValues],
        **values: Any,
    ) -> AsyncIterator[dg.MaterializeResult[Any]]:
        # A generator, because Dagster makes it before it runs it, and Python warns of a coroutine that a signal leaves behind.
        made_from = made_from_one_recipe(cast(dict[str, Provenance], values))
        recipe = current_recipe(context, benchmark, made_from.recipe, values=asset_values)
        snapshots = run_context.snapshots
        upstream = made_from.snapshots[context.partition_key]
        runner, log = _runner_with_log(stage, benchmark, context, run_context, recipe=recipe, snapshots=upstream)
        with heartbeat(context.log.info, log.line):
            async with stop_with_run():
                result = await run_or_explain(
                    runner, benchmark, unfinished=lambda: _unfinished_stages(stage, benchmark, context)
                )
                with explain_failures():
                    records = await asyncio.to_thread(first_records, snapshots, result, stage.record)
        for failure in result.failed:
            context.log.warning(f"{failure.item_id} was replaced at {failure.stage}: {failure.message}")
        if result.ref.items < result.wanted:
            context.log.warning(shortfall_message(result, benchmark))
        yield dg.MaterializeResult(
            value=made_from.model_copy(update={"recipe": recipe}).followed_by(result.ref),
            data_version=dg.DataVersion(result.ref.digest[:16]),
            metadata=stage_metadata(result, description=description, records=records, stored_at=snapshots.address),
        )

    return materialize


def _source_asset(stage: Stage[ItemRecord], benchmark: Benchmark) -> dg.AssetsDefinition:
    """The asset of the first stage, which draws the items and asks no model."""
    draw = stage.draw
    description = stage.description
    assert draw is not None

    @dg.asset(
        name=stage.name,
        key_prefix=benchmark.name,
        ins={"recipe": dg.AssetIn(benchmark.asset_key("recipe"), partition_mapping=benchmark.partitions.variant_to_units)},
        partitions_def=benchmark.partitions.by_unit,
        io_manager_key=VALUES,
        group_name=benchmark.group(description.group),
        description=description.description,
        kinds={*description.kinds, "parquet"},
        owners=OWNERS,
        code_version=stage.code_version,
        tags={"asks_a_model": "no", "paper": description.paper},
        metadata=stage_definition(stage),
    )
    def materialize(
        context: dg.AssetExecutionContext, run_context: dg.ResourceParam[RunContext], recipe: Recipe
    ) -> dg.MaterializeResult[Any]:
        """Draw the unit's items. Raises dg.Failure with one sentence when there are too few."""
        unit = benchmark.partitions.unit(context.partition_key, among=units(recipe))
        sample = _SampleWriter(stage, unit, run_context, noun=benchmark.noun)
        with explain_failures(RecipeError), heartbeat(context.log.info, sample.progress_line):
            ref = sample.write(iter(draw(recipe, unit)))
            result = StageResult(ref, Meter(), 0.0, len(unit.positions), ref.items)
            records = first_records(run_context.snapshots, result, stage.record)
        return dg.MaterializeResult(
            value=Provenance(recipe=recipe, snapshots={ref.unit: {ref.stage: ref}}),
            data_version=dg.DataVersion(ref.digest[:16]),
            metadata=stage_metadata(result, description=description, records=records, stored_at=run_context.snapshots.address),
        )

    return materialize


class _SampleWriter:
    """Writes the items that the first stage draws for a unit into its snapshot, and tells how many there are so far."""

    def __init__(self, stage: Stage[ItemRecord], unit: Unit, run_context: RunContext, *, noun: str) -> None:
        self._stage = stage
        self._unit = unit
        self._run_context = run_context
        self._noun = noun
        self._began = time.monotonic()
        self._count = 0

    def write(self, items: Iterator[tuple[int, ItemRecord]]) -> SnapshotRef:
        """Write the items part by part, because a sample may be too large for the memory."""
        self._report()
        writer = self._run_context.snapshots.writer(self._stage.name, unit=self._unit.key)
        part_size = self._run_context.items_per_part
        while rows := list(islice(items, part_size)):
            writer.add(self._stage.name, serialized_rows(rows))
            self._count += len(rows)
            self._report()
        return writer.finish([]).model_copy(update=self._stage.made_by)

    def progress_line(self) -> str:
        return progress_line(self._progress())

    def _report(self) -> None:
        if self._run_context.report is not None:
            self._run_context.report(self._progress())

    def _progress(self) -> StageProgress:
        return StageProgress(
            self._stage.name,
            self._unit.key,
            self._count,
            len(self._unit.positions),
            calls=0,
            repeated=0,
            seconds=time.monotonic() - self._began,
            noun=self._noun,
            reserve=len(self._unit.reserve),
        )


def stages_to_come(
    stage: Stage[ItemRecord], stages: Sequence[Stage[ItemRecord]], *, steps: Container[str]
) -> list[Stage[ItemRecord]]:
    """Return the stages of a run's `steps` that may not be made yet when this one's turn comes.

    Dagster chooses the order of assets that do not need each other, as answers and events.
    """
    made = {*stage.ancestors, stage.name}
    return [other for other in stages if other.name in steps and other.name not in made]


def _runner_with_log(
    stage: Stage[ItemRecord],
    benchmark: Benchmark,
    context: dg.AssetExecutionContext,
    run_context: RunContext,
    *,
    recipe: Recipe,
    snapshots: Mapping[str, SnapshotRef],
) -> tuple[StageRunner, ProgressLog]:
    """The runner of the asset's partition, and the log of its progress, which reports to the run context as well."""
    unit = benchmark.partitions.unit(context.partition_key, among=units(recipe))
    meter = Meter()
    first_line = f"{stage.name} of {unit.key}: reading what it needs"
    log = ProgressLog(meter, first_line=first_line, expected=stage.calls_per_item(recipe))

    def report(progress: StageProgress) -> None:
        known = log.update(progress)
        if run_context.report is not None:
            run_context.report(known)

    in_unit = replace(run_context, report=report, stage_names=benchmark.stage_names).for_unit(unit.key, recipe=recipe)
    later = stages_to_come(stage, benchmark.stages, steps=assets_of_run(context))
    upstream = {read.name: snapshots[read.name] for read in (benchmark.source, *stage.needs)}
    return StageRunner(stage, unit, recipe, in_unit, upstream, later=later, noun=benchmark.noun, meter=meter), log


def named_parts(values: Mapping[str, Mapping[str, Provenance]]) -> dict[str, Provenance]:
    """Name the provenance of inputs that are given by stage and unit, as "answers of demo"."""
    parts: dict[str, Provenance] = {}
    for stage, by_unit in values.items():
        for unit, part in by_unit.items():
            parts[f"{stage} of {unit}"] = part
    return parts


def made_from_one_recipe(parts: Mapping[str, Provenance]) -> Provenance:
    """Combine the provenance of several inputs. Raises dg.Failure, in one sentence, for parts that do not fit."""
    with explain_failures(MixedProvenance):
        return combine_parts(parts)


def stage_definition(stage: Stage[ItemRecord]) -> dict[str, Any]:
    """Metadata of a stage's asset before anything is made: the columns of its snapshots, its code and its prompts."""
    metadata = definition(None, stage.draw or stage.make, prompts=stage.prompts)
    return {**metadata, "dagster/column_schema": column_schema(stage.record, POSITION)}


def _unfinished_stages(stage: Stage[ItemRecord], benchmark: Benchmark, context: dg.AssetExecutionContext) -> list[str]:
    """The other stages that this run has still to materialize."""
    found = context.instance.get_records_for_run(context.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    done = {stage.name, *(record.asset_key.path[-1] for record in found.records if record.asset_key)}
    steps = assets_of_run(context) - done
    return [name for name in benchmark.stage_names if name in steps]


def assets_of_run(context: dg.AssetExecutionContext) -> set[str]:
    """The assets that the run makes: those of the steps it names, or all of its job, as where it was launched from the page."""
    steps = context.run.step_keys_to_execute or [node.name for node in context.job_def.nodes]
    return {step.rpartition("__")[2] for step in steps}


async def run_or_explain(
    runner: StageRunner, benchmark: Benchmark, *, unfinished: Callable[[], Sequence[str]] = tuple
) -> StageResult:
    """Run the stage. Raises dg.Failure, without retry and in one sentence, for problems that the user can mend.

    `unfinished` names the other stages that are not finished, for a run that pauses at its budget.
    """
    with explain_failures(EndpointError, RecipeError):
        try:
            return await runner.run_context.on_loop(runner.run())
        except BudgetReached as error:
            wanted = len(runner.unit.items)
            users_left = f"{runner.stage.name} of {wanted - runner.done} of {counted(wanted, benchmark.noun)}"
            left = ", ".join([users_left, *unfinished()])
            raise dg.Failure(f"{error} Left to do in {runner.unit.key!r}: {left}.", allow_retries=False) from error


def shortfall_message(result: StageResult, benchmark: Benchmark) -> str:
    """The sentence for a unit in which items are missing."""
    return (
        f"Only {result.ref.items} of {result.wanted} {benchmark.noun}s passed {result.ref.stage} and the reserve is used up; "
        f"raise num_reserve in the recipe and run again, finished {benchmark.noun}s are kept."
    )
