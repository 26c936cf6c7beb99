"""Draft, judge, refine: a text is kept only when independent readings of it recover what it should tell (section 3.1)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from assets.engine.item_tasks import together
from assets.recipe.gate_policy import GatePolicy
from assets.recipe.recipe import Recipe
from assets.records.failure import UserFailed
from assets.records.gate import GateName, GateRecord


@dataclass(frozen=True)
class Trial:
    """Which try a judgement belongs to: it seeds the order of options and the sample.

    `judge` is the model to ask, None for the recipe's first.
    """

    draft: int
    refinement: int
    vote: int
    judge: str | None = None

    @property
    def number(self) -> int:
        """A number unique to the trial within its item."""
        return trial_number(self.draft, self.refinement) + self.vote


def trial_number(draft: int, refinement: int) -> int:
    """The number of the first trial of this draft and refinement."""
    return (draft * 100 + refinement) * 100


@dataclass
class Attempt:
    """A text on its way through its gates: the numbers of its draft and refinement, and every vote so far."""

    item_id: str
    text: str
    draft: int = 0
    refinement: int = 0
    records: list[GateRecord] = field(default_factory=list[GateRecord])


@dataclass
class Allowance:
    """What one gate has spent on one item: refinements of the present draft, and new drafts."""

    refinements: int = 0
    redrafts: int = 0


@dataclass(frozen=True)
class Gate:
    """One item's gate.

    `judge` returns what it reads ("" or nothing where it cannot tell), `refine` gets the text, the last reading and a
    sample number, `redraft` the number of the draft.
    """

    name: GateName
    target: dict[str, str]
    judge: Callable[[str, Trial], Awaitable[dict[str, str]]]
    refine: Callable[[str, dict[str, str], int], Awaitable[str]]
    redraft: Callable[[int], Awaitable[str]]


async def pass_gate(gate: Gate, attempt: Attempt, *, recipe: Recipe) -> None:
    """Rewrite the attempt's text until the gate accepts it. Raises UserFailed when the policy allows no more of that."""
    spent = Allowance()
    while not await passes(gate, attempt, recipe=recipe):
        await write_anew(gate, attempt, spent=spent, policy=recipe.gates)


async def passes(gate: Gate, attempt: Attempt, *, recipe: Recipe) -> bool:
    """Whether enough votes recover the target from the attempt's text; the votes are kept with it."""
    votes = await vote(gate, attempt, recipe=recipe)
    attempt.records.extend(votes)
    return accepts(votes, recipe.gates)


async def vote(gate: Gate, attempt: Attempt, *, recipe: Recipe) -> list[GateRecord]:
    """Ask for the votes of one decision.

    As many judges are asked at once as are still needed to accept, so that an accepted text waits for one reply only;
    more follow only while the matter is open. The judge models take turns.
    """
    policy, votes = recipe.gates, list[GateRecord]()
    while missing := _missing(votes, policy):
        numbers = range(len(votes), len(votes) + missing)
        votes.extend(await together(*(_reading(gate, attempt, number, recipe=recipe) for number in numbers)))
    return votes


def accepts(votes: Sequence[GateRecord], policy: GatePolicy) -> bool:
    """Whether enough votes accept."""
    return sum(vote.accepted for vote in votes) >= policy.votes_needed


def _missing(votes: Sequence[GateRecord], policy: GatePolicy) -> int:
    """How many more accepting votes it takes; 0 when it is decided."""
    missing = policy.votes_needed - sum(vote.accepted for vote in votes)
    return missing if 0 < missing <= policy.votes - len(votes) else 0


async def _reading(gate: Gate, attempt: Attempt, number: int, *, recipe: Recipe) -> GateRecord:
    panel = recipe.models.judge.panel
    judge = panel[number % len(panel)]
    trial = Trial(attempt.draft, attempt.refinement, number, judge)
    reading = await gate.judge(attempt.text, trial)
    return GateRecord(
        gate=gate.name,
        item_id=attempt.item_id,
        draft=trial.draft,
        refinement=trial.refinement,
        vote=number,
        judge=judge,
        text=attempt.text,
        target=gate.target,
        reading=reading,
        accepted=reading == gate.target,
    )


async def write_anew(gate: Gate, attempt: Attempt, *, spent: Allowance, policy: GatePolicy) -> None:
    """Refine a refused text with what was read last, at most `max_refinements` times, then start over from a new draft.

    Raises UserFailed when the gate has spent its refinements and redrafts.
    """
    if spent.refinements < policy.max_refinements:
        reading = next(vote.reading for vote in reversed(attempt.records) if not vote.accepted)
        attempt.text = await gate.refine(attempt.text, reading, trial_number(attempt.draft, attempt.refinement))
        attempt.refinement, spent.refinements = attempt.refinement + 1, spent.refinements + 1
    elif spent.redrafts < policy.max_redrafts:
        attempt.draft, attempt.refinement = attempt.draft + 1, 0
        attempt.text = await gate.redraft(attempt.draft)
        spent.redrafts, spent.refinements = spent.redrafts + 1, 0
    else:
        raise UserFailed("gate_exhausted", _exhausted(gate, attempt), last_reply=attempt.text, gate_records=attempt.records)


def _exhausted(gate: Gate, attempt: Attempt) -> str:
    return (
        f"No draft of {attempt.item_id} passed the {gate.name} gate in {len(attempt.records)} readings; "
        f"it should tell {gate.target}, the last reading was {attempt.records[-1].reading}."
    )
