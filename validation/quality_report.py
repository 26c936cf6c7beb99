"""The same rules over the finished set, and its counts beside the paper's, as one record and one asset."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from assets.answers import ANSWERS
from assets.episodes import EPISODES
from assets.partitions import VARIANT_PARTITIONS, by_unit
from assets.ports import SnapshotRef
from assets.records.answer import AnswerSet
from assets.records.episode import Episode
from assets.records.failure import Failure
from assets.records.gate import GateRecord
from assets.records.recipe import Recipe
from assets.records.report import GateLine, QualityReport, RuleLine
from assets.records.session import SessionSet
from assets.session_queries import SESSION_QUERIES
from assets.stage import OWNERS, Row, markdown_table
from assets.workshop import Workshop
from validation.facts import LABELS, PAPER_COUNTS, FactCounter
from validation.rules import apply_rules
from validation.stage_rules import RULES


@dataclass(frozen=True)
class Finished:
    """A variant's finished users: their episodes, and what the gates saw."""

    recipe: Recipe
    episodes: tuple[Episode, ...]
    gate_records: tuple[tuple[str, GateRecord], ...]
    failures: tuple[Failure, ...]


def gather(workshop: Workshop, recipe: Recipe, refs: Mapping[str, Mapping[str, SnapshotRef]]) -> Finished:
    """Read a variant's units back. `refs` maps stage to unit to snapshot, for episodes, session_queries and answers."""
    episodes = tuple(_records(workshop, refs["episodes"], EPISODES))
    finished = {episode.user_id for episode in episodes}
    sessions: list[SessionSet] = [
        one for one in _records(workshop, refs["session_queries"], SESSION_QUERIES) if one.user_id in finished
    ]
    answers: list[AnswerSet] = [one for one in _records(workshop, refs["answers"], ANSWERS) if one.user_id in finished]
    # A replacement that joined at the very end is carried by the episodes' snapshot only.
    carried = [
        *_carried(workshop, refs["episodes"], SESSION_QUERIES, {one.user_id for one in sessions}),
        *_carried(workshop, refs["episodes"], ANSWERS, {one.user_id for one in answers}),
    ]
    records = tuple((one.user_id, record) for one in [*sessions, *answers, *carried] for record in one.gate_records)
    failures = tuple(failure for _, ref in sorted(refs["episodes"].items()) for failure in ref.failures)
    return Finished(recipe, episodes, records, failures)


def _records(workshop: Workshop, refs: Mapping[str, SnapshotRef], stage: Any) -> Iterator[Any]:
    for _, ref in sorted(refs.items()):
        yield from workshop.snapshots.read(ref, stage.name, record=stage.record).values()


def _carried(workshop: Workshop, refs: Mapping[str, SnapshotRef], stage: Any, known: set[str]) -> list[Any]:
    return [
        one
        for ref in refs.values()
        if stage.name in {part.stage for part in ref.parts}
        for one in workshop.snapshots.read(ref, stage.name, record=stage.record).values()
        if one.user_id not in known
    ]


def make_report(finished: Finished) -> QualityReport:
    """Compute the report; it asks no model."""
    counter = FactCounter()
    for episode in finished.episodes:
        counter.add(episode)
    facts = counter.facts(failures=finished.failures)
    return QualityReport(
        variant=finished.recipe.variant,
        users_wanted=finished.recipe.num_users,
        counts={"users": 0, **facts.counts},
        lengths=facts.lengths,
        turns_per_user=facts.turns_per_user,
        golden_changes=_golden_changes(finished.episodes),
        replaced={f"{stage}: {reason}": count for (stage, reason), count in facts.failures.items()},
        gates=tuple(_gate_lines(finished.gate_records)),
        rules=tuple(_rule_lines(finished)),
    )


def _golden_changes(episodes: Sequence[Episode]) -> float:
    steps = [
        before != after
        for episode in episodes
        for question in episode.questions
        for before, after in zip(question.golden, question.golden[1:], strict=False)
    ]
    return round(sum(steps) / max(1, len(steps)), 4)


