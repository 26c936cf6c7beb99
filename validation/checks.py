"""Asset checks derived from the rules: one step per stage, one check per rule, or for several that say one thing."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import dagster as dg

from assets.engine.materialization import explain_failures
from assets.engine.ports import RunContext, portions
from assets.engine.provenance import Provenance
from assets.engine.stage import Stage
from assets.records.base import ItemRecord
from assets.reporting.asset_description import Row, markdown_table
from assets.reporting.plurals import counted, is_or_are
from validation.finished_items import ITEMS_AT_ONCE, records_of, records_of_item
from validation.report.checks import report_checks
from validation.report.validation import Validation
from validation.rules import RecordsByStage, Rule, RuleOutcome, RuleRun

SAMPLE_SIZE = 10  # of the violations, to see a pattern; their number stands beside it


def benchmark_checks(validation: Validation) -> list[dg.AssetChecksDefinition]:
    """Return all checks of a benchmark's stages, of its quality report and of what its items are drawn from."""
    checks: list[dg.AssetChecksDefinition] = []
    for stage in validation.benchmark.stages:
        if validation.rules.get(stage.name):
            checks.append(stage_checks(stage, validation))
    checks += report_checks(validation)
    if validation.source_check is not None:
        checks.append(validation.source_check)
    return checks


def stage_checks(stage: Stage[Any], validation: Validation) -> dg.AssetChecksDefinition:
    """Return all checks of one stage's asset. They apply the recipe that its rows were made under."""
    rules = validation.rules[stage.name]
    benchmark = validation.benchmark
    read_by_rules: set[str] = set()
    rules_by_check: dict[str, list[Rule]] = {}
    for rule in rules:
        read_by_rules.update(rule.reads)
        rules_by_check.setdefault(rule.check or rule.name, []).append(rule)
    specs: list[dg.AssetCheckSpec] = []
    for name, together in rules_by_check.items():
        spec = dg.AssetCheckSpec(
            name,
            asset=benchmark.asset_key(stage.name),
            description=" ".join([rule.truth for rule in together]),
            blocking=any(rule.blocking for rule in together),
            partitions_def=benchmark.partitions.by_unit,
        )
        specs.append(spec)
    others = [other for other in benchmark.stages if other.name in read_by_rules]

    @dg.multi_asset_check(
        name=benchmark.op(f"{stage.name}_checks"),
        specs=specs,
        ins={"provenance": dg.AssetIn(benchmark.asset_key(stage.name))},
    )
    def checks(
        context: dg.AssetCheckExecutionContext, run_context: dg.ResourceParam[RunContext], provenance: Provenance
    ) -> Iterator[dg.AssetCheckResult]:
        refs = provenance.snapshots[context.partition_key]
        own = refs[stage.name]
        snapshots = run_context.snapshots
        run = RuleRun(rules, recipe=provenance.recipe, validated=True)
        with explain_failures():
            for positions in portions(own, snapshots=snapshots, at_once=ITEMS_AT_ONCE):
                rows: dict[int, ItemRecord] = snapshots.read(own, stage.name, record=stage.record, positions=positions)
                read_records: RecordsByStage = {other.name: records_of(other, refs, run_context, positions) for other in others}
                for row in rows.values():
                    run.add(row, others=records_of_item(row.item_id, read_records))
        outcomes = {outcome.rule.name: outcome for outcome in run.outcomes()}
        for name, together in rules_by_check.items():
            found = [outcomes[rule.name] for rule in together]
            yield rules_check_result(name, found, asset=stage.name, noun=benchmark.noun)

    return checks


def rules_check_result(check: str, outcomes: Sequence[RuleOutcome], *, asset: str, noun: str) -> dg.AssetCheckResult:
    """Return the outcomes of a check's rules, at least one, as Dagster shows them, with a bounded sample of what is wrong."""
    items = outcomes[0].items
    broken = [outcome for outcome in outcomes if not outcome.passed]
    looked_at = dict.fromkeys([asset, *chain.from_iterable([outcome.rule.reads for outcome in outcomes])])
    worst = max([outcome.broken for outcome in outcomes])
    metadata: dict[str, Any] = {
        "looked_at": ", ".join(looked_at),
        f"{noun}s": items,
        # Of several rules, of the one that most items break.
        "share_without_fault": 1 - worst / items if items else 1.0,
    }
    if broken:
        first = broken[0].violations[0]
        metadata["violations"] = sum([outcome.count for outcome in broken])
        metadata["example"] = f"{first.item_id}: {first.message}"
        metadata["sample"] = dg.MetadataValue.md(markdown_table(_sample(broken, noun=noun)))
    if len(outcomes) > 1:
        rows: list[Row] = []
        for outcome in outcomes:
            rows.append({"rule": outcome.rule.truth, f"{noun}s that break it": outcome.broken})
        metadata["rules"] = dg.MetadataValue.md(markdown_table(rows))
    blocks = any(outcome.rule.blocking for outcome in broken or outcomes)
    return dg.AssetCheckResult(
        check_name=check,
        passed=not broken,
        severity=dg.AssetCheckSeverity.ERROR if blocks else dg.AssetCheckSeverity.WARN,
        description=outcome_description(outcomes, noun=noun),
        metadata=metadata,
    )


def _sample(broken: Sequence[RuleOutcome], *, noun: str) -> list[Row]:
    rows: list[Row] = []
    for outcome in broken:
        for violation in outcome.violations[:SAMPLE_SIZE]:
            rows.append({noun: violation.item_id, "what": violation.message})
    return rows


def outcome_description(outcomes: Sequence[RuleOutcome], *, noun: str) -> str:
    """Return the outcomes of a check's rules in a sentence, with the first violation."""
    items = counted(outcomes[0].items, noun)
    broken = [outcome for outcome in outcomes if not outcome.passed]
    if not broken:
        each = items if outcomes[0].items == 1 else f"all {items}"
        return f"Holds for {each}." if len(outcomes) == 1 else f"All {len(outcomes)} rules hold for {each}."
    first = broken[0].violations[0]
    sentence = f"{broken[0].rule.truth} Not so for {broken[0].broken} of {items}; the first is {first.item_id}: {first.message}"
    others = len(broken) - 1
    return f"{sentence}. {others} more of its {len(outcomes)} rules {is_or_are(others)} broken." if others else sentence
