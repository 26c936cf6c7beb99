"""The quality report as an asset: a record, and a page to read."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dagster as dg

from assets.amemgym.personas.sampling import pool_counts, pool_files
from assets.amemgym.pipeline import STAGES
from assets.amemgym.records.report import QualityReport
from assets.engine.cancellation import stop_with_run
from assets.engine.gc_control import collector_at_rest
from assets.engine.progress import Steps, heartbeat
from assets.engine.run_context import RunContext
from assets.engine.stage_asset import disk_error_message
from assets.llm.ports import BudgetReached
from assets.recipe.loading import RecipeError
from assets.recipe.partitions import VARIANT_PARTITIONS, by_unit
from assets.recipe.recipe import Recipe
from assets.reporting.asset_description import OWNERS, definition, group
from validation.amemgym.report.coverage import COLUMNS
from validation.amemgym.report.finished_users import Finished, users_of
from validation.expectations.validate import ColumnLook
from validation.report.metadata import report_metadata
from validation.report.page import write_page
from validation.report.rule_lines import RuleCounter

if TYPE_CHECKING:
    from validation.amemgym.report.build import Pool, ReportBuilder
    from validation.amemgym.report.diversity import Embeddings


@dg.asset(
    name="quality_report",
    ins={
        "recipe": dg.AssetIn(),
        **{stage.name: dg.AssetIn(partition_mapping=by_unit(), metadata={"many": True}) for stage in STAGES},
    },
    partitions_def=VARIANT_PARTITIONS,
    required_resource_keys={"run_context", "reports"},
    group_name=group("release"),
    owners=OWNERS,
    kinds={"python", "html"},
    tags={"asks_a_model": "yes", "paper": "C.1"},
    description="How good the finished set is, as a record and a page: counts beside the paper's (Table 4, App. C.1), rules, "
    "gates and how often they err, what can be guessed without memory. A release needs its blocking checks to pass.",
    metadata=definition(QualityReport, users_of, ColumnLook.add, write_page),
)
async def quality_report(context: dg.AssetExecutionContext, recipe: Recipe, **refs: Any) -> dg.MaterializeResult[Any]:
    """Gather the variant's units, report on them, and draw the page. Raises dg.Failure with one sentence."""
    run_context: RunContext = context.resources.run_context
    steps = Steps(f"The report on {recipe.variant}")
    # Nothing else is under way in a run that has come to its report. So nothing here goes to a thread, where the signal of a
    # cancelled run would not reach it.
    with heartbeat(context.log.info, steps.line):
        report, problems = await report_on(Finished(run_context, recipe, refs), tell=steps.begin)
        for problem in problems:
            context.log.warning(problem)
        steps.begin("drawing the page")
        try:
            page = write_page(report, context.resources.reports / f"{recipe.variant}.html")
        except OSError as error:
            raise dg.Failure(description=disk_error_message(error), allow_retries=False) from error
    return dg.MaterializeResult(
        value=report, data_version=dg.DataVersion(report.sha256()[:16]), metadata=report_metadata(report, page)
    )


async def report_on(finished: Finished, *, tell: Callable[[str], None] = lambda _: None) -> tuple[QualityReport, list[str]]:
    """The report, and sentences about what had to be left out of it. Raises dg.Failure where the budget is used up."""
    # numpy and what needs it take a second to import, which is not spent where the graph is only shown.
    from validation.amemgym.report.build import MeasuredElsewhere, ReportBuilder

    recipe, problems = finished.recipe, list[str]()
    failed = [failure.user_id for failure in finished.failures()]
    builder, rules, columns = (
        ReportBuilder(recipe, users=finished.count),
        RuleCounter(recipe),
        ColumnLook(recipe, failed=failed),
    )
    with collector_at_rest():
        for number, portion in enumerate(finished.portions()):
            tell(f"user {number * finished.users_at_once} and later of {finished.count}: rules, columns, figures")
            for stage in portion:
                rules.add(stage, portion)
            for user in users_of(portion):
                builder.add(user)
                columns.add(user)
    tell("comparing questions and computing intervals")
    measured = MeasuredElsewhere(
        failures=finished.failures(),
        rules=rules.lines(),
        columns=columns.lines(finished.failures()),
        embeddings=await _embeddings(finished, builder, problems),
        pool=_pool(recipe, problems),
    )
    return builder.report(measured), problems


async def _embeddings(finished: Finished, builder: "ReportBuilder", problems: list[str]) -> "Embeddings":
    from validation.amemgym.report.diversity import question_embeddings

    run_context, recipe = finished.run_context, finished.recipe
    embedder = None if run_context.open_embedder is None else run_context.open_embedder(recipe, recipe.variant)
    try:
        async with stop_with_run():
            embeddings = await question_embeddings(builder.compared(), embedder, recipe=recipe)
    except BudgetReached as error:
        raise dg.Failure(description=f"{error} Left to do: the quality report.", allow_retries=False) from error
    if embeddings.problem:
        problems.append(f"Questions are compared by words only: {embeddings.problem}")
    return embeddings


def _pool(recipe: Recipe, problems: list[str]) -> "Pool | None":
    try:
        return pool_counts(pool_files(recipe.pool), COLUMNS)
    except RecipeError as error:
        problems.append(f"The users are not compared with the pool: {error}")
        return None
