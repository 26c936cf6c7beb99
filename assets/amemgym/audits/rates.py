"""Rates over the audits of many users: errors of the gates and recovery of items, with intervals over users."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assets.amemgym.records.audit import (
    Decoy,
    GateErrorRate,
    JudgeErrorRate,
    Recovery,
    RecoveryRate,
    UserAudit,
)
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import GateRecord
from assets.records.estimate import FEWEST_USERS, percent
from assets.reporting.plurals import counted
from assets.reporting.statistic import UserShare

DIGITS = 6
CHANCE = 0.05  # how often a judge that guesses would seem to tell right from wrong
DIRECTIONS: tuple[Recovery, ...] = ("state_from_answer", "answer_from_state")


@dataclass
class DecoyCount:
    """Decoys of one kind, the readings that they took, and the errors among them by user."""

    readings: int = 0
    errors: UserShare = field(default_factory=UserShare)


class GateErrors:
    """Counts of the errors of gates and of single readings, taken while the audits pass by."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, bool, str], DecoyCount] = defaultdict(DecoyCount)
        self._readings: defaultdict[tuple[str, bool], UserShare] = defaultdict(UserShare)

    def add(self, audit: UserAudit) -> None:
        """Count the decoys of one user: items by the texts they have, and texts by their kind."""
        # Whether each item, or each text, came out wrong; an item does when any of its texts does.
        outcomes: defaultdict[tuple[str, bool, str], dict[int, bool]] = defaultdict(dict)
        for number, decoy in enumerate(audit.decoys):
            wrong = decoy.accepted != decoy.right
            readings = sum(decoy.readings.values())
            for kind, item in (("", decoy.item), (decoy.kind, number)):
                key = (decoy.gate, decoy.right, kind)
                outcomes[key][item] = outcomes[key].get(item, False) or wrong
                self._counts[key].readings += readings
        for key, items in outcomes.items():
            self._counts[key].errors.add(sum(items.values()), len(items))
        for (gate, right), (errors, readings) in _reading_errors(audit.decoys).items():
            self._readings[gate, right].add(errors, readings)

    def rates(self) -> Iterator[GateErrorRate]:
        """Yield for each gate and error the rate of whole items, then of texts of each kind; sorted by gate, error and kind."""
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
        """Yield for each gate and error the rate over the first readings of decoys."""
        for (gate, right), share in sorted(self._readings.items()):
            yield JudgeErrorRate(
                gate=gate,
                error="false_reject" if right else "false_accept",
                readings=share.items,
                errors=share.hits,
                share=share.estimate(),
            )


def _reading_errors(decoys: Iterable[Decoy]) -> dict[tuple[str, bool], tuple[int, int]]:
    """Return by gate, and whether labels are right, the first readings that erred and all first readings."""
    counts: dict[tuple[str, bool], tuple[int, int]] = {}
    for decoy in decoys:
        for gate, accepted in decoy.first_readings.items():
            errors, total = counts.get((gate, decoy.right), (0, 0))
            counts[gate, decoy.right] = (errors + (accepted != decoy.right), total + 1)
    return counts


def unfit_judges(readings: Iterable[JudgeErrorRate], *, judges: Iterable[str]) -> str:
    """Say that the judges cannot judge: at no gate do they accept right labels more often than wrong ones. "" where they do."""
    read: defaultdict[str, dict[str, JudgeErrorRate]] = defaultdict(dict)
    for line in readings:
        read[line.gate][line.error] = line
    told: list[str] = []
    for gate, lines in sorted(read.items()):
        if len(lines) < 2:
            continue
        right = lines["false_reject"]
        wrong = lines["false_accept"]
        accepted = right.readings - right.errors
        if not _at_chance(accepted, right.readings, wrong.errors, wrong.readings):
            return ""
        told.append(f"{gate} {accepted} of {right.readings} and {wrong.errors} of {wrong.readings}")
    if not told:
        return ""
    return (
        f"There is no verdict of judges: {', '.join(judges)} cannot tell a right label of these texts from a wrong one. It "
        f"accepts, by gate, of right and of wrong labels: {'; '.join(told)}. Name a stronger judge with --model. If that one "
        "fails too, the labels are not what the texts say."
    )


