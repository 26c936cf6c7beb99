"""The quality report as an asset: a record, and a page to read."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import dagster as dg

from assets.engine.cancellation import stop_with_run
from assets.engine.materialization import explain_failures, page_link, with_details
from assets.engine.ports import VALUES, AssetValues, RunContext
from assets.engine.progress import Steps, heartbeat
from assets.engine.provenance import MANY, REPORT_VALUE, Provenance, ReportValue
from assets.engine.recipe_asset import current_recipe
from assets.engine.stage_asset import made_from_one_recipe, named_parts
from assets.llm.ports import BudgetReached
from assets.records.report import BenchmarkReport, RuleLine
from assets.reporting.definition_metadata import OWNERS, definition
from assets.reporting.plurals import counted
from assets.reporting.verdict import verdict_on
from validation.expectations.project import DATA_DOCS, SuiteError, project_folder
from validation.expectations.validate import ExpectationRun
from validation.finished_items import ITEMS_AT_ONCE, FinishedItems, ReportedItems
from validation.report.builder import SharedLines
from validation.report.page import write_page
from validation.report.validation import Validation
from validation.rules import Rule, RuleOutcome, RuleRun

RULE_EXAMPLES = 5  # of the violations, to see a pattern; their number stands beside it
LEFT_OUT = "left_out"  # of its metadata: sentences about what could not be found this time
# The figures that are looked at first, and plotted over time; the others stand below them.
APART = ("users", "ceiling", "rules_broken", "shortcuts_beyond_limit", "auroc")


def report_asset(validation: Validation) -> dg.AssetsDefinition:
    """Return the asset of a benchmark's quality report."""
    benchmark = validation.benchmark
    spec = validation.report
    every_unit = dg.AssetIn(key_prefix=benchmark.name, partition_mapping=benchmark.partitions.units_to_variant, metadata=MANY)

    @dg.asset(
        name=benchmark.key("quality_report"),
        key_prefix=benchmark.name,
        ins={stage.name: every_unit for stage in benchmark.leaves},
        partitions_def=benchmark.partitions.by_variant,
        io_manager_key=VALUES,
        group_name=benchmark.group("release"),
        owners=OWNERS,
        kinds={"html"},
        tags=spec.tags,
        description=spec.description,
        metadata=definition(None, *spec.sources, ExpectationRun.add, write_page),
        dagster_type=REPORT_VALUE,
    )
    async def quality_report(
        context: dg.AssetExecutionContext,
        run_context: dg.ResourceParam[RunContext],
        reports: dg.ResourceParam[Path],
        asset_values: dg.ResourceParam[AssetValues],
        **values: Mapping[str, Provenance],
    ) -> AsyncIterator[dg.MaterializeResult[Any]]:
        """Read the variant's units, report on them, and write the page. Raises dg.Failure with one sentence."""
        provenance = made_from_one_recipe(named_parts(values))
        recipe = current_recipe(context, benchmark, provenance.recipe, values=asset_values)
        steps = Steps(f"{recipe.variant}: quality_report", tell=run_context.report_step)
        # Nothing else runs in a process that has come to its report. So nothing here goes to a thread, where the signal of a
        # cancelled run would not reach it.
        with explain_failures(SuiteError), heartbeat(context.log.info, steps.line):
            finished = FinishedItems(run_context, recipe, provenance.by_stage, benchmark)
            project = project_folder(reports, recipe.variant)
            report, left_out = await report_on(finished, validation, project=project, on_step=steps.begin)
            for sentence in left_out:
                context.log.warning(sentence)
            steps.begin("writing the page")
            page = write_page(spec.render(report), reports / f"{recipe.variant}.html")
        steps.end(counted(finished.count, benchmark.noun))
        details: dict[str, Any] = {**spec.metadata(report), "page_on_disk": str(page)}
        if benchmark.tables:
            details["data_docs"] = str(project / DATA_DOCS)
        yield dg.MaterializeResult(
            value=ReportValue(provenance=provenance.model_copy(update={"recipe": recipe}), report=report),
            data_version=dg.DataVersion(report.sha256()[:16]),
            metadata={**_verdict_metadata(report, page, left_out), **with_details(details, apart=APART)},
        )

    return quality_report


def _verdict_metadata(report: BenchmarkReport, page: Path, left_out: Sequence[str]) -> dict[str, Any]:
    """Return the report's address and verdict, and what is left out of it."""
    verdict = verdict_on(report)
    metadata: dict[str, Any] = {"page": page_link("reports", page.name), "verdict": verdict.words}
    if left_out:
        metadata[LEFT_OUT] = " ".join(left_out)
    if verdict.reasons:
        metadata["reasons"] = dg.MetadataValue.md("\n".join([f"- {reason}" for reason in verdict.reasons]))
    return metadata


async def report_on(
    finished: ReportedItems, validation: Validation, *, project: Path, on_step: Callable[[str], None] = lambda _: None
) -> tuple[BenchmarkReport, list[str]]:
    """Return the report, and sentences about what is left out of it. `project`: the folder of Great Expectations' files.

    Raises dg.Failure when the budget is used up, SuiteError for a suite that cannot be used, OSError from the disk.
    """
    recipe = finished.recipe
    benchmark = validation.benchmark
    failures = tuple(finished.failures())
    failed = list(map(attrgetter("item_id"), failures))
    builder = validation.report.builder(recipe, items=finished.count, benchmark=benchmark)
    rules: dict[str, RuleRun] = {}
    for stage in benchmark.stage_names:
        if stage in finished.stages:
            rules[stage] = RuleRun(_rules(finished, validation, stage), recipe=recipe, validated=finished.validated)
    columns = ExpectationRun(benchmark, validation.expectations, recipe, project=project, failed=failed)
    for number, records in enumerate(finished.items()):
        if number % ITEMS_AT_ONCE == 0:
            on_step(f"from {benchmark.noun} {number + 1} of {finished.count}: rules, columns, figures")
        for stage, record in records.items():
            rules[stage].add(record, others=records)
        builder.add(records)
        columns.add(records)
    on_step("computing figures over the whole set")
    rule_lines: list[RuleLine] = []
    for stage, run in rules.items():
        rule_lines += map(partial(_rule_line, stage), run.outcomes())
    shared = SharedLines(rules=tuple(rule_lines), columns=tuple(columns.lines(failures)), failures=failures)
    left_out: list[str] = []
    try:
        async with stop_with_run():
            report = await builder.report(shared, run_context=finished.run_context, problems=left_out)
    except BudgetReached as error:
        raise dg.Failure(description=f"{error} Left to do: the quality report.", allow_retries=False) from error
    return report, left_out


def _rules(finished: ReportedItems, validation: Validation, stage: str) -> list[Rule]:
    """Return a stage's rules, without those that read records or votes that the set does not have."""
    applicable: list[Rule] = []
    for rule in validation.rules.get(stage, ()):
        has_records = set(rule.reads) <= set(finished.stages)
        has_votes = stage in finished.voted_stages or not rule.of_votes
        if has_records and has_votes:
            applicable.append(rule)
    return applicable


def _rule_line(stage: str, outcome: RuleOutcome) -> RuleLine:
    return RuleLine(
        stage=stage,
        rule=outcome.rule.name,
        truth=outcome.rule.truth,
        blocking=outcome.rule.blocking,
        users=outcome.items,
        violations=outcome.count,
        examples=tuple([f"{violation.item_id}: {violation.message}" for violation in outcome.violations[:RULE_EXAMPLES]]),
    )
