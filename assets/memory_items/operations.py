"""Questions as operations on facts: follow a chain, or work out a sum, a difference, an order, a count and the like.

An operation has parts. Each part begins at a name that the question tells and leads over facts to a value; what is asked for is
worked out from these values. Every fact is needed: without it the answer is missing, or another one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from assets.memory_items.chains import (
    by_subject,
    follow_relations,
    path_problems,
    planned_chain,
    settle_facts,
    standing_facts,
    unneeded_hops,
)
from assets.memory_items.facts import Fact, Hop
from assets.recipe.document_tasks import Operation
from assets.records.answers import AnswerKind, normalize_answer
from assets.text.words import folded

BETWEEN_NAMES = ", "  # in an answer that is an order
FOLLOWED = ("follow", "decision", "convention")  # operations that follow one chain
ENDS_IN_A_FACT = (*FOLLOWED, "most", "failed_path")  # operations whose answer stands in a document as it is
YES_OR_NO = ("yes", "no")
Settle = Callable[[Sequence[Fact]], Fact | None]


class PartSteps(NamedTuple):
    """A part of a question: the name that it begins with, and the phrases of its steps."""

    name: str
    steps: Sequence[str]


@dataclass(frozen=True)
class AskedFacts:
    """The facts that an answer takes, in order, and what is done with them."""

    operation: Operation
    hops: Sequence[Fact]

    @property
    def parts(self) -> Sequence[Sequence[Fact]]:
        """The facts of each part, which lead from its start to its value.

        Of a count the one part leads to the value that is counted; of two figures that are weighed, to the one that counts.
        """
        if self.operation in (*FOLLOWED, "since_when"):
            return [self.hops]
        if self.operation in ("failed_path", "still_so"):
            return [self._chain_without_said]
        if self.operation == "count":
            return [[*self._leading_facts, self.hops[-1]]]
        if self.operation == "weigh":
            return [self.hops[:-1]]
        compared = self.hops[:-1] if self.operation == "most" else self.hops
        parts: list[list[Fact]] = []
        for hop in compared:
            if parts and folded(parts[-1][-1].value) == folded(hop.subject):
                parts[-1].append(hop)
            else:
                parts.append([hop])
        return parts

    @property
    def starts(self) -> tuple[str, ...]:
        """The names that the question tells, one for each part."""
        if self.operation == "count" and not self._leading_facts:
            return (self.hops[-1].value,)
        starts = [part[0].subject for part in self.parts]
        return tuple(starts[:1] if self.operation == "act" else starts)

    @property
    def answer_kind(self) -> AnswerKind:
        if self.operation in ENDS_IN_A_FACT:
            return self.hops[-1].kind
        kinds: dict[Operation, AnswerKind] = {"still_so": "option", "since_when": "date", "which_of_two": "name"}
        if self.operation in kinds:
            return kinds[self.operation]
        return "list" if self.operation in ("order", "act") else "number"

    @property
    def options(self) -> tuple[str, ...]:
        """What the question offers, where its answer is one of several."""
        if self.operation == "still_so":
            return YES_OR_NO
        return self.hops[-1].options if self.operation in ENDS_IN_A_FACT else ()

    def answer(self, facts: Sequence[Fact], *, settle: Settle = settle_facts) -> str | None:
        """Return what the facts come to; None where they leave it open. `settle` chooses among facts that disagree."""
        if self.operation in FOLLOWED:
            return follow_relations(self.hops[0].subject, _relations(self.hops), facts, settle=settle)
        facts = standing_facts(facts)
        if self.operation == "count":
            return self._count(facts, settle)
        if self.operation == "weigh":
            return self._weigh_facts(facts, settle)
        if self.operation == "failed_path":
            return self._failed_path(facts, settle)
        if self.operation == "still_so":
            return self._still_so(facts, settle)
        if self.operation == "since_when":
            end = _last_fact(self.hops, facts, settle)
            return None if end is None or end.as_of is None else end.as_of.isoformat()
        ends = self._ends(facts, settle)
        return None if ends is None else self._worked_out(ends, facts, settle)

    def problems(self, facts: Sequence[Fact]) -> Iterator[str]:
        """Yield a sentence for each reason why the facts do not lead to one answer that takes all hops."""
        if self.operation in FOLLOWED:
            yield from path_problems(self.hops, facts)
            return
        answer = self.answer(facts)
        if answer is None:
            yield "all facts together lead to no answer"
            return
        kind = self.answer_kind
        right = normalize_answer(kind, answer)

        def leads_to_answer(known: Sequence[Fact]) -> bool:
            found = self.answer(known)
            return found is not None and normalize_answer(kind, found) == right

        yield from unneeded_hops(self.hops, facts, leads_to_answer)

    def rivals(self, facts: Sequence[Fact]) -> Iterator[str]:
        """Yield wrong answers: what comes out where one value is another's, or where one is left out or counted twice."""
        hops = self.hops
        if self.operation == "still_so":
            return
        if self.operation == "count":
            members = len(hops) - len(self._leading_facts)
            yield from map(str, (members + 1, members - 1, members + 2, members + 3))
            return
        if self.operation == "order":
            names = (self.answer(facts) or "").split(BETWEEN_NAMES)
            for place in range(len(names) - 1):
                yield BETWEEN_NAMES.join([*names[:place], names[place + 1], names[place], *names[place + 2 :]])
            yield BETWEEN_NAMES.join(reversed(names))
            return
        # Values of the same subjects come first: those of documents that do not count, and of what was compared.
        alike = [fact for fact in facts if fact.relation == hops[-1].relation]
        own = {hop.subject for hop in hops}
        alike.sort(key=lambda fact: fact.subject not in own)
        if self.operation in (*ENDS_IN_A_FACT, "since_when"):
            for fact in alike:
                yield str(fact.as_of) if self.operation == "since_when" else fact.value
            return
        if self.operation == "sum":
            total = int(self.answer(hops) or 0)
            for part in self.parts:
                yield str(total - amount_of(part[-1]))
        for other in alike:
            for number, hop in enumerate(hops):
                if hop.relation == other.relation:
                    changed = [*hops[:number], hop.model_copy(update={"value": other.value}), *hops[number + 1 :]]
                    found = AskedFacts(self.operation, changed).answer(changed)
                    if found not in (None, "0"):
                        yield found

    @property
    def steps(self) -> list[PartSteps]:
        """The name and the steps of each part, for the writer of the question and for who reads it back."""
        steps: list[PartSteps] = []
        for start, part in zip(self.starts, self.parts, strict=True):
            steps.append(PartSteps(start, [fact.phrase for fact in part]))
        return steps

    @property
    def then(self) -> list[str]:
        """What is asked about the one of the parts with the most."""
        return [self.hops[-1].phrase] if self.operation == "most" else []

    @property
    def _chain_without_said(self) -> Sequence[Fact]:
        """The facts that lead to what counts, without the one that does not, where that is asked about."""
        *before, last = self.hops
        same = before and (before[-1].subject, before[-1].relation) == (last.subject, last.relation)
        return before if same else self.hops

    @property
    def _leading_facts(self) -> Sequence[Fact]:
        """The facts of a count that lead to the value which is counted."""
        last = self.hops[-1]
        return [hop for hop in self.hops if hop.relation != last.relation]

    def _ends(self, facts: Sequence[Fact], settle: Settle) -> list[Fact] | None:
        """Return the last fact of each part as these facts have it; None where one is not settled."""
        ends: list[Fact] = []
        for part in self.parts:
            end = _last_fact(part, facts, settle)
            if end is None:
                return None
            ends.append(end)
        return ends

    def _worked_out(self, ends: Sequence[Fact], facts: Sequence[Fact], settle: Settle) -> str | None:
        if self.operation == "act":
            return BETWEEN_NAMES.join([end.value for end in ends])
        amounts = list(map(amount_of, ends))
        if self.operation == "sum":
            return str(sum(amounts))
        if self.operation == "difference":
            return str(abs(amounts[0] - amounts[1]))
        if len(set(amounts)) < len(amounts):
            return None
        in_order = sorted(ends, key=amount_of)
        if self.operation == "order":
            return BETWEEN_NAMES.join([end.subject for end in in_order])
        if self.operation == "which_of_two":
            return in_order[-1].subject
        return follow_relations(in_order[-1].subject, [self.hops[-1].relation], facts, settle=settle)

    def _count(self, facts: Sequence[Fact], settle: Settle) -> str | None:
        counted: str | None = self.hops[-1].value
        if self._leading_facts:
            counted = follow_relations(self._leading_facts[0].subject, _relations(self._leading_facts), facts, settle=settle)
        if counted is None:
            return None
        members = 0
        for about in by_subject([fact for fact in facts if fact.relation == self.hops[-1].relation]).values():
            fact = settle(about)
            members += fact is not None and folded(fact.value) == folded(counted)
        return str(members) if members else None

    def _weigh_facts(self, facts: Sequence[Fact], settle: Settle) -> str | None:
        counting = _last_fact(self.hops[:-1], facts, settle)
        if counting is None:
            return None
        doubted = settle([fact for fact in _facts_stating(facts, counting) if fact.status == "unconfirmed"])
        return None if doubted is None else str(abs(amount_of(counting) - amount_of(doubted)))

    def _failed_path(self, facts: Sequence[Fact], settle: Settle) -> str | None:
        """Return the one value of the matter that does not count."""
        counting = _last_fact(self._chain_without_said, facts, settle)
        if counting is None:
            return None
        others = {normalize_answer(fact.kind, fact.value): fact.value for fact in _facts_stating(facts, counting)}
        others.pop(normalize_answer(counting.kind, counting.value))
        return next(iter(others.values())) if len(others) == 1 else None

    def _still_so(self, facts: Sequence[Fact], settle: Settle) -> str | None:
        """Return whether what is said as of the last fact's day is what counts."""
        counting = _last_fact(self._chain_without_said, facts, settle)
        if counting is None:
            return None
        asked = next((fact for fact in _facts_stating(facts, counting) if fact.as_of == self.hops[-1].as_of), None)
        if asked is None:
            return None
        counts = normalize_answer(asked.kind, asked.value) == normalize_answer(counting.kind, counting.value)
        return YES_OR_NO[0] if counts else YES_OR_NO[1]


