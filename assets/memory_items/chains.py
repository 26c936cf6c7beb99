"""Chains of facts: found, followed, and shown to be the only way to their end."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.facts import UNDONE, Fact, Hop
from assets.records.answers import normalize_answer
from assets.records.base import ItemFailed
from assets.text.words import folded

MOST_STEPS = 20_000  # of the search for a chain: documents that hang together closely have too many chains to try them all


def settle_facts(facts: Sequence[Fact]) -> Fact | None:
    """Return the fact that counts of those about one subject's value; None where there is none, or nothing decides."""
    if not facts:
        return None
    best = max(fact.weight for fact in facts)
    winners = [fact for fact in facts if fact.weight == best]
    values = {_answer_of(fact) for fact in winners}
    return winners[0] if len(values) == 1 else None


def _answer_of(fact: Fact) -> str:
    return normalize_answer(fact.kind, fact.value)


def standing_facts(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts whose value nobody took back."""
    known = list(facts)
    undone = {_claim_of(fact, fact.relation) for fact in known if fact.relation.startswith(UNDONE)}
    return [fact for fact in known if not undone or _claim_of(fact, f"{UNDONE}{fact.relation}") not in undone]


def _claim_of(fact: Fact, relation: str) -> tuple[str, str, str]:
    return folded(fact.subject), relation, _answer_of(fact)


def follow_relations(
    start: str,
    relations: Sequence[str],
    facts: Iterable[Fact],
    *,
    settle: Callable[[Sequence[Fact]], Fact | None] = settle_facts,
) -> str | None:
    """Return the value to which the relations lead from the start; None where a step is not settled."""
    known = by_subject(facts)
    subject = start
    for relation in relations:
        fact = settle([fact for fact in known[folded(subject)] if fact.relation == relation])
        if fact is None:
            return None
        subject = fact.value
    return subject


def by_subject(facts: Iterable[Fact]) -> defaultdict[str, list[Fact]]:
    known: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        known[folded(fact.subject)].append(fact)
    return known


def planned_chain(chain: Sequence[Hop], facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that state a planned chain. Raises ItemFailed where one of them is missing or does not count."""
    hops: list[Fact] = []
    standing = standing_facts(facts)
    for hop in chain:
        fact = settle_facts([told for told in standing if (told.subject, told.relation) == (hop.subject, hop.relation)])
        if fact is None or _answer_of(fact) != normalize_answer(fact.kind, hop.value):
            lacking = f"no document settles that {hop.relation} of {hop.subject} is {hop.value}"
            raise ItemFailed("rule_violated", f"The chain is not told: {lacking}.")
        hops.append(fact)
    return hops


def found_chain(facts: Sequence[Fact], hops: int, *, rng: SeededRandom) -> list[Fact] | None:
    """Return a chain of so many facts of different documents, the first in seeded order; None where there is none."""
    known = by_subject(facts)
    steps = 0

    def longer(chain: list[Fact]) -> list[Fact] | None:
        nonlocal steps
        steps += 1
        if len(chain) == hops or steps > MOST_STEPS:
            return chain if len(chain) == hops and not list(path_problems(chain, facts)) else None
        documents = {hop.document_id for hop in chain}
        relations = {hop.relation for hop in chain}
        for fact in rng.shuffled(known[folded(chain[-1].value)]):
            if fact.document_id not in documents and fact.relation not in relations:
                complete = longer([*chain, fact])
                if complete:
                    return complete
        return None

    for first in rng.shuffled(facts):
        if known[folded(first.value)]:
            chain = longer([first])
            if chain:
                return chain
    return None


def path_problems(hops: Sequence[Fact], facts: Sequence[Fact]) -> Iterator[str]:
    """Yield a sentence for each reason why the chain is not the one path from its start to its answer."""
    start = hops[0].subject
    relations = [fact.relation for fact in hops]
    last = hops[-1]
    answer = _answer_of(last)

    def leads_to_answer(known: Sequence[Fact]) -> bool:
        value = follow_relations(start, relations, known)
        return value is not None and normalize_answer(last.kind, value) == answer

    if not leads_to_answer(facts):
        yield f"all facts together do not lead to {last.value!r}"
    yield from unneeded_hops(hops, facts, leads_to_answer)
    for fact in facts:
        if folded(fact.subject) == folded(start) and _answer_of(fact) == answer and fact not in hops:
            yield f"{fact.relation} of {start!r} is the answer too"


def unneeded_hops(
    hops: Sequence[Fact], facts: Sequence[Fact], leads_to_answer: Callable[[Sequence[Fact]], bool]
) -> Iterator[str]:
    """Yield a sentence for each hop without which the other facts lead to the answer."""
    for number, hop in enumerate(hops, start=1):
        if leads_to_answer([fact for fact in facts if not _says_the_same(fact, hop)]):
            yield f"the answer is reached without hop {number}"


def _says_the_same(fact: Fact, hop: Fact) -> bool:
    """Return True for a fact that gives the hop's subject the same value of the same relation."""
    same_relation = fact.relation == hop.relation and folded(fact.subject) == folded(hop.subject)
    return same_relation and _answer_of(fact) == _answer_of(hop)
