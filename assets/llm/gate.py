"""A gate: a text is accepted when enough independent votes read its target back; else it is refined or drafted anew.

The paper's gates ask once and retry until a judge agrees (section 3.1); these take k of n votes and record every one.
Texts that have nothing to do with each other may share a call: a group of them goes through its votes together.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from assets.llm.async_calls import gather_all
from assets.recipe.policies import GatePolicy
from assets.recipe.recipe import Recipe
from assets.records.base import GateRecord, ItemFailed

T = TypeVar("T")
S = TypeVar("S")  # what a judge is asked about, beside the text


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
    """A text and its way through the gates: how often it was drafted anew and refined since, and every vote so far.

    `samples_from` is added to the draft's number in what votes are seeded by: texts that are read outside of the gates
    get samples of their own.
    """

    item_id: str
    text: str
    draft: int = 0
    refinement: int = 0
    records: list[GateRecord] = field(default_factory=list[GateRecord])
    samples_from: int = 0


@dataclass(frozen=True)
class ReadingTask(Generic[S]):
    """One text that a judge is to read, with what the judge is asked about it."""

    item_id: str
    text: str
    subject: S
    vote: VoteContext


# Reads all texts in one call: what each tells, {} where nothing can be told. All tasks have the same judge model.
Reader = Callable[[Sequence[ReadingTask[S]]], Awaitable[list[dict[str, str]]]]


@dataclass(frozen=True)
class Gate(Generic[S]):
    """The gate of one item, which a text passes when judges read exactly `target` out of it.

    `refine` gets the text, the last reading and a sample number, `redraft` the number of the draft.
    """

    name: str
    target: dict[str, str]
    subject: S
    refine: Callable[[str, dict[str, str], int], Awaitable[str]]
    redraft: Callable[[int], Awaitable[str]]


Gated = tuple[Gate[S], GateAttempt]


def independent_groups(sources: Sequence[Sequence[T]], *, size: int, of_one: int = 1) -> list[list[T]]:
    """All items in groups of `size` or fewer, none with more than `of_one` of one source, such as a period or a question.

    What stands in one call with another must not help to guess it: of one source, one item may exclude the others.
    """
    items = [item for source in sources for item in source]
    count = max(-(-len(items) // size), *(-(-len(source) // of_one) for source in sources), 0)
    return [items[start::count] for start in range(count)]


async def pass_gates(
    sources: Sequence[Sequence[Gated[S]]], read: Reader[S], *, size: int, of_one: int = 1, recipe: Recipe
) -> None:
    """Rewrite texts until their gates accept them, `size` in a call, of one source no more than `of_one`.

    What was refused is rewritten and shares calls anew; a text that shares none waits for no other. Raises ItemFailed when
    the policy allows no more.
    """
    if size == 1:
        alone = [text for source in sources for text in source]
        await gather_all(*(_settle([[text]], read, size=1, of_one=1, recipe=recipe) for text in alone))
    else:
        await _settle(sources, read, size=size, of_one=of_one, recipe=recipe)


async def _settle(sources: Sequence[Sequence[Gated[S]]], read: Reader[S], *, size: int, of_one: int, recipe: Recipe) -> None:
    """Ask for the votes that are due on all open texts, round by round: a rewritten text shares calls with those still open."""
    open_ = [[_Ballot(gate, attempt, recipe.gates) for gate, attempt in source] for source in sources]
    while any(open_):
        waiting = _in_fewest_calls(open_, size=size, of_one=of_one) if recipe.gates.policy == "calibrated" else open_
        groups = independent_groups(waiting, size=size, of_one=of_one)
        await gather_all(*(_vote_on(group, read, recipe=recipe) for group in groups))
        for ballot in (ballot for source in open_ for ballot in source if not ballot.due):
            ballot.close()
        refused = [ballot for source in open_ for ballot in source if not (ballot.due or ballot.accepted)]
        await gather_all(*(rewrite(ballot.gate, ballot.attempt, policy=recipe.gates) for ballot in refused))
        again = {id(ballot): _Ballot(ballot.gate, ballot.attempt, recipe.gates) for ballot in refused}
        open_ = [[again.get(id(one), one) for one in source if one.due or not one.accepted] for source in open_]


def _in_fewest_calls(open_: Sequence[Sequence["_Ballot[S]"]], *, size: int, of_one: int) -> list[list["_Ballot[S]"]]:
    """The texts of this round: as many of each source as go into the fewest calls that the size allows.

    The others wait for calls that rewritten texts take anyway. Texts that were rewritten before go first, for each has most
    rounds before it; then those with the fewest votes.
    """
    calls = -(-sum(map(len, open_)) // size)
    ordered = (sorted(source, key=lambda one: (-one.text_number, len(one.votes))) for source in open_)
    return [source[: calls * of_one] for source in ordered]


async def decide(texts: Sequence[Gated[S]], read: Reader[S], *, recipe: Recipe) -> list[bool]:
    """Whether enough votes recover each text's target; the votes are added to the attempts' records.

    As many judges are asked at once as are still needed to accept, so that an accepted text waits for one reply only;
    more follow only while the matter is open. Where votes are calibrated they are asked one by one, up to the first that
    refuses. The judge models take turns.
    """
    ballots = [_Ballot(gate, attempt, recipe.gates) for gate, attempt in texts]
    while due := [ballot for ballot in ballots if ballot.due]:
        await _vote_on(due, read, recipe=recipe)
    for ballot in ballots:
        ballot.close()
    return [ballot.accepted for ballot in ballots]


@dataclass
class _Ballot(Generic[S]):
    """The votes on one text so far, and how many more it takes to decide it."""

    gate: Gate[S]
    attempt: GateAttempt
    policy: GatePolicy
    votes: list[GateRecord] = field(default_factory=list[GateRecord])

    @property
    def text_number(self) -> int:
        """Which of its item's texts this is, from 0."""
        return self.policy.text_number(self.attempt.draft, self.attempt.refinement)

    @cached_property
    def _counts(self) -> tuple[int, int]:
        """How many votes the text gets at most, and how many have to accept it."""
        return self.policy.votes_for(self.gate.name, text=self.text_number)

    @property
    def _missing(self) -> int:
        """How many more votes have to accept."""
        return self._counts[1] - sum(vote.accepted for vote in self.votes)

    @property
    def accepted(self) -> bool:
        return self._missing <= 0

    def close(self) -> None:
        """Keep the votes of a text on which none is due any more."""
        self.attempt.records.extend(self.votes)

    @property
    def due(self) -> range:
        """The numbers of the votes to ask next; none when it is decided."""
        most, first, missing = self._counts[0], len(self.votes), self._missing
        open_ = 0 < missing <= most - first
        at_once = 1 if self.policy.policy == "calibrated" else missing
        return range(first, first + at_once if open_ else first)


