"""Measure what the gates let pass: how often they err on decoys, and queries that tell more than their labels."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assets.amemgym.records.audit import Decoy, UserAudit
from assets.amemgym.records.report import GateErrorRate, JudgeErrorRate, LeakLine
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import GateRecord
from assets.records.estimate import FEWEST_USERS, percent
from assets.reporting.plurals import counted
from assets.reporting.statistic import UserShare

CHANCE = 0.05  # how often a judge that guesses would seem to tell right from wrong


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


class LeakCounter:
    """Count the queries that tell more or less than they are labelled with, user by user."""

    def __init__(self) -> None:
        self._drafts = UserShare()
        self._accepted = UserShare()
        self._missed = UserShare()

    def add_votes(self, votes: Iterable[GateRecord]) -> None:
        """Take one user's votes: the first on each first draft says what drafts tell."""
        drafts = 0
        leaks = 0
        for vote in votes:
            if vote.gate == "exposure" and (vote.draft, vote.refinement, vote.vote) == (0, 0, 0):
                drafts += 1
                leaks += bool(vote.reading.keys() - vote.target.keys())
        self._drafts.add(leaks, drafts)

    def add_audit(self, audit: UserAudit) -> None:
        """Take one user's queries that were read again."""
        leaks = 0
        missed = 0
        for query in audit.queries:
            leaks += bool(query.leaked)
            missed += not query.recovered
        self._accepted.add(leaks, len(audit.queries))
        self._missed.add(missed, len(audit.queries))

    def line(self) -> LeakLine | None:
        """Return the line; None when no query was read again."""
        if not self._accepted.items:
            return None
        return LeakLine(
            drafts=self._drafts.estimate(),
            accepted=self._accepted.estimate(),
            missed=self._missed.estimate(),
            queries=self._accepted.items,
        )
