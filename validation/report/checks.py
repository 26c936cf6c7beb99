"""The checks on a quality report that block a release: enough items, rules, columns of the released tables, and its limits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.ports import AssetValues
from assets.engine.provenance import ReportValue
from assets.engine.recipe_asset import current_recipe
from assets.recipe.recipe import units
from assets.records.report import ColumnLine, RuleLine
from assets.reporting.asset_description import Row, markdown_table
from assets.reporting.plurals import counted
from validation.expectations.project import DATA_DOCS, project_folder
from validation.report.validation import Validation


def report_checks(validation: Validation) -> list[dg.AssetChecksDefinition]:
    """Return all checks on the report of a benchmark."""
    checks = [_quality_report_checks(validation), _recipe_check(validation.benchmark)]
    if validation.benchmark.tables:
        checks.append(_column_check(validation))
    return checks


def _spec(validation: Validation, name: str, description: str) -> dg.AssetCheckSpec:
    asset = validation.benchmark.asset_key("quality_report")
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
        name=benchmark.op("quality_report_checks"),
        specs=specs,
        ins={"report": dg.AssetIn(benchmark.asset_key("quality_report"))},
    )
    def checks(report: Any) -> Iterator[dg.AssetCheckResult]:
        replaced: list[str] = []
        for reason, count in report.replaced.items():
            replaced.append(f"{count} at {reason} ({report.replaced_because.get(reason, '')})")
        yield dg.AssetCheckResult(
            check_name=f"all_{noun}s_finished",
            passed=report.finished == report.wanted,
            description=f"{report.finished} of {counted(report.wanted, noun)} are finished; "
            f"{sum(report.replaced.values())} were given up.",
            metadata={f"{noun}s": report.finished, "wanted": report.wanted, "replaced": "; ".join(replaced)},
        )
        yield _rules_result(report.rules)
        for check in own:
            outcome = check.outcome(report)
            yield dg.AssetCheckResult(
                check_name=check.name,
                passed=outcome.passed,
                description=outcome.description,
                metadata=outcome.metadata,
            )

    return checks


def _rules_result(lines: Sequence[RuleLine]) -> dg.AssetCheckResult:
    blocking = [line for line in lines if line.blocking]
    broken = [line for line in lines if line.violations]
    blocked = [line for line in broken if line.blocking]
    stages = counted(len({line.stage for line in lines}), "stage")
    description = f"All {counted(len(blocking), 'blocking rule')} of {stages} hold."
    if blocked:
        first = blocked[0]
        description = f"{first.truth} Not so in {first.stage}: {'; '.join(first.examples[:1])}"
    metadata: dict[str, Any] = {
        "rules": len(blocking),
        "share_held": 1 - len(blocked) / len(blocking) if blocking else 1.0,
        "rules_of_advice": len(lines) - len(blocking),
    }
    if broken:
        rows: list[Row] = []
        for line in broken:
            rows.append(
                {
                    "rule": f"{line.stage}.{line.rule}",
                    "blocks": "yes" if line.blocking else "no",
                    "violations": line.violations,
                    "such as": "; ".join(line.examples[:1]),
                }
            )
        metadata["broken"] = dg.MetadataValue.md(markdown_table(rows))
    return dg.AssetCheckResult(check_name="rules_hold", passed=not blocked, description=description, metadata=metadata)


def _recipe_check(benchmark: Benchmark) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=benchmark.asset_key("quality_report"),
        name="made_from_one_recipe",
        blocking=True,
        partitions_def=benchmark.partitions.by_variant,
        description="All rows were made under one recipe, and it is the one that the variant has.",
    )
    def made_from_one_recipe(
        context: dg.AssetCheckExecutionContext, asset_values: dg.ResourceParam[AssetValues], value: ReportValue
    ) -> dg.AssetCheckResult:
        provenance = value.provenance
        recipe = provenance.recipe
        problem = ""
        try:
            recipe = current_recipe(context, benchmark, recipe, values=asset_values)
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


def _column_check(validation: Validation) -> dg.AssetChecksDefinition:
    benchmark = validation.benchmark

    @dg.asset_check(
        asset=benchmark.asset_key("quality_report"),
        name="table_columns",
        blocking=True,
        partitions_def=benchmark.partitions.by_variant,
        description="The columns of every released table hold what is expected of them (Great Expectations).",
    )
    def table_columns(reports: dg.ResourceParam[Path], report: Any) -> dg.AssetCheckResult:
        data_docs = project_folder(reports, report.variant) / DATA_DOCS
        return columns_result(benchmark.tables, report.columns, data_docs=data_docs)

    return table_columns


def columns_result(tables: Iterable[str], lines: Sequence[ColumnLine], *, data_docs: Path) -> dg.AssetCheckResult:
    """Return the result of all tables' expectations: counts, the broken ones with samples, and a link to Data Docs.

    A table that was not validated does not pass.
    """
    lines_by_table: dict[str, list[ColumnLine]] = {table: [] for table in tables}
    for line in lines:
        lines_by_table[line.table].append(line)
    broken = [line for line in lines if not line.ok]
    counts: list[Row] = []
    for table, own in lines_by_table.items():
        not_met = sum(not line.ok for line in own)
        counts.append({"table": table, "rows": _rows(own), "expectations": len(own), "broken": not_met})
    metadata: dict[str, Any] = {
        "rows": sum(map(_rows, lines_by_table.values())),
        "expectations": len(lines),
        "share_met": 1 - len(broken) / len(lines) if lines else 0.0,
        "tables": dg.MetadataValue.md(markdown_table(counts)),
    }
    if broken:
        samples: list[Row] = []
        for line in broken:
            column = f"{line.table}.{line.column}" if line.column else line.table
            samples.append(
                {
                    "column": column,
                    "expectation": line.expectation,
                    "rows that break it": line.unexpected,
                    "such as": "; ".join(line.sample),
                }
            )
        metadata["sample"] = dg.MetadataValue.md(markdown_table(samples))
    metadata["data_docs"] = dg.PathMetadataValue(str(data_docs))
    missing = [table for table, own in lines_by_table.items() if not own]
    return dg.AssetCheckResult(
        passed=not broken and not missing,
        description=_columns_description(lines_by_table, broken, missing),
        metadata=metadata,
    )


def _rows(lines: Sequence[ColumnLine]) -> int:
    return max(map(attrgetter("rows"), lines), default=0)


def _columns_description(
    lines_by_table: Mapping[str, Sequence[ColumnLine]], broken: Sequence[ColumnLine], missing: Sequence[str]
) -> str:
    total = sum(map(len, lines_by_table.values()))
    if broken:
        first = broken[0]
        return (
            f"{len(broken)} of {total} expectations are broken; the first: {first.column or 'all columns'} of {first.table} "
            f"{first.expectation}. Not so in {first.unexpected} of {counted(first.rows, 'row')}, such as "
            f"{'; '.join(first.sample[:1])}."
        )
    if missing:
        return f"The columns of {', '.join(missing)} were not validated."
    rows = counted(sum(map(_rows, lines_by_table.values())), "row")
    return f"All {total} expectations hold for {rows} of {counted(len(lines_by_table), 'table')}."
