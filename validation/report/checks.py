"""The checks on a quality report that block a release: enough items, rules, columns of the released tables, and its limits."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.ports import VALUES
from assets.engine.provenance import ReportValue
from assets.engine.recipe_asset import current_recipe
from assets.recipe.loading import units
from assets.records.report import ColumnLine
from assets.reporting.asset_description import Row, markdown_table
from assets.reporting.plurals import counted
from validation.expectations.project import DATA_DOCS, project_folder
from validation.report.validation import Validation


def report_checks(validation: Validation) -> list[dg.AssetChecksDefinition]:
    """Return all checks on the report of a benchmark."""
    checks = [_quality_report_checks(validation), _recipe_check(validation.benchmark)]
    if validation.benchmark.tables:
        checks.append(_column_checks(validation))
    return checks


def _spec(validation: Validation, name: str, description: str) -> dg.AssetCheckSpec:
    asset = validation.benchmark.key("quality_report")
    partitions = validation.benchmark.partitions.by_variant
    return dg.AssetCheckSpec(name, asset=asset, blocking=True, partitions_def=partitions, description=description)


def _quality_report_checks(validation: Validation) -> dg.AssetChecksDefinition:
    benchmark = validation.benchmark
    noun = benchmark.noun
    own = validation.report.checks
    specs = [
        _spec(validation, f"all_{noun}s_finished", f"The variant has as many {noun}s as its recipe says."),
        _spec(validation, "rules_hold", "No blocking rule is broken in the finished set."),
    ]
    for check in own:
        specs.append(_spec(validation, check.name, check.description))

    @dg.multi_asset_check(
        name=benchmark.key("quality_report_checks"),
        specs=specs,
        ins={"report": dg.AssetIn(benchmark.key("quality_report"))},
    )
    def checks(report: Any) -> Iterator[dg.AssetCheckResult]:
        asset = benchmark.key("quality_report")
        replaced: list[str] = []
        for reason, count in report.replaced.items():
            replaced.append(f"{count} at {reason} ({report.replaced_because.get(reason, '')})")
        yield dg.AssetCheckResult(
            asset_key=asset,
            check_name=f"all_{noun}s_finished",
            passed=report.finished == report.wanted,
            metadata={f"{noun}s": report.finished, "wanted": report.wanted, "replaced": "; ".join(replaced)},
        )
        broken = [f"{line.stage}.{line.rule}" for line in report.rules if line.blocking and line.violations]
        yield dg.AssetCheckResult(asset_key=asset, check_name="rules_hold", passed=not broken, metadata={"broken": broken})
        for check in own:
            outcome = check.outcome(report)
            yield dg.AssetCheckResult(
                asset_key=asset,
                check_name=check.name,
                passed=outcome.passed,
                description=outcome.description,
                metadata=outcome.metadata,
            )

    return checks


def _recipe_check(benchmark: Benchmark) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=benchmark.key("quality_report"),
        name="made_from_one_recipe",
        blocking=True,
        partitions_def=benchmark.partitions.by_variant,
        required_resource_keys={VALUES},
        description="All rows were made under one recipe, and it is the one that the variant has.",
    )
    def made_from_one_recipe(context: dg.AssetCheckExecutionContext, value: ReportValue) -> dg.AssetCheckResult:
        provenance = value.provenance
        recipe = provenance.recipe
        problem = ""
        try:
            recipe = current_recipe(context, benchmark, recipe)
        except dg.Failure as failure:
            problem = failure.description or ""
        missing = {unit.key for unit in units(recipe)} - set(provenance.snapshots)
        if missing and not problem:
            problem = f"It lacks the work unit {min(missing)!r} of {recipe.variant!r}; materialize that partition."
        rows: list[Row] = []
        for unit, stages in provenance.snapshots.items():
            for name, ref in stages.items():
                rows.append({"unit": unit, "stage": name, "rows": ref.digest[:16], "code": ref.code_version})
        return dg.AssetCheckResult(
            passed=not problem,
            description=problem or f"All rows were made under the recipe {recipe.fingerprint}.",
            metadata={"recipe": recipe.fingerprint, "made_from": dg.MetadataValue.md(markdown_table(rows))},
        )

    return made_from_one_recipe


def _column_checks(validation: Validation) -> dg.AssetChecksDefinition:
    benchmark = validation.benchmark
    specs: list[dg.AssetCheckSpec] = []
    for table in benchmark.tables:
        description = f"The columns of the table {table} hold what is expected of them (Great Expectations)."
        specs.append(_spec(validation, f"{table}_columns", description))

    @dg.multi_asset_check(
        name=benchmark.key("column_checks"),
        specs=specs,
        ins={"report": dg.AssetIn(benchmark.key("quality_report"))},
        required_resource_keys={"reports"},
    )
    def checks(context: dg.AssetCheckExecutionContext, report: Any) -> Iterator[dg.AssetCheckResult]:
        """Yield one result per table; a table that was not validated does not pass."""
        data_docs = project_folder(context.resources.reports, report.variant) / DATA_DOCS
        lines: defaultdict[str, list[ColumnLine]] = defaultdict(list)
        for line in report.columns:
            lines[line.table].append(line)
        for table in benchmark.tables:
            yield table_result(table, lines[table], asset=benchmark.key("quality_report"), data_docs=data_docs)

    return checks


def table_result(table: str, lines: Sequence[ColumnLine], *, asset: str, data_docs: Path) -> dg.AssetCheckResult:
    """Return the result of a table's expectations: the broken ones with samples, then all, and a link to Data Docs."""
    broken = [line for line in lines if not line.ok]
    metadata: dict[str, Any] = {"rows": _rows(lines), "expectations": len(lines), "broken": len(broken)}
    if broken:
        samples: list[Row] = [{**_row(line), "such as": "; ".join(line.sample)} for line in broken]
        metadata["sample"] = dg.MetadataValue.md(markdown_table(samples))
    metadata["all"] = dg.MetadataValue.md(markdown_table(list(map(_row, lines))))
    metadata["data_docs"] = dg.PathMetadataValue(str(data_docs))
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=f"{table}_columns",
        passed=bool(lines) and not broken,
        description=_table_description(table, lines, broken),
        metadata=metadata,
    )


def _rows(lines: Sequence[ColumnLine]) -> int:
    return max(map(attrgetter("rows"), lines), default=0)


def _row(line: ColumnLine) -> Row:
    return {"column": line.column or "all", "expectation": line.expectation, "rows that break it": line.unexpected}


def _table_description(table: str, lines: Sequence[ColumnLine], broken: Sequence[ColumnLine]) -> str:
    if not lines:
        return f"The columns of {table} were not validated."
    if not broken:
        return f"All {len(lines)} expectations hold for {counted(_rows(lines), 'row')}."
    first = broken[0]
    return (
        f"{len(broken)} of {len(lines)} expectations are broken; the first: {first.column or table} {first.expectation}. "
        f"Not so in {first.unexpected} of {counted(first.rows, 'row')}, such as {'; '.join(first.sample[:1])}."
    )
