"""The one wrapper that turns a stage, an async function about one user, into a native Dagster asset."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.cancellation import stopping_with_the_run
from assets.engine.progress import StageWatch, Steps, heartbeat
from assets.engine.run_context import RunContext
from assets.engine.serialized_record import serialized_rows
from assets.engine.stage import Stage
from assets.engine.stage_runner import Line, StageResult
from assets.llm.ports import BudgetReached, EndpointError, SnapshotRef, StageProgress
from assets.llm.usage_meter import Meter
from assets.recipe.loading import RecipeError, units
from assets.recipe.partitions import UNIT_PARTITIONS, by_variant, unit_of
from assets.recipe.pools import MODEL_POOL
from assets.recipe.recipe import Recipe
from assets.records.base import UserRecord
from assets.reporting.asset_description import OWNERS, POSITION, column_schema, definition
from assets.reporting.materialization import first_records, stage_metadata


def stage_assets(benchmark: Benchmark) -> list[dg.AssetsDefinition]:
    """The assets of all stages, in order."""
    return [stage_asset(stage, benchmark) for stage in benchmark.stages]


def stage_asset(stage: Stage[UserRecord], benchmark: Benchmark) -> dg.AssetsDefinition:
    """Wrap a stage. The asset's value is a SnapshotRef, its data version the snapshot's digest."""
    if stage.draw is not None:
        return _source_asset(stage, benchmark)
    source, description = benchmark.source.name, stage.description
    upstream = (source, *(need.name for need in stage.needs if need.name != source))
    ins = {"recipe": dg.AssetIn(partition_mapping=by_variant()), **{name: dg.AssetIn() for name in upstream}}

    @dg.asset(
        name=stage.name,
        ins=ins,
        partitions_def=UNIT_PARTITIONS,
        required_resource_keys={"run_context"},
        group_name=benchmark.group(description.group),
        description=description.description,
        kinds={*description.kinds, "parquet", *(["llm"] if stage.prompts else [])},
        owners=OWNERS,
        code_version=stage.code_version,
        pool=MODEL_POOL if stage.prompts else None,
        tags={"asks_a_model": "yes" if stage.prompts else "no", "paper": description.paper},
        metadata=stage_definition(stage),
    )
    async def materialize(context: dg.AssetExecutionContext, **values: Any) -> dg.MaterializeResult[Any]:
        recipe: Recipe = values.pop("recipe")
        refs = cast(dict[str, SnapshotRef], values)
        snapshots = context.resources.run_context.snapshots
        line, watch = _watched(stage, benchmark, context, recipe, refs)
        with heartbeat(context.log.info, watch.line):
            async with stopping_with_the_run():
                result = await told_in_one_sentence(line, waiting=lambda: _waiting(stage, benchmark, context))
                records = await asyncio.to_thread(first_records, snapshots, result, stage.record)
        tell_losses(result, context.log.warning)
        return dg.MaterializeResult(
            value=result.ref,
            data_version=dg.DataVersion(result.ref.digest[:16]),
            metadata=stage_metadata(result, description=description, records=records, stored_at=snapshots.address),
        )

    return materialize


def _source_asset(stage: Stage[UserRecord], benchmark: Benchmark) -> dg.AssetsDefinition:
    """The asset of the first stage, which draws the items and asks no model."""
    draw, description = stage.draw, stage.description
    assert draw is not None

    @dg.asset(
        name=stage.name,
        ins={"recipe": dg.AssetIn(partition_mapping=by_variant())},
        partitions_def=UNIT_PARTITIONS,
        required_resource_keys={"run_context"},
        group_name=benchmark.group(description.group),
        description=description.description,
        kinds={*description.kinds, "parquet"},
        owners=OWNERS,
        code_version=stage.code_version,
        tags={"asks_a_model": "no", "paper": description.paper},
        metadata=stage_definition(stage),
    )
    def materialize(context: dg.AssetExecutionContext, recipe: Recipe) -> dg.MaterializeResult[Any]:
        """Draw the unit's items. Raises dg.Failure with one sentence when there are too few."""
        run_context: RunContext = context.resources.run_context
        unit = unit_of(context.partition_key, among=units(recipe))
        wanted = len(unit.positions)
        try:
            with heartbeat(context.log.info, Steps(f"{unit.key}: drawing {wanted} {stage.name}").line):
                writer, drawn = run_context.snapshots.writer(stage.name, unit=unit.key), iter(draw(recipe, unit))
                while rows := list(islice(drawn, run_context.users_per_part)):
                    writer.add(stage.name, serialized_rows(rows))
                ref = writer.finish([])
        except RecipeError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        result = StageResult(ref, Meter(), 0.0, wanted, ref.users)
        records = first_records(run_context.snapshots, result, stage.record)
        return dg.MaterializeResult(
            value=ref,
            data_version=dg.DataVersion(ref.digest[:16]),
            metadata=stage_metadata(result, description=description, records=records, stored_at=run_context.snapshots.address),
        )

    return materialize


