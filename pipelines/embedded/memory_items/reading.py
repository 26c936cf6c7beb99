"""Reads: facts out of sentences, steps out of a question, and the answer that the steps lead to through the facts.

It knows nothing but the words it is given: a fact that no sentence states is missing, and the question stays open.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from itertools import product
from operator import itemgetter
from pkgutil import resolve_name

from assets.memory_items.documents import PARAGRAPHS
from assets.memory_items.facts import RANK
from assets.memory_items.world.relations import comparable
from assets.recipe.document_tasks import Operation
from assets.records.answers import read_date
from assets.text.words import folded
from pipelines.benchmarks import BENCHMARKS
from pipelines.embedded.memory_items.asking import ReadPart, ReadQuestion, read_question
from pipelines.embedded.memory_items.known_world import KnownWorld, ReadClause, ReadFact, Step

SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
# A row begins with its line, or where the row before it ended: tried at every letter, a long text takes its length squared.
ROW = re.compile(r"(?:(?<![^|\n])|(?<=\| ))([^|\n]+) \| ([^|\n]+) \| (?=([^|\n]+))")
Weight = tuple[int, date]


@cache
def known_worlds() -> tuple[KnownWorld, ...]:
    """Return the invented worlds of all benchmarks whose documents this model tells."""
    places = [entry.known_world for entry in BENCHMARKS.values() if entry.known_world]
    return tuple(map(resolve_name, places))


def read_world_facts(text: str) -> Iterator[ReadFact]:
    """Yield the facts that the sentences of a document of an invented world state, and those that it shows otherwise.

    A sentence that does not say from which day it is has the day of the one before it in its paragraph.
    """
    for world in known_worlds():
        yield from world.shown_facts(text)
    yield from _rows(text)
    for paragraph in text.split(PARAGRAPHS):
        weight: Weight | None = None
        for sentence in SENTENCE.split(paragraph):
            said, own_weight = _read_sentence(sentence)
            weight = own_weight or weight
            if said is not None and weight is not None and " | " not in sentence:
                yield ReadFact(folded(said.subject), said.relation, said.value, weight)


@lru_cache(maxsize=50_000)
def _read_sentence(sentence: str) -> tuple[ReadClause | None, Weight | None]:
    """Return what a sentence says, and from which day and how sure it is."""
    lowered = sentence.lower()
    said: ReadClause | None = None
    weight: Weight | None = None
    for world in known_worlds():
        weight = weight or _weight_of(sentence, world)
        for clause in world.patterns:
            said = said or clause.read_clause(sentence, lowered)
    return said, weight


def _weight_of(text: str, world: KnownWorld) -> Weight | None:
    """Return what words for a day say of how much a statement weighs."""
    for pattern, status in world.source_patterns:
        match = pattern.search(text)
        day = read_date(match[1]) if match else None
        if day is not None:
            return RANK[status], day
    return None


def _rows(text: str) -> Iterator[ReadFact]:
    """Yield the facts of tables: a relation's phrase about its subject, the value, and the source. Lines may be joined."""
    for world, (phrase, value, source) in product(known_worlds(), ROW.findall(text)):
        weight = _weight_of(source, world)
        fact = _row_fact(phrase, value, world, weight=weight) if weight else None
        if fact is not None:
            yield fact


def _row_fact(phrase: str, value: str, world: KnownWorld, *, weight: Weight) -> ReadFact | None:
    """Read a row's first cell, before which the end of the line above may stand."""
    for relation in world.relations:
        _, found, subject = phrase.lower().rpartition(relation.phrase.removesuffix("{x}"))
        if found:
            return ReadFact(folded(phrase[len(phrase) - len(subject) :]), relation.name, value, weight)
    return None


def answer_by_reading(documents: Sequence[str], question: str) -> str | None:
    """Return the answer that these texts settle; None where they leave the question open."""
    facts: list[ReadFact] = []
    steps = [step for world in known_worlds() for step in world.steps]
    for text in documents:
        facts.extend(read_world_facts(text))
        for world in known_worlds():
            for step, fact in world.named_facts(text):
                steps.append(step)
                facts.append(fact)
    for world in known_worlds():
        answer_own = world.own_question(question.rpartition("\n\n")[2])
        if answer_own is not None:
            return answer_own(FactsRead(facts))
    read = read_question(question, known_worlds(), list(dict.fromkeys(steps)))
    if read is None:
        return None
    return FactsRead(facts).answer(read)


