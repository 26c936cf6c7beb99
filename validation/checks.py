"""Asset checks, derived from the rules: one step per stage, one check per rule, passing rules report too."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.partitions import UNIT_PARTITIONS, by_variant
from assets.ports import SnapshotRef
from assets.records.base import UserRecord
from assets.records.recipe import Recipe
from assets.stage import Row, markdown_table
from assets.stage_kind import Stage
from assets.workshop import Workshop
from validation.rules import Outcome, apply_rules
from validation.stage_rules import RULES

SAMPLE_SIZE = 10


def stage_checks(stage: Stage[Any]) -> dg.AssetChecksDefinition:
    """All checks of one stage's asset."""
    rules = RULES[stage.name]
    specs = [
        dg.AssetCheckSpec(
            name=rule.name,
            asset=stage.name,
            description=rule.truth,
            blocking=rule.blocking,
            partitions_def=UNIT_PARTITIONS,
            additional_deps=[dg.AssetDep("recipe", partition_mapping=by_variant())],
        )
        for rule in rules
    ]

    @dg.multi_asset_check(
        name=f"{stage.name}_checks",
        specs=specs,
        ins={"ref": dg.AssetIn(stage.name), "recipe": dg.AssetIn("recipe")},
        required_resource_keys={"workshop"},
    )
    def checks(context: dg.AssetCheckExecutionContext, ref: SnapshotRef, recipe: Recipe) -> Iterator[dg.AssetCheckResult]:
        workshop: Workshop = context.resources.workshop
        rows: dict[int, UserRecord] = workshop.snapshots.read(ref, stage.name, record=stage.record)
        for outcome in apply_rules(rules, rows.values(), recipe=recipe):
            yield check_result(outcome, asset=stage.name)

    return checks


def check_result(outcome: Outcome, *, asset: str) -> dg.AssetCheckResult:
    """A rule's outcome as Dagster shows it, with a bounded sample of what is wrong."""
    sample: list[Row] = [{"user": one.user_id, "what": one.message} for one in outcome.violations[:SAMPLE_SIZE]]
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=outcome.rule.name,
        passed=outcome.passed,
        severity=dg.AssetCheckSeverity.ERROR if outcome.rule.blocking else dg.AssetCheckSeverity.WARN,
        description=told(outcome),
        metadata={
            "users": outcome.users,
            "violations": len(outcome.violations),
            **({"sample": dg.MetadataValue.md(markdown_table(sample))} if sample else {}),
        },
    )


def told(outcome: Outcome) -> str:
    """The result in a sentence; a rule that is broken comes with the first that breaks it."""
    if not outcome.violations:
        return f"Holds for all {outcome.users} users."
    first, broken = outcome.violations[0], len({one.user_id for one in outcome.violations})
    return f"{outcome.rule.truth} Not so for {broken} of {outcome.users} users; the first is {first.user_id}: {first.message}"