async def _vote_on(ballots: Sequence[_Ballot[S]], read: Reader[S], *, recipe: Recipe) -> None:
    """Add the votes that are due: one on every text in a call, as far as one judge takes them, then the next."""
    panel = recipe.models.judge.panel
    asked: defaultdict[tuple[int, str], list[tuple[_Ballot[S], int]]] = defaultdict(list)
    for ballot in ballots:
        for place, number in enumerate(ballot.due):
            asked[place, panel[number % len(panel)]].append((ballot, number))
    voted = await gather_all(*(_vote(own, judge, read) for (_, judge), own in asked.items()))
    for own, votes in zip(asked.values(), voted, strict=True):
        for (ballot, _), vote in zip(own, votes, strict=True):
            ballot.votes.append(vote)


async def _vote(due: Sequence[tuple[_Ballot[S], int]], judge: str, read: Reader[S]) -> list[GateRecord]:
    """A vote of this judge and number on each of the texts, in one call."""
    tasks = [
        ReadingTask(
            ballot.attempt.item_id,
            ballot.attempt.text,
            ballot.gate.subject,
            VoteContext(ballot.attempt.samples_from + ballot.attempt.draft, ballot.attempt.refinement, number, judge),
        )
        for ballot, number in due
    ]
    readings = await read(tasks)
    return [
        GateRecord(
            gate=ballot.gate.name,
            item_id=task.item_id,
            draft=ballot.attempt.draft,
            refinement=ballot.attempt.refinement,
            vote=number,
            judge=judge,
            text=task.text,
            target=ballot.gate.target,
            reading=reading,
            accepted=reading == ballot.gate.target,
        )
        for (ballot, number), task, reading in zip(due, tasks, readings, strict=True)
    ]


async def rewrite(gate: Gate[S], attempt: GateAttempt, *, policy: GatePolicy) -> None:
    """Refine a refused text with what was read last, at most `max_refinements` times, then start over from a new draft.

    All gates of an item share these: so many texts an item may have. Raises ItemFailed when there were as many.
    """
    if attempt.refinement < policy.max_refinements:
        reading = next(vote.reading for vote in reversed(attempt.records) if not vote.accepted)
        attempt.text = await gate.refine(attempt.text, reading, first_vote_number(attempt.draft, attempt.refinement))
        attempt.refinement += 1
    elif attempt.draft < policy.max_redrafts:
        attempt.text = await gate.redraft(attempt.draft + 1)
        attempt.draft, attempt.refinement = attempt.draft + 1, 0
    else:
        message = (
            f"No draft of {attempt.item_id} passed the {gate.name} gate in {len(attempt.records)} readings; "
            f"it should tell {gate.target}, the last reading was {attempt.records[-1].reading}."
        )
        raise ItemFailed("gate_exhausted", message, last_reply=attempt.text, gate_records=attempt.records)
