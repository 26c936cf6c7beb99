"""The quality report as an asset: a record, and a page to read."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from assets.engine.cancellation import stop_with_run
from assets.engine.gc_control import pause_gc
from assets.engine.ports import VALUES, RunContext
from assets.engine.progress import Steps, heartbeat
from assets.engine.provenance import MANY, Provenance, ReportValue
from assets.engine.recipe_asset import current_recipe
from assets.engine.stage_asset import disk_error_message, made_from_one_recipe
from assets.llm.ports import BudgetReached
from assets.records.report import BenchmarkReport, RuleLine
from assets.reporting.definition_metadata import OWNERS, definition
from assets.reporting.materialization import page_link, with_details
from validation.benchmark import Validation
from validation.expectations.project import DATA_DOCS, SuiteError, project_folder
from validation.expectations.validate import ExpectationRun
from validation.finished_items import FinishedItems, ReportedItems
from validation.report.builder import SharedLines
from validation.report.page import problems, write_report_page
from validation.rules import Rule, RuleRun

RULE_EXAMPLES = 5
# Of a report's figures, what is looked at first, and plotted.
APART = ("users", "ceiling", "rules_broken", "shortcuts_beyond_limit", "shortcut_baselines", "gates", "auroc", "ablation")


def report_asset(validation: Validation) -> dg.AssetsDefinition:
    """The asset of a benchmark's quality report."""
    benchmark, spec = validation.benchmark, validation.report

    @dg.asset(
        name=benchmark.key("quality_report"),
        ins={
            stage.name: dg.AssetIn(partition_mapping=benchmark.partitions.units_to_variant, metadata=MANY)
            for stage in benchmark.leaves
        },
        partitions_def=benchmark.partitions.by_variant,
        required_resource_keys={"run_context", "reports", VALUES},
        io_manager_key=VALUES,
        group_name=benchmark.group("release"),
        owners=OWNERS,
        kinds={"python", "html"},
        tags=spec.tags,
        description=spec.description,
        metadata=definition(None, *spec.sources, ExpectationRun.add, write_report_page),
    )
    async def quality_report(
        context: dg.AssetExecutionContext, **values: Mapping[str, Provenance]
    ) -> dg.MaterializeResult[Any]:
        """Read the variant's units, report on them, and write the page. Raises dg.Failure with one sentence."""
        run_context: RunContext = context.resources.run_context
        provenance = made_from_one_recipe(
            {f"{name} of {unit}": part for name, units in values.items() for unit, part in units.items()}
        )
        recipe = current_recipe(context, benchmark, provenance.recipe)
        steps = Steps(f"The report on {recipe.variant}")
        # Nothing else runs in a process that has come to its report. So nothing here goes to a thread, where the signal of a
        # cancelled run would not reach it.
        with heartbeat(context.log.info, steps.line):
            finished = FinishedItems(run_context, recipe, provenance.by_stage, benchmark)
            project = project_folder(context.resources.reports, recipe.variant)
            try:
                report, left_out = await report_on(finished, validation, project=project, on_step=steps.begin)
                for sentence in left_out:
                    context.log.warning(sentence)
                steps.begin("writing the page")
                page = write_report_page(report, spec.render, context.resources.reports / f"{recipe.variant}.html")
            except SuiteError as error:
                raise dg.Failure(description=str(error), allow_retries=False) from error
            except OSError as error:
                raise dg.Failure(description=disk_error_message(error), allow_retries=False) from error
        blocking = problems(report)
        files = {"page_on_disk": str(page), **({"data_docs": str(project / DATA_DOCS)} if benchmark.tables else {})}
        return dg.MaterializeResult(
            value=ReportValue(provenance=provenance.model_copy(update={"recipe": recipe}), report=report),
            data_version=dg.DataVersion(report.sha256()[:16]),
            metadata={
                "page": page_link("reports", page.name),
                "release": "blocked" if blocking else "may be made",
                **({"problems": dg.MetadataValue.md("\n".join(f"- {one}" for one in blocking))} if blocking else {}),
                **with_details({**spec.metadata(report), **files}, apart=APART),
            },
        )

    return quality_report


async def report_on(
    finished: ReportedItems, validation: Validation, *, project: Path, on_step: Callable[[str], None] = lambda _: None
) -> tuple[BenchmarkReport, list[str]]:
    """The report, and sentences about what had to be left out of it. `project`: where Great Expectations' files go.

    Raises dg.Failure where the budget is used up, SuiteError for a suite that cannot be used, OSError from the disk.
    """
    recipe, benchmark, left_out = finished.recipe, validation.benchmark, list[str]()
    failed = [failure.item_id for failure in finished.failures()]
    builder = validation.report.builder(recipe, items=finished.count, benchmark=benchmark)
    rules = {
        stage: RuleRun(_rules(finished, validation, stage), recipe=recipe, validated=finished.validated)
        for stage in benchmark.stage_names
        if stage in finished.stages
    }
    columns = ExpectationRun(benchmark, validation.expectations, recipe, project=project, failed=failed)
    with pause_gc():
        for number, portion in enumerate(finished.portions()):
            first = number * finished.items_at_once
            on_step(f"{benchmark.noun} {first} and later of {finished.count}: rules, columns, figures")
            for stage, records in portion.items():
                rules[stage].add(list(records.values()), others=portion)
            builder.add(portion)
            for item in portion[benchmark.final.name]:
                columns.add(portion, item)
    on_step("computing figures over the whole set")
    shared = SharedLines(
        rules=tuple(line for stage, run in rules.items() for line in _rule_lines(stage, run)),
        columns=tuple(columns.lines(finished.failures())),
        failures=tuple(finished.failures()),
    )
    try:
        async with stop_with_run():
            report = await builder.report(shared, run_context=finished.run_context, problems=left_out)
    except BudgetReached as error:
        raise dg.Failure(description=f"{error} Left to do: the quality report.", allow_retries=False) from error
    return report, left_out


def _rules(finished: ReportedItems, validation: Validation, stage: str) -> list[Rule]:
    """A stage's rules, but for those that look at what the set does not have."""
    rules = validation.rules.get(stage, ())
    return [
        rule for rule in rules if set(rule.reads) <= set(finished.stages) and (stage in finished.voted or not rule.of_votes)
    ]


def _rule_lines(stage: str, run: RuleRun) -> Iterator[RuleLine]:
    for outcome in run.outcomes():
        yield RuleLine(
            stage=stage,
            rule=outcome.rule.name,
            truth=outcome.rule.truth,
            blocking=outcome.rule.blocking,
            users=outcome.items,
            violations=outcome.count,
            examples=tuple(f"{one.item_id}: {one.message}" for one in outcome.violations[:RULE_EXAMPLES]),
        )
