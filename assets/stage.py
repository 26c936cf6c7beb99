"""The one wrapper that turns a stage, an async function about one user, into a native Dagster asset."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast, get_args

import dagster as dg

from assets.interruption import stopping_with_the_run
from assets.line import Line, StageResult
from assets.partitions import UNIT_PARTITIONS, by_variant, unit_of
from assets.ports import BudgetReached, EndpointError, SnapshotRef
from assets.progress import LoggedProgress
from assets.recipes import RecipeError, units
from assets.records.base import StageName, UserRecord
from assets.records.recipe import Recipe
from assets.records.usage import Usage
from assets.stage_kind import Stage
from assets.workshop import Workshop

R = TypeVar("R", bound=UserRecord)
Row = dict[str, object]
OWNERS = ["team:benchmark"]
CELL_LIMIT = 400
PREVIEW_ROWS = 12
# Dagster shows Markdown of fewer than 1000 characters in place, longer text behind a link.
EXAMPLE_LIMIT = 990
EXAMPLE_CELL = 240


@dataclass(frozen=True)
class Face:
    """How a stage shows itself in the Dagster UI: its group, two sentences, and rows of a record for the preview."""

    group: str
    description: str
    rows: Callable[[Any], Sequence[Row]]


def stage_asset(stage: Stage[R], face: Face) -> dg.AssetsDefinition:
    """Wrap a stage. The asset's value is a SnapshotRef, its data version the snapshot's digest."""
    plain = cast(Stage[UserRecord], stage)
    upstream = ("personas", *(need.name for need in stage.needs if need.name != "personas"))
    ins = {"recipe": dg.AssetIn(partition_mapping=by_variant()), **{name: dg.AssetIn() for name in upstream}}

    @dg.asset(
        name=stage.name,
        ins=ins,
        partitions_def=UNIT_PARTITIONS,
        required_resource_keys={"workshop"},
        group_name=face.group,
        description=face.description,
        kinds={"python", "llm", "parquet"} if stage.prompts else {"python", "parquet"},
        owners=OWNERS,
        code_version=stage.code_version,
        tags={"asks_a_model": "yes" if stage.prompts else "no"},
    )
    async def materialize(context: dg.AssetExecutionContext, **values: Any) -> dg.MaterializeResult[Any]:
        recipe: Recipe = values.pop("recipe")
        refs = cast(dict[StageName, SnapshotRef], values)
        workshop: Workshop = context.resources.workshop
        unit = unit_of(context.partition_key, among=units(recipe))
        if workshop.report is None:
            workshop = replace(workshop, report=LoggedProgress(context.log.info))
        line = Line(plain, unit, recipe, workshop.at(unit.key, recipe=recipe), refs, later=_later(plain, context, workshop))
        with stopping_with_the_run():
            result = await told_in_one_sentence(line, waiting=lambda: _waiting(plain, context))
        for failure in result.ref.failures:
            context.log.warning(f"User {failure.user_id} was replaced at {failure.stage}: {failure.message}")
        if result.ref.users < result.wanted:
            context.log.warning(shortfall(result))
        return dg.MaterializeResult(
            value=result.ref, data_version=dg.DataVersion(result.ref.digest[:16]), metadata=metadata(result, face)
        )

    return materialize


def _later(stage: Stage[UserRecord], context: dg.AssetExecutionContext, workshop: Workshop) -> list[Stage[UserRecord]]:
    """The stages whose assets the same run materializes after this one."""
    steps = set(context.run.step_keys_to_execute or ())
    names = [one.name for one in workshop.stages]
    return [one for one in workshop.stages[names.index(stage.name) + 1 :] if one.name in steps] if stage.name in names else []


def _waiting(stage: Stage[UserRecord], context: dg.AssetExecutionContext) -> list[str]:
    """The other stages that this run has still to materialize."""
    found = context.instance.get_records_for_run(context.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    past = {stage.name, *(record.asset_key.path[-1] for record in found.records if record.asset_key)}
    steps = set(context.run.step_keys_to_execute or ()) - past
    return [name for name in get_args(StageName) if name in steps]


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


def metadata(result: StageResult, face: Face) -> dict[str, dg.MetadataValue | int | float | str]:
    """Counts, one row to read at a glance and a preview of more, cost in tokens."""
    usage = result.ref.usage.get(result.ref.stage, Usage())
    rows = [{"user": number, **row} for number, record in enumerate(result.preview, start=1) for row in face.rows(record)]
    return {
        "dagster/row_count": result.ref.users,
        "users": result.ref.users,
        "users_replaced": len(result.ref.failures),
        "example": dg.MetadataValue.md(example(rows)),
        "preview": dg.MetadataValue.md(markdown_table(rows[:PREVIEW_ROWS])),
        "calls": usage.calls,
        "calls_from_cache": result.meter.repeated,
        "reasked": usage.reasks,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        # What this materialization paid for. Dagster plots numbers over time; a word leaves a gap in the plot, not a zero.
        "cost_usd": "unknown" if result.meter.unpriced else round(result.meter.cost_usd, 6),
        "seconds": round(result.seconds, 2),
        "snapshot": result.ref.parts[0].path.rpartition("/")[0] if result.ref.parts else "",
    }


def example(rows: Sequence[Row]) -> str:
    """The first row, one line per field; short enough for Dagster to show it without a click."""
    lines = [f"**{name}** {_cell(value, limit=EXAMPLE_CELL)}" for name, value in rows[0].items()] if rows else ["no rows"]
    return "\n\n".join(lines)[:EXAMPLE_LIMIT]


def markdown_table(rows: Sequence[Row]) -> str:
    """Rows as a Markdown table with short cells."""
    if not rows:
        return "no rows"
    head = list(rows[0])
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines.extend(f"| {' | '.join(_cell(row.get(name)) for name in head)} |" for row in rows)
    return "\n".join(lines)


def _cell(value: object, *, limit: int = CELL_LIMIT) -> str:
    if isinstance(value, dict):
        pairs = cast(dict[str, object], value)
        value = ", ".join(f"{key} = {item}" for key, item in pairs.items())
    elif isinstance(value, (list, tuple)):
        value = ", ".join(str(item) for item in cast(Sequence[object], value))
    text = " ".join(str(value).split())
    text = text if len(text) <= limit else text[: limit - 3] + "..."
    # Text of personas and models is shown as it is: it must not end a cell, or load a picture from somewhere.
    return re.sub(r"([\\`*~|<>\[\]])", r"\\\1", text)
