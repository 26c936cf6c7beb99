"""The checks on the quality report that block a release."""

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg

from assets.amemgym.records.report import QualityReport, ShortcutLine
from assets.recipe.partitions import VARIANT_PARTITIONS
from assets.records.estimate import shown
from assets.reporting.markdown import Row, markdown_table

MOST_CROSSED = 3


def _spec(name: str, description: str) -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(
        name, asset="quality_report", blocking=True, partitions_def=VARIANT_PARTITIONS, description=description
    )


@dg.multi_asset_check(
    name="quality_report_checks",
    specs=[
        _spec("all_users_finished", "The variant has as many users as its recipe says."),
        _spec("rules_hold", "No blocking rule is broken in the finished set."),
        _spec("wall_holds", "No way to answer without memory gets further than the recipe's margins allow."),
    ],
    ins={"report": dg.AssetIn("quality_report")},
)
def quality_report_checks(report: QualityReport) -> Iterator[dg.AssetCheckResult]:
    """What blocks a release."""
    yield _result(
        "all_users_finished",
        report.users == report.users_wanted,
        metadata={"users": report.users, "wanted": report.users_wanted, "replaced": dict(report.replaced)},
    )
    broken = [f"{line.stage}.{line.rule}" for line in report.rules if line.blocking and line.violations]
    yield _result("rules_hold", not broken, metadata={"broken": broken})
    yield _wall_result(report)


def _result(name: str, passed: bool, *, metadata: Mapping[str, Any], description: str | None = None) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key="quality_report", check_name=name, passed=passed, metadata=metadata, description=description
    )


def _wall_result(report: QualityReport) -> dg.AssetCheckResult:
    worst: list[Row] = [
        {"without memory": line.cue, "user": item.user_id, "question": item.query, "option": item.text}
        for line in report.crossed
        for item in line.worst
    ]
    return _result(
        "wall_holds",
        not report.crossed,
        description=wall_told(report),
        metadata={"lines": len(report.wall), **({"worst": dg.MetadataValue.md(markdown_table(worst))} if worst else {})},
    )


def wall_told(report: QualityReport) -> str:
    """The wall in a few sentences; what crosses it comes with the question that gives itself away most."""
    if not report.crossed:
        return "Holds: nothing measured gets further without memory than it may."
    told = [_told(line) for line in report.crossed[:MOST_CROSSED]]
    more = len(report.crossed) - len(told)
    return " ".join([*told, *([f"{more} more lines are crossed."] if more else [])])


def _told(line: ShortcutLine) -> str:
    first = line.worst[0] if line.worst else None
    item = f" Worst: user {first.user_id}, {first.question_id}, {first.query!r}, option {first.text!r}." if first else ""
    return (
        f"{line.cue!r} ({line.meaning}) is right {shown(line.accuracy)} of the time, where a guess is {line.random:.2f} "
        f"and the limit {line.limit:.2f}.{item}"
    )