def _relations(hops: Sequence[Fact]) -> list[str]:
    return [hop.relation for hop in hops]


def _last_fact(part: Sequence[Fact], facts: Sequence[Fact], settle: Settle) -> Fact | None:
    """Return the fact to which the part's relations lead from its start; None where a step is not settled."""
    subject = follow_relations(part[0].subject, _relations(part[:-1]), facts, settle=settle)
    if subject is None:
        return None
    return settle(_facts_stating(facts, part[-1].model_copy(update={"subject": subject})))


def _facts_stating(facts: Sequence[Fact], hop: Fact) -> list[Fact]:
    """Return all facts that give the hop's subject a value of its relation."""
    return [fact for fact in facts if fact.relation == hop.relation and folded(fact.subject) == folded(hop.subject)]


def amount_of(fact: Fact) -> int:
    """Return a number, or a date's number of days."""
    return date.fromisoformat(fact.value).toordinal() if fact.kind == "date" else int(fact.value)


def planned_facts(operation: Operation, chain: Sequence[Hop], facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that state what was planned. Raises ItemFailed where one is missing, or does not count as it should."""
    if operation != "weigh":
        return planned_chain(chain, facts)
    unconfirmed = [fact for fact in facts if fact.status == "unconfirmed"]
    return [*planned_chain(chain[:-1], facts), *planned_chain(chain[-1:], unconfirmed)]
