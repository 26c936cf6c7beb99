"""A gate: a text is accepted when enough independent votes read its target back; else it is refined or drafted anew.

The paper's gates ask once and retry until a judge agrees (section 3.1); these take k of n votes and record every one.
Texts that have nothing to do with each other may share a call: a group of them goes through its votes together.
"""

import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Generic, TypeVar

from assets.llm.async_calls import gather_all
from assets.llm.item_watch import warn_of_loss
from assets.recipe.policies import GatePolicy
from assets.recipe.recipe import Recipe
from assets.records.base import GateRecord, ItemFailed

T = TypeVar("T")
S = TypeVar("S")  # what a judge is asked about, beside the text


@dataclass(frozen=True)
class VoteContext:
    """A vote's place among those of its text, which seeds the order of options and the sample.

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

    @property
    def reworded(self) -> bool:
        """True for every second vote on a text, which is asked about in other words.

        A judge that misread a text may not do so again.
        """
        return is_reworded(self.vote)


def is_reworded(vote: int) -> bool:
    """Return True for the number of a vote that is asked in other words than the one before."""
    return vote % 2 == 1


def first_vote_number(draft: int, refinement: int) -> int:
    """The number of the first vote on this draft and refinement."""
    # Recipes allow twenty refinements of a draft and fifteen votes on each text.
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


# Reads all texts in one call: what each tells, {} where nothing can be told. All tasks have the same judge and wording.
Reader = Callable[[Sequence[ReadingTask[S]]], Awaitable[list[dict[str, str]]]]


@dataclass(frozen=True)
class Gate(Generic[S]):
    """The gate of one item, which a text passes when judges read exactly `target` out of it.

    `refine` gets the text, the last reading and a sample number, `redraft` the number of the draft. `on_rewrite` is called when
    the attempt has a new text, which nobody has read yet.
    """

    name: str
    target: dict[str, str]
    subject: S
    refine: Callable[[str, dict[str, str], int], Awaitable[str]]
    redraft: Callable[[int], Awaitable[str]]
    on_rewrite: Callable[[], None] = lambda: None


Gated = tuple[Gate[S], GateAttempt]


def independent_groups(sources: Sequence[Sequence[T]], *, size: int, of_one: int = 1) -> list[list[T]]:
    """Return the items in as few groups of `size` or fewer as can be, about equal, none with more than `of_one` of one source.

    What stands in one call with another must not help to guess it: of one source, such as a period or question, one item may
    exclude the others. Items of one source that may share a call do: a prompt shows what they have in common once.
    """
    split = [_split(source, most=min(of_one, size)) for source in sources]
    total = sum(map(len, sources))
    fewest = max(math.ceil(total / size), *map(len, split), 0)
    groups: list[list[T]] = [[] for _ in range(fewest)]
    # The source with the most parts first: the others fill up what its parts leave.
    for parts in sorted(split, key=len, reverse=True):
        without_source = list(groups)
        for part in parts:
            without_source.sort(key=len)
            if without_source and len(without_source[0]) + len(part) <= size:
                group = without_source.pop(0)
            else:
                group = list[T]()
                groups.append(group)
            group.extend(part)
    return [group for group in groups if group]


def _split(source: Sequence[T], *, most: int) -> list[Sequence[T]]:
    """Return the source in as few parts of `most` or fewer as can be, about equal."""
    count = math.ceil(len(source) / most)
    return [source[turn::count] for turn in range(count)]


async def pass_gates(
    sources: Sequence[Sequence[Gated[S]]], read: Reader[S], *, size: int, of_one: int = 1, recipe: Recipe
) -> None:
    """Rewrite texts until their gates accept them, `size` in a call, of one source no more than `of_one`.

    What was refused is rewritten and shares calls anew; a text that shares none waits for no other. Raises ItemFailed when
    the policy allows no more.
    """
    if size == 1:
        alone = chain.from_iterable(sources)
        await gather_all(*(_settle([[text]], read, size=1, of_one=1, recipe=recipe) for text in alone))
    else:
        await _settle(sources, read, size=size, of_one=of_one, recipe=recipe)


async def _settle(sources: Sequence[Sequence[Gated[S]]], read: Reader[S], *, size: int, of_one: int, recipe: Recipe) -> None:
    """Ask for the votes that are due on all open texts, round by round: a rewritten text shares calls with those still open."""
    undecided = [_ballots(source, recipe.gates) for source in sources]
    while any(undecided):
        groups = _calls(undecided, size=size, of_one=of_one)
        await gather_all(*(_vote_on(group, read, recipe=recipe) for group in groups))
        refused: list[_Ballot[S]] = []
        for ballot in chain.from_iterable(undecided):
            if not ballot.due:
                ballot.close()
                if not ballot.accepted:
                    refused.append(ballot)
        await gather_all(*(ballot.start_over() for ballot in refused))
        undecided = list(map(_still_due, undecided))


def _calls(sources: Sequence[Sequence["_Ballot[S]"]], *, size: int, of_one: int) -> list[list["_Ballot[S]"]]:
    """Return the texts in groups that are asked in the same words, as `independent_groups` does."""
    groups: list[list[_Ballot[S]]] = []
    plain = _choose_ballots(sources, lambda ballot: not is_reworded(ballot.due.start))
    reworded = _choose_ballots(sources, lambda ballot: is_reworded(ballot.due.start))
    for alike in (plain, reworded):
        groups.extend(independent_groups(alike, size=size, of_one=of_one))
    return groups


def _choose_ballots(
    sources: Sequence[Sequence["_Ballot[S]"]], choose: Callable[["_Ballot[S]"], bool]
) -> list[list["_Ballot[S]"]]:
    return [list(filter(choose, source)) for source in sources]


async def take_votes(
    sources: Sequence[Sequence[Gated[S]]],
    read: Reader[S],
    *,
    size: int,
    of_one: int = 1,
    one_by_one: bool = False,
    recipe: Recipe,
) -> list[bool]:
    """Return for each text, source by source, if enough votes recover its target; the attempts' records get the votes.

    Texts share calls as in `pass_gates`. As many judges are asked at once as are still needed to accept, so that an accepted
    text waits for one reply only; more follow only while the matter is open. Where most texts will be refused, `one_by_one`
    asks for fewer. The judge models take turns.
    """
    ballots = [_ballots(source, recipe.gates, one_by_one=one_by_one) for source in sources]
    due = ballots
    while any(due):
        groups = _calls(due, size=size, of_one=of_one)
        await gather_all(*(_vote_on(group, read, recipe=recipe) for group in groups))
        due = list(map(_still_due, ballots))
    accepted: list[bool] = []
    for ballot in chain.from_iterable(ballots):
        ballot.close()
        accepted.append(ballot.accepted)
    return accepted


@dataclass
class _Ballot(Generic[S]):
    """The votes on one text so far, and how many more it takes to decide it."""

    gate: Gate[S]
    attempt: GateAttempt
    policy: GatePolicy
    one_by_one: bool  # a vote is asked when the one before has accepted
    votes: list[GateRecord] = field(default_factory=list[GateRecord])

    @property
    def _missing(self) -> int:
        """The number of votes that still have to accept."""
        _, needed = self.policy.votes_for(self.gate.name)
        return needed - sum(vote.accepted for vote in self.votes)

    @property
    def accepted(self) -> bool:
        return self._missing <= 0

    @property
    def due(self) -> range:
        """The numbers of the votes to ask next; none when it is decided."""
        most, _ = self.policy.votes_for(self.gate.name)
        first = len(self.votes)
        missing = self._missing
        if not 0 < missing <= most - first:
            return range(0)
        at_once = 1 if self.one_by_one else missing
        return range(first, first + at_once)

    def close(self) -> None:
        """Keep the votes of a text on which none is due any more."""
        self.attempt.records.extend(self.votes)

    async def start_over(self) -> None:
        """Rewrite the refused text; the new one has no votes yet. Raises ItemFailed."""
        await rewrite(self.gate, self.attempt, policy=self.policy)
        self.gate.on_rewrite()
        self.votes.clear()


def _ballots(texts: Iterable[Gated[S]], policy: GatePolicy, *, one_by_one: bool = False) -> list[_Ballot[S]]:
    return [_Ballot(gate, attempt, policy, one_by_one) for gate, attempt in texts]


def _still_due(ballots: Iterable[_Ballot[S]]) -> list[_Ballot[S]]:
    return [ballot for ballot in ballots if ballot.due]


@dataclass(frozen=True)
class _DueVote(Generic[S]):
    """A vote of this number that this judge is asked for."""

    ballot: _Ballot[S]
    number: int
    judge: str

    @property
    def task(self) -> ReadingTask[S]:
        attempt = self.ballot.attempt
        vote = VoteContext(attempt.samples_from + attempt.draft, attempt.refinement, self.number, self.judge)
        return ReadingTask(attempt.item_id, attempt.text, self.ballot.gate.subject, vote)

    def record(self, reading: dict[str, str]) -> GateRecord:
        gate = self.ballot.gate
        attempt = self.ballot.attempt
        return GateRecord(
            gate=gate.name,
            item_id=attempt.item_id,
            draft=attempt.draft,
            refinement=attempt.refinement,
            vote=self.number,
            judge=self.judge,
            text=attempt.text,
            target=gate.target,
            reading=reading,
            accepted=reading == gate.target,
        )


async def _vote_on(ballots: Sequence[_Ballot[S]], read: Reader[S], *, recipe: Recipe) -> None:
    """Add the votes that are due: in a call those on all texts that one judge takes in the same words."""
    panel = recipe.models.judge.panel
    calls: defaultdict[tuple[int, bool, str], list[_DueVote[S]]] = defaultdict(list)
    for ballot in ballots:
        for place, number in enumerate(ballot.due):
            judge = panel[number % len(panel)]
            calls[place, is_reworded(number), judge].append(_DueVote(ballot, number, judge))
    pending: list[Awaitable[list[dict[str, str]]]] = []
    for (_, reworded, _), votes in calls.items():
        if reworded:
            votes.reverse()  # a text has other neighbours before it
        pending.append(read([vote.task for vote in votes]))
    read_in_calls = await gather_all(*pending)
    # Only now, so that the order of votes is that of the calls and not that of the replies.
    for votes, readings in zip(calls.values(), read_in_calls, strict=True):
        for vote, reading in zip(votes, readings, strict=True):
            vote.ballot.votes.append(vote.record(reading))


async def rewrite(gate: Gate[S], attempt: GateAttempt, *, policy: GatePolicy) -> None:
    """Refine a refused text with what was read last, at most `max_refinements` times, then start over from a new draft.

    All gates of an item share these: so many texts an item may have. Raises ItemFailed when there were as many.
    """
    used = attempt.draft * (1 + policy.max_refinements) + attempt.refinement + 1
    if policy.texts / 2 < used < policy.texts:
        warn_of_loss()
    if attempt.refinement < policy.max_refinements:
        refused = [vote for vote in attempt.records if not vote.accepted]
        sample = first_vote_number(attempt.draft, attempt.refinement)
        attempt.text = await gate.refine(attempt.text, refused[-1].reading, sample)
        attempt.refinement += 1
    elif attempt.draft < policy.max_redrafts:
        attempt.text = await gate.redraft(attempt.draft + 1)
        attempt.draft += 1
        attempt.refinement = 0
    else:
        message = (
            f"No draft of {attempt.item_id} passed the {gate.name} gate in {len(attempt.records)} readings; "
            f"it should tell {gate.target}, the last reading was {attempt.records[-1].reading}."
        )
        raise ItemFailed("gate_exhausted", message, last_reply=attempt.text, gate_records=attempt.records)
