"""The column contracts of the released tables as asset checks of the quality report, whose lines they are: one per table."""

from collections.abc import Iterator

import dagster as dg

from assets.amemgym.records.report import QualityReport
from assets.amemgym.records.rows import TABLES, TableName
from assets.recipe.partitions import VARIANT_PARTITIONS
from assets.records.report import ColumnLine
from assets.reporting.markdown import Row, markdown_table


@dg.multi_asset_check(
    name="column_checks",
    specs=[
        dg.AssetCheckSpec(
            f"{table}_columns",
            asset="quality_report",
            blocking=True,
            partitions_def=VARIANT_PARTITIONS,
            description=f"The columns of the table {table} hold what the release promises of them (Great Expectations).",
        )
        for table in TABLES
    ],
    ins={"report": dg.AssetIn("quality_report")},
)
def column_checks(report: QualityReport) -> Iterator[dg.AssetCheckResult]:
    """One result per table; a table that was not looked at does not pass."""
    for table in TABLES:
        yield table_result(table, [line for line in report.columns if line.table == table])


def table_result(table: TableName, lines: list[ColumnLine]) -> dg.AssetCheckResult:
    """A table's promises as Dagster shows them: the broken ones with samples, then all that were looked at."""
    broken = [line for line in lines if not line.ok]
    samples: list[Row] = [_row(line) | {"such as": "; ".join(line.sample)} for line in broken]
    return dg.AssetCheckResult(
        asset_key="quality_report",
        check_name=f"{table}_columns",
        passed=bool(lines) and not broken,
        description=_told(table, lines, broken),
        metadata={
            "rows": max((line.rows for line in lines), default=0),
            "promises": len(lines),
            "broken": len(broken),
            **({"sample": dg.MetadataValue.md(markdown_table(samples))} if samples else {}),
            "all": dg.MetadataValue.md(markdown_table([_row(line) for line in lines])),
        },
    )


def _row(line: ColumnLine) -> Row:
    return {"column": line.column or "all", "promise": line.promise, "rows that break it": line.unexpected}


def _told(table: TableName, lines: list[ColumnLine], broken: list[ColumnLine]) -> str:
    if not lines:
        return f"The columns of {table} were not looked at."
    if not broken:
        return f"All {len(lines)} promises hold for {max(line.rows for line in lines)} rows."
    first = broken[0]
    return (
        f"{len(broken)} of {len(lines)} promises are broken; the first: {first.column or table} {first.promise}. "
        f"Not so in {first.unexpected} of {first.rows} rows, such as {'; '.join(first.sample[:1])}."
    )
