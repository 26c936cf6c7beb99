"""Chains of facts: found, followed, and shown to be the only way to their end."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from assets.engine.seeded_random import SeededRandom
from assets.llm.text import folded
from assets.memory_items.answers import normalized
from assets.memory_items.facts import Fact, Hop

MOST_STEPS = 20_000  # of the search for a chain


def settled(facts: Sequence[Fact]) -> Fact | None:
    """Of facts that say what one subject's value is, the one that counts; None where none does, or nothing decides."""
    best = max((fact.weight for fact in facts), default=None)
    winners = [fact for fact in facts if fact.weight == best]
    values = {normalized(fact.kind, fact.value) for fact in winners}
    return winners[0] if len(values) == 1 else None


def nested_phrase(hops: Sequence[Fact]) -> str:
    """What the chain ends in, as a noun phrase about its start."""
    phrase = hops[0].subject
    for fact in hops:
        phrase = fact.phrase.replace("{x}", phrase)
    return phrase


def followed(start: str, relations: Sequence[str], facts: Iterable[Fact]) -> str | None:
    """What a reader of these facts comes to who follows the relations from the start; None where a step is not settled."""
    known = by_subject(facts)
    subject = start
    for relation in relations:
        fact = settled([fact for fact in known[folded(subject)] if fact.relation == relation])
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
    """The facts that state a planned chain. Raises LookupError where one of them is missing or does not count."""
    hops: list[Fact] = []
    for hop in chain:
        fact = settled([one for one in facts if one.subject == hop.subject and one.relation == hop.relation])
        if fact is None or normalized(fact.kind, fact.value) != normalized(fact.kind, hop.value):
            raise LookupError(f"no document settles that {hop.relation} of {hop.subject} is {hop.value}")
        hops.append(fact)
    return hops


def found_chain(facts: Sequence[Fact], hops: int, *, rng: SeededRandom) -> list[Fact] | None:
    """A chain of so many facts of different documents, the first in seeded order; None where there is none."""
    known = by_subject(facts)
    steps = 0

    def longer(chain: list[Fact]) -> list[Fact] | None:
        nonlocal steps
        steps += 1
        if len(chain) == hops or steps > MOST_STEPS:
            return chain if len(chain) == hops and not list(path_problems(chain, facts)) else None
        for fact in rng.shuffled(known[folded(chain[-1].value)]):
            fits = fact.document_id not in {one.document_id for one in chain} and fact.relation not in {
                one.relation for one in chain
            }
            if fits and (complete := longer([*chain, fact])):
                return complete
        return None

    for first in rng.shuffled(facts):
        if known[folded(first.value)] and (chain := longer([first])):
            return chain
    return None


def path_problems(hops: Sequence[Fact], facts: Sequence[Fact]) -> Iterator[str]:
    """A sentence for each reason why the chain is not the one path from its start to its answer."""
    relations, start = [fact.relation for fact in hops], hops[0].subject
    answer = normalized(hops[-1].kind, hops[-1].value)
    if _reached(followed(start, relations, facts), hops) != answer:
        yield f"all facts together do not lead to {hops[-1].value!r}"
    for number, hop in enumerate(hops):
        rest = [
            fact
            for fact in facts
            if (folded(fact.subject), fact.relation) != (folded(hop.subject), hop.relation)
            or normalized(fact.kind, fact.value) != normalized(hop.kind, hop.value)
        ]
        if _reached(followed(start, relations, rest), hops) == answer:
            yield f"the answer is reached without hop {number + 1}"
    for fact in facts:
        if folded(fact.subject) == folded(start) and normalized(fact.kind, fact.value) == answer and fact not in hops:
            yield f"{fact.relation} of {start!r} is the answer too"


def _reached(value: str | None, hops: Sequence[Fact]) -> str:
    return "" if value is None else normalized(hops[-1].kind, value)
