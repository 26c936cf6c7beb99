"""Asset checks derived from the rules: one step per stage, one check per rule. Rules that hold report too."""

from collections.abc import Iterator
from typing import Any, cast

import dagster as dg

from assets.engine.gc_control import pause_gc
from assets.engine.ports import SnapshotRef, portions
from assets.engine.run_context import RunContext
from assets.engine.stage import Stage
from assets.recipe.partitions import UNIT_PARTITIONS, by_variant, variant_of
from assets.recipe.recipe import Recipe
from assets.records.base import UserRecord
from assets.reporting.asset_description import Row, markdown_table
from validation.benchmark import Validation
from validation.finished_items import ITEMS_AT_ONCE, records_of
from validation.report.checks import report_checks
from validation.rules import RecordsByStage, RuleOutcome, RuleRun

SAMPLE_SIZE = 10


def benchmark_checks(validation: Validation) -> list[dg.AssetChecksDefinition]:
    """All checks of a benchmark's stages and of its quality report."""
    stages = [stage for stage in validation.benchmark.stages if validation.rules.get(stage.name)]
    return [*(stage_checks(stage, validation) for stage in stages), *report_checks(validation)]


def stage_checks(stage: Stage[Any], validation: Validation) -> dg.AssetChecksDefinition:
    """All checks of one stage's asset, which is read with the stages that it needs and those that its rules read."""
    rules, noun, recipe_key = validation.rules[stage.name], validation.benchmark.noun, validation.benchmark.key("recipe")
    read_by_rules = {name for rule in rules for name in rule.reads}
    others = [one for one in validation.benchmark.stages if one.name in read_by_rules or one in stage.needs]
    specs = [
        dg.AssetCheckSpec(
            name=rule.name,
            asset=stage.name,
            description=rule.truth,
            blocking=rule.blocking,
            partitions_def=UNIT_PARTITIONS,
            additional_deps=[dg.AssetDep(recipe_key, partition_mapping=by_variant()), *(one.name for one in others)],
        )
        for rule in rules
    ]

    @dg.multi_asset_check(
        name=f"{stage.name}_checks",
        specs=specs,
        ins={one.name: dg.AssetIn() for one in (stage, *others)},
        required_resource_keys={"run_context", "io_manager"},
    )
    def checks(context: dg.AssetCheckExecutionContext, **values: Any) -> Iterator[dg.AssetCheckResult]:
        refs = cast(dict[str, SnapshotRef], values)
        # A check's input takes no partition mapping, and a work unit's key is not its variant's.
        recipe: Recipe = context.resources.io_manager.find(recipe_key, variant_of(context.partition_key))
        run_context: RunContext = context.resources.run_context
        own, snapshots, run = refs[stage.name], run_context.snapshots, RuleRun(rules, recipe=recipe, validated=True)
        with pause_gc():
            for positions in portions(own, snapshots=snapshots, at_once=ITEMS_AT_ONCE):
                rows: dict[int, UserRecord] = snapshots.read(own, stage.name, record=stage.record, positions=positions)
                read_records: RecordsByStage = {
                    one.name: records_of(one, refs, run_context, positions) for one in others if one.name in read_by_rules
                }
                run.add(list(rows.values()), others=read_records)
        for outcome in run.outcomes():
            yield check_result(outcome, asset=stage.name, noun=noun)

    return checks


def check_result(outcome: RuleOutcome, *, asset: str, noun: str) -> dg.AssetCheckResult:
    """A rule's outcome as Dagster shows it, with a bounded sample of what is wrong."""
    sample: list[Row] = [{noun: one.user_id, "what": one.message} for one in outcome.violations[:SAMPLE_SIZE]]
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=outcome.rule.name,
        passed=outcome.passed,
        severity=dg.AssetCheckSeverity.ERROR if outcome.rule.blocking else dg.AssetCheckSeverity.WARN,
        description=outcome_description(outcome, noun=noun),
        metadata={
            f"{noun}s": outcome.users,
            "violations": outcome.count,
            **({"sample": dg.MetadataValue.md(markdown_table(sample))} if sample else {}),
        },
    )


def outcome_description(outcome: RuleOutcome, *, noun: str) -> str:
    """The outcome in a sentence, with the first violation."""
    if not outcome.violations:
        return f"Holds for all {outcome.users} {noun}s."
    first = outcome.violations[0]
    return (
        f"{outcome.rule.truth} Not so for {outcome.broken} of {outcome.users} {noun}s; "
        f"the first is {first.user_id}: {first.message}"
    )
