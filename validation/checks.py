"""Asset checks derived from the rules: one step per stage, one check per rule. Rules that hold report too."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.engine.gc_control import pause_gc
from assets.engine.ports import RunContext, portions
from assets.engine.provenance import Provenance
from assets.engine.stage import Stage
from assets.engine.stage_asset import explain_disk_errors
from assets.records.base import ItemRecord
from assets.reporting.asset_description import Row, markdown_table
from assets.reporting.plurals import counted
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
    """All checks of one stage's asset, which is read with what it was made from, by the recipe that it was made under."""
    rules, noun, partitions = validation.rules[stage.name], validation.benchmark.noun, validation.benchmark.partitions
    read_by_rules = {name for rule in rules for name in rule.reads}
    others = [one for one in validation.benchmark.stages if one.name in read_by_rules]
    specs = [
        dg.AssetCheckSpec(
            name=rule.name,
            asset=stage.name,
            description=rule.truth,
            blocking=rule.blocking,
            partitions_def=partitions.by_unit,
        )
        for rule in rules
    ]

    @dg.multi_asset_check(
        name=f"{stage.name}_checks",
        specs=specs,
        ins={"provenance": dg.AssetIn(stage.name)},
        required_resource_keys={"run_context"},
    )
    def checks(context: dg.AssetCheckExecutionContext, provenance: Provenance) -> Iterator[dg.AssetCheckResult]:
        refs, recipe = provenance.snapshots[context.partition_key], provenance.recipe
        run_context: RunContext = context.resources.run_context
        own, snapshots, run = refs[stage.name], run_context.snapshots, RuleRun(rules, recipe=recipe, validated=True)
        with explain_disk_errors(), pause_gc():
            for positions in portions(own, snapshots=snapshots, at_once=ITEMS_AT_ONCE):
                rows: dict[int, ItemRecord] = snapshots.read(own, stage.name, record=stage.record, positions=positions)
                read_records: RecordsByStage = {one.name: records_of(one, refs, run_context, positions) for one in others}
                run.add(list(rows.values()), others=read_records)
        for outcome in run.outcomes():
            yield check_result(outcome, asset=stage.name, noun=noun)

    return checks


def check_result(outcome: RuleOutcome, *, asset: str, noun: str) -> dg.AssetCheckResult:
    """A rule's outcome as Dagster shows it, with a bounded sample of what is wrong."""
    sample: list[Row] = [{noun: one.item_id, "what": one.message} for one in outcome.violations[:SAMPLE_SIZE]]
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=outcome.rule.name,
        passed=outcome.passed,
        severity=dg.AssetCheckSeverity.ERROR if outcome.rule.blocking else dg.AssetCheckSeverity.WARN,
        description=outcome_description(outcome, noun=noun),
        metadata={
            f"{noun}s": outcome.items,
            "violations": outcome.count,
            **({"sample": dg.MetadataValue.md(markdown_table(sample))} if sample else {}),
        },
    )


def outcome_description(outcome: RuleOutcome, *, noun: str) -> str:
    """The outcome in a sentence, with the first violation."""
    if not outcome.violations:
        return f"Holds for all {counted(outcome.items, noun)}."
    first = outcome.violations[0]
    return (
        f"{outcome.rule.truth} Not so for {outcome.broken} of {counted(outcome.items, noun)}; "
        f"the first is {first.item_id}: {first.message}"
    )