def _at_chance(accepted: int, right: int, accepted_wrong: int, wrong: int) -> bool:
    """Return True where right ones are accepted no more often than wrong ones, or as chance would (Fisher's exact test).

    Of so few that even a faultless judge could not show it, the second is not asked.
    """
    if accepted * wrong <= accepted_wrong * right:
        return True
    both = accepted + accepted_wrong
    ways = sum(math.comb(right, count) * math.comb(wrong, both - count) for count in range(accepted, min(right, both) + 1))
    can_show = 1 / math.comb(right + wrong, right) < CHANCE
    return can_show and ways / math.comb(right + wrong, both) >= CHANCE


def decoys_sentence(recipe: AMemGymRecipe) -> str:
    """Say how many decoys there are and the least that they can show; "" where there are none."""
    decoys = recipe.num_decoys
    users = recipe.num_users
    if not recipe.audit.enabled or not decoys:
        return ""
    share = UserShare(users, items=users * decoys, items_squared=users * decoys**2)
    bound = share.estimate().high
    drawn = f"Each user has {counted(decoys, 'wrong item')} at every gate"
    if bound is None:
        return f"{drawn}; fewer than {FEWEST_USERS} users cannot show how often such items are accepted."
    return (
        f"{drawn}, {users * decoys} in all: if none is accepted, that shows a rate below {percent(bound)} (95 % confidence). "
        "More users show less."
    )


def gate_error_rates(audits: Iterable[UserAudit]) -> list[GateErrorRate]:
    errors = GateErrors()
    for audit in audits:
        errors.add(audit)
    return list(errors.rates())


@dataclass
class RecoveryCount:
    """First readings of some items: how many users' were recovered, and those among them in which the judge could not tell."""

    recovered: UserShare = field(default_factory=UserShare)
    cannot_tell: int = 0


def recovery_rates(audits: Iterable[UserAudit]) -> list[RecoveryRate]:
    """Return for each direction the rate over all users, then that of each user's question, in the order met."""
    counts: dict[Recovery, defaultdict[tuple[str, str], RecoveryCount]] = {
        direction: defaultdict(RecoveryCount) for direction in DIRECTIONS
    }
    for audit in audits:
        found: defaultdict[tuple[Recovery, str], list[bool]] = defaultdict(list)
        for judgement in audit.judgements:
            # Only items that a judge missed are read again, so later samples would bias the rate.
            if judgement.probe not in counts or judgement.sample > 0:
                continue
            for question in ("", judgement.question_id):
                found[judgement.probe, question].append(judgement.chosen == judgement.expected)
                key = (audit.user_id if question else "", question)
                counts[judgement.probe][key].cannot_tell += judgement.chosen is None
        for (direction, question), hits in found.items():
            key = (audit.user_id if question else "", question)
            counts[direction][key].recovered.add(sum(hits), len(hits))
    rates: list[RecoveryRate] = []
    for direction, by_question in counts.items():
        for (user_id, question_id), count in by_question.items():
            rate = RecoveryRate(
                probe=direction,
                user_id=user_id,
                question_id=question_id,
                items=count.recovered.items,
                recovered=count.recovered.hits,
                cannot_tell=count.cannot_tell,
                share=count.recovered.estimate(),
            )
            rates.append(rate)
    return rates


class GateCalls:
    """Readings and rewritings per accepted item by gate, counted while the users pass by.

    A text is rewritten for the gate that refused the one before. First drafts count for nothing.
    """

    def __init__(self) -> None:
        self._calls = Counter[str]()
        self._accepted = Counter[str]()

    def add(self, records: Iterable[GateRecord]) -> None:
        """Count one user's votes, those of an item in order."""
        before: dict[str, GateRecord] = {}
        accepted: set[tuple[str, str]] = set()  # an item counts once, however many votes accept it
        for record in records:
            self._calls[record.gate] += 1
            last = before.get(record.item_id)
            if last is not None and (last.draft, last.refinement) != (record.draft, record.refinement):
                self._calls[last.gate] += 1
            before[record.item_id] = record
            if record.accepted and (record.gate, record.item_id) not in accepted:
                accepted.add((record.gate, record.item_id))
                self._accepted[record.gate] += 1

    def per_item(self) -> dict[str, float]:
        """Return the calls per accepted item, of the gates that accepted any."""
        return {gate: round(self._calls[gate] / count, DIGITS) for gate, count in sorted(self._accepted.items())}
