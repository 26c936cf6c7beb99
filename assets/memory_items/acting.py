"""Certificates of tasks that are acted: each condition is an episode of a program in the world, acted twice and graded.

Nothing is certified by what was planned.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from assets.memory_items.ablation import Certificate, ConditionOutcome, Expected
from assets.memory_items.documents import TOKENIZER, ItemDocument, SizedItem
from assets.memory_items.facts import Fact
from assets.memory_items.final_ablation import FACTS, FILLER, LAST, NONE, certified_digest, without_hop
from assets.memory_items.tasks import TaskAblation, TaskLengths, TaskQuestion
from assets.memory_items.turns import documents_in_view
from assets.recipe.document_tasks import DocumentTaskRecipe, Eviction
from assets.records.base import GateRecord, ItemFailed

IDLE = "doing nothing"
SUPERSEDED = "values that do not count"
TIMES = 2  # each episode is acted, with the same end

# Acts with these facts and says how it ended; None: does nothing.
Passes = Callable[[Sequence[Fact] | None], Awaitable[bool]]


async def certify_by_acting(
    asked: TaskQuestion,
    lengths: TaskLengths,
    *,
    passes: Passes,
    facts: Sequence[Fact],
    program: str,
    recipe: DocumentTaskRecipe,
) -> TaskAblation:
    """Act on every length as it will be released. Raises ItemFailed where a condition does not come out as it must."""
    certificates: list[Certificate] = []
    votes: list[GateRecord] = []
    for sized in lengths.lengths:
        outcomes = await _outcomes(asked, sized, passes=passes, facts=facts, eviction=recipe.eviction)
        for outcome in outcomes:
            votes += _votes(outcome, asked, item_id=f"{sized.target_tokens} tokens", program=program)
        wrong = [outcome.sentence for outcome in outcomes if outcome.outcome != "pass"]
        if wrong:
            sentence = f"The episode does not come out as it must. {'; '.join(wrong)}."
            raise ItemFailed("rule_violated", sentence, gate_records=votes)
        certified = Certificate(
            target_tokens=sized.target_tokens,
            digest=certified_digest(asked, sized),
            readers=(program,),
            prompt="",
            tokenizer=TOKENIZER,
            policy=recipe.ablation,
            outcomes=tuple(outcomes),
        )
        certificates.append(certified)
    return TaskAblation(task_id=asked.task_id, certificates=tuple(certificates), gate_records=tuple(votes))


async def _outcomes(
    asked: TaskQuestion, sized: SizedItem, *, passes: Passes, facts: Sequence[Fact], eviction: Eviction
) -> list[ConditionOutcome]:
    """Return the outcome of each condition: nothing done, all facts, each one left out, filler, last turns, wrong values."""
    documents = list(sized.documents)
    filler = [document for document in documents if document.role == "filler"]
    given: list[tuple[str, Expected, Sequence[Fact] | None]] = [
        (IDLE, "wrong", None),
        (NONE, "wrong", ()),
        (FACTS, "right", _facts_in(facts, documents)),
    ]
    for number, hop in enumerate(asked.hops, start=1):
        left = [document for document in documents if hop.fact_id not in document.facts]
        given.append((without_hop(number), "wrong", _facts_in(facts, left)))
    given.append((FILLER, "wrong", _facts_in(facts, filler)))
    given.append((LAST, "wrong", _facts_in(facts, documents_in_view(sized.turns, eviction))))
    rivals = _rivals(asked.hops, facts)
    if rivals != list(asked.hops):
        given.append((SUPERSEDED, "wrong", rivals))
    outcomes: list[ConditionOutcome] = []
    for condition, expected, known in given:
        outcomes.append(_outcome(condition, expected, [await passes(known) for _ in range(TIMES)]))
    return outcomes


def _facts_in(facts: Sequence[Fact], documents: Iterable[ItemDocument]) -> list[Fact]:
    """Return the facts whose value really is at their place, in one of these documents."""
    by_id = {document.document_id: document for document in documents}
    return [fact for fact in facts if fact.document_id in by_id and fact.stands_in(by_id[fact.document_id].text)]


def _rivals(hops: Sequence[Fact], facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts with another value of the same subject's matter in place of each, where a document has one."""
    found: list[Fact] = []
    for hop in hops:
        others = [
            fact for fact in facts if (fact.subject, fact.relation) == (hop.subject, hop.relation) and fact.value != hop.value
        ]
        found.append(others[0] if others else hop)
    return found


def _outcome(condition: str, expected: Expected, passed: Sequence[bool]) -> ConditionOutcome:
    as_expected = {"right": all(passed), "wrong": not any(passed), "measured": True}[expected]
    return ConditionOutcome(
        condition=condition,
        expected=expected,
        outcome="pass" if as_expected else "fail",
        readings=len(passed),
        right=sum(passed),
        errors=0,
    )


def _votes(outcome: ConditionOutcome, asked: TaskQuestion, *, item_id: str, program: str) -> list[GateRecord]:
    """Return each acted episode as a vote: the settled values where it passed, nothing where it did not."""
    votes: list[GateRecord] = []
    for number in range(outcome.readings):
        vote = GateRecord(
            gate=outcome.condition,
            item_id=item_id,
            draft=0,
            refinement=0,
            vote=number,
            judge=program,
            text="the episode, acted",
            target={"answer": asked.answer.value, "kind": asked.answer.kind},
            reading={"answer": asked.answer.value} if number < outcome.right else {},
            accepted=outcome.outcome == "pass",
        )
        votes.append(vote)
    return votes
