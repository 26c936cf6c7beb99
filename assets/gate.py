"""Draft, judge, refine: a text is kept only when independent readings of it recover what it should tell (section 3.1)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from assets.records.failure import UserFailed
from assets.records.gate import GateName, GateRecord
from assets.records.recipe import GatePolicy


@dataclass(frozen=True)
class Trial:
    """Which try a judgement belongs to; it seeds the order of options and the sample number."""

    draft: int
    refinement: int
    vote: int

    @property
    def number(self) -> int:
        """A number unique to the trial within its item."""
        return (self.draft * 100 + self.refinement) * 100 + self.vote


@dataclass(frozen=True)
class Gate:
    """One text's gate. `judge` returns what it reads ("" where it cannot tell), `refine` gets the last reading."""

    name: GateName
    item_id: str
    target: dict[str, str]
    judge: Callable[[str, Trial], Awaitable[dict[str, str]]]
    refine: Callable[[str, dict[str, str], Trial], Awaitable[str]]
    redraft: Callable[[int], Awaitable[str]]


async def pass_gate(gate: Gate, text: str, *, policy: GatePolicy) -> tuple[str, list[GateRecord]]:
    """Return the accepted text and every vote on the way.

    Refines at most `max_refinements` times with what the judge read, then starts over from a new draft at most
    `max_redrafts` times. Raises UserFailed when all is used up.
    """
    records: list[GateRecord] = []
    for draft in range(policy.max_redrafts + 1):
        if draft:
            text = await gate.redraft(draft)
        for refinement in range(policy.max_refinements + 1):
            votes = await _vote(gate, text, draft=draft, refinement=refinement, policy=policy)
            records.extend(votes)
            if sum(vote.accepted for vote in votes) >= policy.votes_needed:
                return text, records
            if refinement < policy.max_refinements:
                last = Trial(draft, refinement, 0)
                text = await gate.refine(text, next(v.reading for v in reversed(votes) if not v.accepted), last)
    raise UserFailed("gate_exhausted", _exhausted(gate, records), last_reply=text, gate_records=records)


async def _vote(gate: Gate, text: str, *, draft: int, refinement: int, policy: GatePolicy) -> list[GateRecord]:
    votes: list[GateRecord] = []
    for number in range(policy.votes):
        reading = await gate.judge(text, Trial(draft, refinement, number))
        votes.append(
            GateRecord(
                gate=gate.name,
                item_id=gate.item_id,
                draft=draft,
                refinement=refinement,
                vote=number,
                text=text,
                target=gate.target,
                reading=reading,
                accepted=reading == gate.target,
            )
        )
        accepted = sum(vote.accepted for vote in votes)
        if accepted >= policy.votes_needed or accepted + policy.votes - number - 1 < policy.votes_needed:
            break
    return votes


def _exhausted(gate: Gate, records: list[GateRecord]) -> str:
    return (
        f"No draft of {gate.item_id} passed the {gate.name} gate in {len(records)} readings; "
        f"it should tell {gate.target}, the last reading was {records[-1].reading}."
    )