def _watched(
    stage: Stage[UserRecord],
    benchmark: Benchmark,
    context: dg.AssetExecutionContext,
    recipe: Recipe,
    refs: Mapping[str, SnapshotRef],
) -> tuple[Line, StageWatch]:
    """The line of the asset's partition, and who watches it beside whoever else is told."""
    run_context: RunContext = context.resources.run_context
    unit, meter, others = unit_of(context.partition_key, among=units(recipe)), Meter(), run_context.report
    expected = run_context.expected_calls(recipe, stage.name) if run_context.expected_calls else 0.0
    watch = StageWatch(meter, begin=f"{stage.name} of {unit.key}: reading what it needs", expected=expected)

    def report(progress: StageProgress) -> None:
        watch(progress)
        if others is not None:
            others(progress)

    at_work = replace(run_context, report=report).at(unit.key, recipe=recipe)
    return Line(stage, unit, recipe, at_work, refs, later=_later(stage, benchmark, context), meter=meter), watch


def stage_definition(stage: Stage[UserRecord]) -> dict[str, Any]:
    """Metadata of a stage's asset before anything is made: the columns of its snapshots, its code and its prompts."""
    told = definition(None, stage.draw or stage.make, prompts=stage.prompts)
    return {**told, "dagster/column_schema": column_schema(stage.record, POSITION)}


def tell_losses(result: StageResult, warn: Callable[[str], object]) -> None:
    """A warning for each user who was replaced meanwhile, and one where users are missing."""
    for failure in result.lost:
        warn(f"User {failure.user_id} was replaced at {failure.stage}: {failure.message}")
    if result.ref.users < result.wanted:
        warn(shortfall(result))


def _later(stage: Stage[UserRecord], benchmark: Benchmark, context: dg.AssetExecutionContext) -> list[Stage[UserRecord]]:
    """The stages whose assets the same run materializes after this one."""
    steps = set(context.run.step_keys_to_execute or ())
    after = benchmark.stages[benchmark.stage_names.index(stage.name) + 1 :]
    return [one for one in after if one.name in steps]


def _waiting(stage: Stage[UserRecord], benchmark: Benchmark, context: dg.AssetExecutionContext) -> list[str]:
    """The other stages that this run has still to materialize."""
    found = context.instance.get_records_for_run(context.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    past = {stage.name, *(record.asset_key.path[-1] for record in found.records if record.asset_key)}
    steps = set(context.run.step_keys_to_execute or ()) - past
    return [name for name in benchmark.stage_names if name in steps]


async def told_in_one_sentence(line: Line, *, waiting: Callable[[], Sequence[str]] = tuple) -> StageResult:
    """Run the line; problems that the user can mend end the step with one sentence and no retry.

    `waiting` names the other stages that are not finished, for a run that pauses.
    """
    try:
        return await line.run()
    except BudgetReached as error:
        raise dg.Failure(description=f"{error} {left_to_do(line, waiting())}", allow_retries=False) from error
    except (EndpointError, RecipeError) as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    except OSError as error:
        raise dg.Failure(description=disk_problem(error), allow_retries=False) from error


def left_to_do(line: Line, waiting: Sequence[str]) -> str:
    """The sentence that names what a paused run has not done: users of this stage, and other stages."""
    wanted, others = len(line.unit.users), "".join(f", {name}" for name in waiting)
    return f"Left to do in {line.unit.key!r}: {line.stage.name} of {wanted - line.done} of {wanted} users{others}."


def disk_problem(error: OSError) -> str:
    """One sentence about a disk that is full, read-only or broken; our stores' own errors are sentences already."""
    if error.strerror is None:
        return str(error)
    return f"{error.filename or 'The data folder'} cannot be written: {error.strerror}. What was finished before is kept."


def shortfall(result: StageResult) -> str:
    """The sentence that says plainly that users are missing."""
    return (
        f"Only {result.ref.users} of {result.wanted} users passed {result.ref.stage} and the reserve is used up; "
        "raise num_reserve in the recipe and materialize again, finished users are kept."
    )
