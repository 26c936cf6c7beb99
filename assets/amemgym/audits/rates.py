"""What the audits of many users measured: error rates of the gates, recovery of items; with intervals over users."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from assets.amemgym.records.audit import (
    Decoy,
    GateErrorRate,
    JudgeErrorRate,
    Judgement,
    Recovery,
    RecoveryRate,
    UserAudit,
)
from assets.records.base import GateRecord
from assets.reporting.user_share import Outcome, UserShare, share_by_user

DIGITS = 6
DIRECTIONS: tuple[Recovery, ...] = ("state_from_answer", "answer_from_state")


@dataclass
class DecoyCount:
    """Decoys of one kind, the readings that they took, and the errors among them by user."""

    readings: int = 0
    errors: UserShare = field(default_factory=UserShare)


class GateErrors:
    """How often gates and single readings err, counted while the audits pass by."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, bool, str], DecoyCount] = defaultdict(DecoyCount)
        self._readings: defaultdict[tuple[str, bool], UserShare] = defaultdict(UserShare)

    def add(self, audit: UserAudit) -> None:
        """Count the decoys of one user: items by the texts they have, and texts by their kind."""
        groups: defaultdict[tuple[str, bool, str], defaultdict[int, list[Decoy]]] = defaultdict(lambda: defaultdict(list))
        for number, decoy in enumerate(audit.decoys):
            groups[decoy.gate, decoy.right, ""][decoy.item].append(decoy)
            groups[decoy.gate, decoy.right, decoy.kind][number].append(decoy)
        for key, items in groups.items():
            count = self._counts[key]
            count.readings += sum(sum(decoy.readings.values()) for decoys in items.values() for decoy in decoys)
            count.errors.add(sum(any(one.accepted != one.right for one in own) for own in items.values()), len(items))
        for (gate, right), (errors, readings) in _reading_errors(audit.decoys).items():
            self._readings[gate, right].add(errors, readings)

    def rates(self) -> Iterator[GateErrorRate]:
        """For each gate and error the rate of whole items, then of texts of each kind; sorted by gate, error and kind."""
        for (gate, right, kind), count in sorted(self._counts.items(), key=lambda item: item[0]):
            yield GateErrorRate(
                gate=gate,
                error="false_reject" if right else "false_accept",
                kind=kind,
                decoys=count.errors.items,
                errors=count.errors.hits,
                readings=count.readings,
                share=count.errors.estimate(),
            )

    def of_readings(self) -> Iterator[JudgeErrorRate]:
        """For each gate and error the rate over all readings of decoys."""
        for (gate, right), share in sorted(self._readings.items()):
            yield JudgeErrorRate(
                gate=gate,
                error="false_reject" if right else "false_accept",
                readings=share.items,
                errors=share.hits,
                share=share.estimate(),
            )


def _reading_errors(decoys: Iterable[Decoy]) -> dict[tuple[str, bool], tuple[int, int]]:
    """By gate and whether labels are right: readings that erred, and all readings."""
    counts: dict[tuple[str, bool], tuple[int, int]] = {}
    for decoy in decoys:
        for gate, readings in decoy.readings.items():
            errors, whole = counts.get((gate, decoy.right), (0, 0))
            accepting = decoy.accepting[gate]
            counts[gate, decoy.right] = errors + (readings - accepting if decoy.right else accepting), whole + readings
    return counts


def gate_error_rates(audits: Iterable[UserAudit]) -> list[GateErrorRate]:
    errors = GateErrors()
    for audit in audits:
        errors.add(audit)
    return list(errors.rates())


def recovery_rates(audits: Iterable[UserAudit]) -> list[RecoveryRate]:
    """For each direction the rate over all users, then that of each user's question, in the order met."""
    first: dict[Recovery, list[tuple[str, Judgement]]] = {direction: [] for direction in DIRECTIONS}
    for audit in audits:
        for judgement in audit.judgements:
            if judgement.probe in first and judgement.sample == 0:
                first[judgement.probe].append((audit.user_id, judgement))
    return [line for direction in DIRECTIONS if first[direction] for line in _lines(direction, first[direction])]


def _lines(direction: Recovery, judged: Sequence[tuple[str, Judgement]]) -> list[RecoveryRate]:
    groups: dict[tuple[str, str], list[tuple[str, Judgement]]] = {("", ""): list(judged)}
    for user_id, judgement in judged:
        groups.setdefault((user_id, judgement.question_id), []).append((user_id, judgement))
    return [
        RecoveryRate(
            probe=direction,
            user_id=user_id,
            question_id=question_id,
            items=len(group),
            recovered=sum(one.chosen == one.expected for _, one in group),
            cannot_tell=sum(one.chosen is None for _, one in group),
            share=share_by_user(Outcome(user, one.chosen == one.expected) for user, one in group),
        )
        for (user_id, question_id), group in groups.items()
    ]


class GateCalls:
    """By gate, readings and rewritings per accepted item, counted while the users pass by.

    A text is rewritten for the gate that refused the one before. First drafts count for nothing.
    """

    def __init__(self) -> None:
        self._calls, self._accepted = Counter[str](), Counter[str]()

    def add(self, records: Iterable[GateRecord]) -> None:
        """Take one user's votes, those of an item in order."""
        before: dict[str, GateRecord] = {}
        accepted: set[tuple[str, str]] = set()
        for record in records:
            self._calls[record.gate] += 1
            last = before.get(record.item_id)
            if last is not None and (last.draft, last.refinement) != (record.draft, record.refinement):
                self._calls[last.gate] += 1
            before[record.item_id] = record
            if record.accepted:
                accepted.add((record.gate, record.item_id))
        self._accepted.update(gate for gate, _ in accepted)

    def per_item(self) -> dict[str, float]:
        """Calls per accepted item, of the gates that accepted any."""
        return {gate: round(self._calls[gate] / count, DIGITS) for gate, count in sorted(self._accepted.items())}