@dataclass(frozen=True)
class FactsRead:
    """Works out what the facts that were read come to."""

    facts: Sequence[ReadFact]

    def answer(self, read: ReadQuestion) -> str | None:
        first = read.parts[0]
        if read.operation == "follow":
            return self._follow_steps(first.name, first.steps)
        if read.operation == "count":
            return self._count_subjects(first)
        if read.operation in ("since_when", "still_so"):
            return self._date_or_hold(first, operation=read.operation)
        ends: dict[str, int] = {}
        for part in read.parts:
            subject = self._follow_steps(part.name, part.steps[:-1])
            relation = part.steps[-1].relation
            value = self.settled_value(subject, relation)
            if subject is None or value is None:
                return None
            ends[subject] = comparable(value)
            if read.operation == "weigh":
                doubted = self.settled_value(subject, relation, rank=RANK["unconfirmed"])
                return None if doubted is None else str(abs(ends[subject] - comparable(doubted)))
        if read.operation == "sum":
            return str(sum(ends.values()))
        in_order = sorted(ends, key=lambda name: ends[name])
        if read.operation == "difference":
            return str(ends[in_order[-1]] - ends[in_order[0]])
        if read.operation == "order":
            return ", ".join(in_order)
        if read.operation == "which_of_two":
            return in_order[-1]
        return self._follow_steps(in_order[-1], read.then)

    def _follow_steps(self, name: str, steps: Sequence[Step]) -> str | None:
        known: str | None = name
        for step in steps:
            known = self.settled_value(known, step.relation)
        return known

    def _date_or_hold(self, part: ReadPart, *, operation: Operation) -> str | None:
        """Return since when what the part leads to is so, or whether what is said first is that; a proposal is not so."""
        subject = self._follow_steps(part.name, part.steps[:-1])
        relation = part.steps[-1].relation
        if subject is None or self.settled_value(subject, relation) is None:
            return None
        weights = [fact.weight for fact in self.facts_about(subject, relation)]
        if operation == "since_when":
            return max(weights)[1].isoformat()
        rank, first_day = min(weights, key=itemgetter(1))
        return None if rank == RANK["unconfirmed"] else self.still_holds(subject, relation, first_day)

    def facts_about(self, subject: str, relation: str) -> Sequence[ReadFact]:
        return [fact for fact in self.facts if (fact.subject, fact.relation) == (folded(subject), relation)]

    def still_holds(self, subject: str, relation: str, said_on: date) -> str | None:
        """Return yes or no: whether what is said as of the day counts; None where nothing is said then, or nothing counts."""
        value = self.settled_value(subject, relation)
        said = {folded(fact.value) for fact in self.facts_about(subject, relation) if fact.weight[1] == said_on}
        if value is None or not said:
            return None
        return "yes" if folded(value) in said else "no"

    def _count_subjects(self, part: ReadPart) -> str | None:
        """Return how many subjects have what the part leads to; None where none has."""
        *leading, last = part.steps
        wanted = self._follow_steps(part.name, leading)
        if wanted is None:
            return None
        subjects = dict.fromkeys(fact.subject for fact in self.facts if fact.relation == last.relation)
        members = 0
        for subject in subjects:
            value = self.settled_value(subject, last.relation)
            members += value is not None and folded(value) == folded(wanted)
        return str(members) if members else None

    def settled_value(self, subject: str | None, relation: str, *, rank: int | None = None) -> str | None:
        """Return the value of the facts that count most, of this rank if given; None where there is none, or they disagree."""
        if subject is None:
            return None
        best: tuple[int, date] | None = None
        values: dict[str, str] = {}
        for fact in self.facts:
            if fact.subject != folded(subject) or fact.relation != relation or rank not in (None, fact.weight[0]):
                continue
            if best is None or fact.weight > best:
                best = fact.weight
                values = {}
            if fact.weight == best:
                values[folded(fact.value)] = fact.value
        return next(iter(values.values())) if len(values) == 1 else None
