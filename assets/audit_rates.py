"""What the audits of many users measured: error rates of the gates, recovery of items; with intervals over users."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from assets.records.audit import Decoy, Judgement, Recovery, UserAudit
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.records.gate import GateName, GateRecord

DIGITS = 6
DIRECTIONS: tuple[Recovery, ...] = ("state_from_answer", "answer_from_state")


class Outcome(NamedTuple):
    """One yes or no, and the user it is about."""

    user_id: str
    hit: bool


class GateErrorRate(Record):
    """How often a gate erred on decoys of one kind; an empty `kind` stands for all kinds.

    `readings` counts the calls that the decoys took, `errors` the decoys that the gate got wrong.
    """

    gate: GateName
    error: Literal["false_accept", "false_reject"]
    kind: str
    decoys: int
    errors: int
    readings: int
    share: Estimate


class RecoveryRate(Record):
    """How often judges recovered what was meant, in one direction: all users, or one user's question.

    The line over all users has neither user nor question. Only the first sample of an item counts: an item is asked
    again only where a judge missed it, so that later samples would bias the rate.
    """

    probe: Recovery
    user_id: str
    question_id: str
    items: int
    recovered: int
    cannot_tell: int
    share: Estimate


def gate_error_rates(audits: Iterable[UserAudit]) -> list[GateErrorRate]:
    """For each gate and error the rate over all decoys, then over each kind; sorted by gate, error and kind."""
    groups: dict[tuple[GateName, bool, str], list[tuple[str, Decoy]]] = {}
    for audit in audits:
        for decoy in audit.decoys:
            for kind in ("", decoy.kind):
                groups.setdefault((decoy.gate, decoy.right, kind), []).append((audit.user_id, decoy))
    return [
        GateErrorRate(
            gate=gate,
            error="false_reject" if right else "false_accept",
            kind=kind,
            decoys=len(decoys),
            errors=sum(decoy.accepted != decoy.right for _, decoy in decoys),
            readings=sum(decoy.readings for _, decoy in decoys),
            share=share_by_user(Outcome(user_id, decoy.accepted != decoy.right) for user_id, decoy in decoys),
        )
        for (gate, right, kind), decoys in sorted(groups.items())
    ]


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


def share_by_user(outcomes: Iterable[Outcome]) -> Estimate:
    """The share of hits with its 95 % interval; None where there is nothing to count, and no interval for a single user.

    Errors are rare, and a bootstrap of none at all would be certain of zero. So the interval is Wilson's, for the number
    of independent outcomes that would scatter between users as much as these do, with Student's t for the number of
    users (after Korn and Graubard 1998).
    """
    hits, sizes = Counter[str](), Counter[str]()
    for user_id, hit in outcomes:
        hits[user_id] += hit
        sizes[user_id] += 1
    if not sizes:
        return Estimate(value=None, low=None, high=None)
    share = hits.total() / sizes.total()
    if len(sizes) < 2:
        return Estimate(value=round(share, DIGITS), low=None, high=None)
    low, high = _wilson(share, _weight(hits, sizes))
    return Estimate(value=round(share, DIGITS), low=round(low, DIGITS), high=round(high, DIGITS))


def _weight(hits: Mapping[str, int], sizes: Counter[str]) -> float:
    """t squared over the effective number of outcomes."""
    from assets.intervals import CONFIDENCE, student  # brings numpy and scipy, and the definitions import this module

    total, users = sizes.total(), len(sizes)
    share = sum(hits.values()) / total
    scatter = users / (users - 1) * sum((hits[user] - share * size) ** 2 for user, size in sizes.items()) / total**2
    plain = share * (1 - share) / total
    effect = max(1.0, scatter / plain) if plain else 1.0
    return student((1 + CONFIDENCE) / 2, users - 1) ** 2 * effect / total


def _wilson(share: float, weight: float) -> tuple[float, float]:
    middle = (share + weight / 2) / (1 + weight)
    reach = (weight * (share * (1 - share) + weight / 4)) ** 0.5 / (1 + weight)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def calls_per_accepted_item(records: Iterable[tuple[str, GateRecord]]) -> dict[GateName, float]:
    """By gate, readings and rewritings per accepted item; each record comes with its user, those of an item in order.

    A text is rewritten for the gate that refused the one before. First drafts count for nothing.
    """
    calls, accepted = Counter[GateName](), dict[GateName, set[tuple[str, str]]]()
    before: dict[tuple[str, str], GateRecord] = {}
    for user_id, record in records:
        item = (user_id, record.item_id)
        calls[record.gate] += 1
        last = before.get(item)
        if last is not None and (last.draft, last.refinement) != (record.draft, record.refinement):
            calls[last.gate] += 1
        before[item] = record
        passed = accepted.setdefault(record.gate, set())
        if record.accepted:
            passed.add(item)
    return {gate: round(calls[gate] / len(passed), DIGITS) for gate, passed in sorted(accepted.items()) if passed}