def _gate_lines(records: Sequence[tuple[str, GateRecord]]) -> Iterator[GateLine]:
    for gate in sorted({record.gate for _, record in records}):
        last: dict[tuple[str, str], GateRecord] = {}
        for user_id, record in records:
            if record.gate == gate and record.accepted:
                last[user_id, record.item_id] = record
        yield GateLine(
            gate=gate,
            items=len(last),
            readings=sum(record.gate == gate for _, record in records),
            passed_at_once=sum(record.draft == 0 and record.refinement == 0 for record in last.values()),
            passed_after_refining=sum(record.draft == 0 and record.refinement > 0 for record in last.values()),
            passed_after_redrafting=sum(record.draft > 0 for record in last.values()),
        )


def _rule_lines(finished: Finished) -> Iterator[RuleLine]:
    for outcome in apply_rules(RULES["episodes"], finished.episodes, recipe=finished.recipe):
        yield RuleLine(
            stage="episodes",
            rule=outcome.rule.name,
            truth=outcome.rule.truth,
            blocking=outcome.rule.blocking,
            users=outcome.users,
            violations=len(outcome.violations),
        )


def _beside_the_paper(report: QualityReport) -> list[Row]:
    ours = {**report.counts, "turns_per_user": report.turns_per_user}
    return [
        {"what": LABELS[name], "here": ours[name], "paper, base": base, "paper, extra": extra}
        for name, (base, extra) in PAPER_COUNTS.items()
    ]


@dg.asset(
    name="quality_report",
    ins={
        "recipe": dg.AssetIn(),
        **{
            name: dg.AssetIn(partition_mapping=by_unit(), metadata={"many": True})
            for name in ("episodes", "session_queries", "answers")
        },
    },
    partitions_def=VARIANT_PARTITIONS,
    required_resource_keys={"workshop"},
    group_name="release",
    owners=OWNERS,
    kinds={"python"},
    description="What the finished set contains and how good it is: counts beside the paper's Table 4, lengths, gates, rules, "
    "and who had to be replaced. A release is built only from a set whose blocking checks pass.",
)
def quality_report(context: dg.AssetExecutionContext, recipe: Recipe, **refs: Any) -> dg.MaterializeResult[Any]:
    """Gather the variant's units and report on them."""
    report = make_report(gather(context.resources.workshop, recipe, refs))
    return dg.MaterializeResult(
        value=report,
        data_version=dg.DataVersion(report.sha256()[:16]),
        metadata={
            "users": report.users,
            "sessions": report.counts["sessions"],
            "golden_changes": report.golden_changes,
            "counts": dg.MetadataValue.md(markdown_table(_beside_the_paper(report))),
            "gates": dg.MetadataValue.md(markdown_table([line.model_dump() for line in report.gates])),
        },
    )


@dg.multi_asset_check(
    name="quality_report_checks",
    specs=[
        dg.AssetCheckSpec(
            "all_users_finished",
            asset="quality_report",
            blocking=True,
            partitions_def=VARIANT_PARTITIONS,
            description="The variant has as many users as its recipe says.",
        ),
        dg.AssetCheckSpec(
            "rules_hold",
            asset="quality_report",
            blocking=True,
            partitions_def=VARIANT_PARTITIONS,
            description="No blocking rule is broken in the finished set.",
        ),
    ],
    ins={"report": dg.AssetIn("quality_report")},
)
def quality_report_checks(report: QualityReport) -> Iterator[dg.AssetCheckResult]:
    """What blocks a release."""
    yield dg.AssetCheckResult(
        asset_key="quality_report",
        check_name="all_users_finished",
        passed=report.users == report.users_wanted,
        metadata={"users": report.users, "wanted": report.users_wanted, "replaced": dict(report.replaced)},
    )
    broken = [line.rule for line in report.rules if line.blocking and line.violations]
    yield dg.AssetCheckResult(
        asset_key="quality_report", check_name="rules_hold", passed=not broken, metadata={"broken": broken}
    )
