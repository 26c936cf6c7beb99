"""A gate: a text is accepted when enough independent votes read its target back; else it is refined or drafted anew.

The paper's gates ask once and retry until a judge agrees (section 3.1); these take k of n votes and record every one.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from assets.engine.async_calls import gather_all
from assets.recipe.policies import GatePolicy
from assets.recipe.recipe import Recipe
from assets.records.base import GateRecord, ItemFailed


@dataclass(frozen=True)
class VoteContext:
    """Which vote on which text this is: it seeds the order of options and the sample.

    `judge` is the model to ask, None for the first of the recipe's judges.
    """

    draft: int
    refinement: int
    vote: int
    judge: str | None = None

    @property
    def number(self) -> int:
        """A number unique to the vote within its item."""
        return first_vote_number(self.draft, self.refinement) + self.vote


def first_vote_number(draft: int, refinement: int) -> int:
    """The number of the first vote on this draft and refinement."""
    return (draft * 100 + refinement) * 100


@dataclass
class GateAttempt:
    """A text and its way through the gates: the numbers of its draft and refinement, and every vote so far."""

    item_id: str
    text: str
    draft: int = 0
    refinement: int = 0
    records: list[GateRecord] = field(default_factory=list[GateRecord])


@dataclass
class RefinementBudget:
    """What one gate has spent on one item: refinements of the present draft, and new drafts."""

    refinements: int = 0
    redrafts: int = 0


@dataclass(frozen=True)
class Gate:
    """The gate of one item, which a text passes when judges read exactly `target` out of it.

    `judge` returns what it reads ("" or nothing where it cannot tell). `refine` gets the text, the last reading and a
    sample number, `redraft` the number of the draft.
    """

    name: str
    target: dict[str, str]
    judge: Callable[[str, VoteContext], Awaitable[dict[str, str]]]
    refine: Callable[[str, dict[str, str], int], Awaitable[str]]
    redraft: Callable[[int], Awaitable[str]]


async def pass_gate(gate: Gate, attempt: GateAttempt, *, recipe: Recipe) -> None:
    """Rewrite the attempt's text until the gate accepts it. Raises ItemFailed when the policy allows no more of that."""
    spent = RefinementBudget()
    while not await is_accepted(gate, attempt, recipe=recipe):
        await rewrite(gate, attempt, spent=spent, policy=recipe.gates)


async def is_accepted(gate: Gate, attempt: GateAttempt, *, recipe: Recipe) -> bool:
    """Whether enough votes recover the target from the attempt's text; the votes are added to its records."""
    votes = await collect_votes(gate, attempt, recipe=recipe)
    attempt.records.extend(votes)
    return enough_accept(votes, recipe.gates)


async def collect_votes(gate: Gate, attempt: GateAttempt, *, recipe: Recipe) -> list[GateRecord]:
    """The votes of one decision.

    As many judges are asked at once as are still needed to accept, so that an accepted text waits for one reply only;
    more follow only while the matter is open. The judge models take turns.
    """
    policy, votes = recipe.gates, list[GateRecord]()
    while missing := _missing_votes(votes, policy):
        numbers = range(len(votes), len(votes) + missing)
        votes.extend(await gather_all(*(_vote(gate, attempt, number, recipe=recipe) for number in numbers)))
    return votes


def enough_accept(votes: Sequence[GateRecord], policy: GatePolicy) -> bool:
    return sum(vote.accepted for vote in votes) >= policy.votes_needed


def _missing_votes(votes: Sequence[GateRecord], policy: GatePolicy) -> int:
    """How many more accepting votes it takes; 0 when it is decided."""
    missing = policy.votes_needed - sum(vote.accepted for vote in votes)
    return missing if 0 < missing <= policy.votes - len(votes) else 0


async def _vote(gate: Gate, attempt: GateAttempt, number: int, *, recipe: Recipe) -> GateRecord:
    panel = recipe.models.judge.panel
    judge = panel[number % len(panel)]
    context = VoteContext(attempt.draft, attempt.refinement, number, judge)
    reading = await gate.judge(attempt.text, context)
    return GateRecord(
        gate=gate.name,
        item_id=attempt.item_id,
        draft=context.draft,
        refinement=context.refinement,
        vote=number,
        judge=judge,
        text=attempt.text,
        target=gate.target,
        reading=reading,
        accepted=reading == gate.target,
    )


async def rewrite(gate: Gate, attempt: GateAttempt, *, spent: RefinementBudget, policy: GatePolicy) -> None:
    """Refine a refused text with what was read last, at most `max_refinements` times, then start over from a new draft.

    Raises ItemFailed when the gate has spent its refinements and redrafts.
    """
    if spent.refinements < policy.max_refinements:
        reading = next(vote.reading for vote in reversed(attempt.records) if not vote.accepted)
        attempt.text = await gate.refine(attempt.text, reading, first_vote_number(attempt.draft, attempt.refinement))
        attempt.refinement, spent.refinements = attempt.refinement + 1, spent.refinements + 1
    elif spent.redrafts < policy.max_redrafts:
        attempt.draft, attempt.refinement = attempt.draft + 1, 0
        attempt.text = await gate.redraft(attempt.draft)
        spent.redrafts, spent.refinements = spent.redrafts + 1, 0
    else:
        message = (
            f"No draft of {attempt.item_id} passed the {gate.name} gate in {len(attempt.records)} readings; "
            f"it should tell {gate.target}, the last reading was {attempt.records[-1].reading}."
        )
        raise ItemFailed("gate_exhausted", message, last_reply=attempt.text, gate_records=attempt.records)
