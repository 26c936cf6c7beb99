"""The quality report as an asset: a record, and a page to read."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from assets.audit_rates import GateErrorRate
from assets.chain import STAGES
from assets.partitions import VARIANT_PARTITIONS, by_unit
from assets.ports import BudgetReached
from assets.recipes import RecipeError
from assets.records.expectation import ColumnLine
from assets.records.recipe import Recipe
from assets.records.report import GateLine, QualityReport, WallLine
from assets.sampling import pool_counts, pool_files
from assets.stage import OWNERS, Row, disk_problem, markdown_table
from assets.workshop import Workshop
from validation.columns import column_lines
from validation.coverage import COLUMNS
from validation.finished import Finished, gather
from validation.report_page import write_page
from validation.report_words import shown


@dg.asset(
    name="quality_report",
    ins={
        "recipe": dg.AssetIn(),
        **{stage.name: dg.AssetIn(partition_mapping=by_unit(), metadata={"many": True}) for stage in STAGES},
    },
    partitions_def=VARIANT_PARTITIONS,
    required_resource_keys={"workshop", "reports"},
    group_name="release",
    owners=OWNERS,
    kinds={"python", "html"},
    description="How good the finished set is, as a record and a page: counts beside the paper's Table 4, rules, gates and how "
    "often they err, what can be guessed without memory. A release needs its blocking checks to pass.",
)
async def quality_report(context: dg.AssetExecutionContext, recipe: Recipe, **refs: Any) -> dg.MaterializeResult[Any]:
    """Gather the variant's units, report on them, and draw the page. Raises dg.Failure with one sentence."""
    workshop: Workshop = context.resources.workshop
    finished = await asyncio.to_thread(gather, workshop, recipe, refs, rules=True)
    columns = await asyncio.to_thread(
        column_lines, finished.episodes, votes=finished.gate_records, failures=finished.failures, recipe=recipe
    )
    report, problems = await report_on(finished, workshop, columns=columns)
    for problem in problems:
        context.log.warning(problem)
    try:
        page = write_page(report, context.resources.reports / f"{recipe.variant}.html")
    except OSError as error:
        raise dg.Failure(description=disk_problem(error), allow_retries=False) from error
    return dg.MaterializeResult(
        value=report, data_version=dg.DataVersion(report.sha256()[:16]), metadata=_metadata(report, page)
    )


async def report_on(
    finished: Finished, workshop: Workshop, *, columns: Sequence[ColumnLine] = ()
) -> tuple[QualityReport, list[str]]:
    """The report, and sentences about what had to be left out of it. Raises dg.Failure where the budget is used up."""
    # The page's and the wall's libraries take a second to import, which is not spent where the graph is only shown.
    from validation.diversity import compared, question_meanings
    from validation.report import make_report

    recipe, problems = finished.recipe, list[str]()
    embedder = None if workshop.open_embedder is None else workshop.open_embedder(recipe, recipe.variant)
    try:
        meanings = await question_meanings(compared(finished.episodes, recipe=recipe), embedder, recipe=recipe)
    except BudgetReached as error:
        raise dg.Failure(description=f"{error} Left to do: the quality report.", allow_retries=False) from error
    try:
        pool = await asyncio.to_thread(pool_counts, pool_files(recipe.pool), COLUMNS)
    except RecipeError as error:
        pool = None
        problems.append(f"The users are not compared with the pool: {error}")
    if meanings.problem:
        problems.append(f"Questions are compared by words only: {meanings.problem}")
    return await asyncio.to_thread(make_report, finished, meanings=meanings, pool=pool, columns=columns), problems


def _metadata(report: QualityReport, page: Path) -> dict[str, Any]:
    return {
        "users": report.users,
        "sessions": report.counts.get("sessions", 0),
        "golden_changes": report.golden_changes,
        "page": dg.PathMetadataValue(str(page)),
        **({} if report.ceiling is None else {"ceiling": report.ceiling.value}),
        "wall": _table([_wall_row(line) for line in report.wall]),
        "paper": _table([{"": line.what, "here": line.here, "base": line.base, "extra": line.extra} for line in report.parity]),
        "gates": _table([_gate_row(report, line) for line in report.gates]),
        "gate_errors": _table([_error_row(line) for line in report.gate_errors if not line.kind]),
    }


def _table(rows: list[Row]) -> dg.MarkdownMetadataValue:
    return dg.MetadataValue.md(markdown_table(rows))


def _wall_row(line: WallLine) -> Row:
    limit = "-" if line.verdict == "told" else f"{line.limit:.2f}"
    return {"without memory": line.cue, "right": shown(line.accuracy), "guess": f"{line.random:.2f}", "limit": limit}


def _gate_row(report: QualityReport, line: GateLine) -> Row:
    """Short heads: the panel that shows the table is narrow."""
    return {
        "gate": line.gate,
        "items": line.items,
        "at once": line.passed_at_once,
        "refined": line.passed_after_refining,
        "redrafted": line.passed_after_redrafting,
        "calls each": f"{report.calls_per_item.get(line.gate, 0):.2f}",
    }


def _error_row(line: GateErrorRate) -> Row:
    return {"gate": line.gate, "error": line.error.replace("_", " "), "rate": shown(line.share), "of": line.decoys}
