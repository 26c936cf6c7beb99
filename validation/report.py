"""From the finished users to the quality report; asks no model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from assets.audit_rates import calls_per_accepted_item, gate_error_rates
from assets.records.episode import Episode
from assets.records.expectation import ColumnLine
from assets.records.gate import GateRecord
from assets.records.report import GateLine, QualityReport
from validation.balance import motion, place_lines
from validation.coverage import coverage
from validation.diversity import Meanings, compared, diversity, shared_name
from validation.facts import FactCounter
from validation.finished import Finished
from validation.parity import parity_lines
from validation.recovery import ceiling, recovery_lines
from validation.wall import build_wall

Pool = Mapping[str, Iterable[tuple[object, int]]]


def make_report(
    finished: Finished, *, meanings: Meanings | None = None, pool: Pool | None = None, columns: Sequence[ColumnLine] = ()
) -> QualityReport:
    """Compute the report. `pool`: each demographic column's values with how many of the pool have them, if it is there."""
    recipe, episodes, audits = finished.recipe, finished.episodes, finished.audits
    counter = FactCounter()
    for episode in episodes:
        counter.add(episode)
    facts = counter.facts(failures=finished.failures)
    return QualityReport(
        variant=recipe.variant,
        writer=shared_name(recipe.models.writer.model),
        judges=tuple(map(shared_name, recipe.models.judge.panel)),
        users_wanted=recipe.num_users,
        counts=facts.counts,
        lengths=facts.lengths,
        turns_per_user=facts.turns_per_user,
        golden_changes=_golden_changes(episodes),
        replaced={f"{stage}: {reason}": count for (stage, reason), count in facts.failures.items()},
        gates=tuple(_gate_lines(finished.gate_records)),
        rules=finished.rules,
        parity=tuple(parity_lines(facts, episodes)),
        columns=tuple(columns),
        gate_errors=tuple(gate_error_rates(audits)),
        calls_per_item={str(gate): calls for gate, calls in calls_per_accepted_item(finished.gate_records).items()},
        wall=build_wall(episodes, audits, recipe=recipe),
        recovery=tuple(recovery_lines(audits, episodes)),
        ceiling=ceiling(audits, episodes),
        motion=motion(episodes),
        places=tuple(place_lines(episodes)),
        diversity=diversity(compared(episodes, recipe=recipe), meanings or Meanings(), recipe=recipe),
        coverage=() if pool is None else tuple(coverage(finished.personas, pool, recipe=recipe)),
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
