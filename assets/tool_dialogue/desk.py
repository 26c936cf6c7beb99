"""The service desk of a company as a world of facts: customers, what was settled with each, and the sessions that tell it."""

import json
from collections.abc import Mapping, Sequence, Set

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import PROMPT
from assets.memory_items.facts import UNDONE, DocumentPlan, Statement, Status
from assets.memory_items.world.occasions import Occasion
from assets.memory_items.world.relations import PERSON, FactWorld, NameKind, NameMaker, Relation, spoken
from assets.recipe.document_tasks import Operation
from assets.tool_dialogue.company import Company, drawn_rows
from assets.tool_dialogue.domain import CUSTOMERS, NAME, STAFF, Domain
from assets.tool_dialogue.domains import WHO, relations_of, undoing_of
from assets.worlds.tools import Call

SESSION_KINDS = ("phone call", "chat", "letter", "visit to the desk")
# Why a session is held; there is more than one matter to it.
REASONS = (
    "{subject} has moved, and the customer goes over what is on file.",
    "The customer is away for some weeks, and {subject} should not be asked.",
    "Somebody came to {subject} and knew of nothing.",
    "The customer pays for {subject} and read the last bill closely.",
    "A trainee mixed {subject} up with somebody else.",
    "{subject} told the customer that something has changed.",
)
# By these a request means somebody, such as my cook at the mill.
PARTS = (
    "cook",
    "tenant",
    "gardener",
    "nurse",
    "bookkeeper",
    "caretaker",
    "pupil",
    "widower",
    "driver",
    "carpenter",
    "organist",
)
PLACES = (
    *("at the mill", "over the bakery", "by the lock", "in the tower", "at the quarry", "behind the station", "on the island"),
    *("at the vineyard", "in the old school", "next to the chapel", "at the ferry", "under the arches", "on the hill"),
)


def _part_at_place(rng: SeededRandom) -> str:
    return f"{rng.choice(PARTS)} {rng.choice(PLACES)}"


ROLE = NameKind(_part_at_place, lambda _, rng: _part_at_place(rng))
NAME_KINDS: Mapping[str, NameKind] = {"customer": PERSON, "person": PERSON, WHO.subject: ROLE}
# What settles nothing only ever disagrees with what was settled.
STATUSES: tuple[Status, ...] = ("plain", "plain", "plain", "certified")
STANDINGS: Mapping[Status, str] = {
    "plain": "agreed",
    "certified": "confirmed in writing",
    "unconfirmed": "a thought left open, or the wish of somebody else",
}
# Calls of the desk's own.
FILED = "file_terms"
TAKEN_BACK = "undo_terms"
OTHER_STAFF = 4  # whom no session names


class ServiceDesk(FactWorld):
    """The sessions of one customer with a company, each about one of her people.

    `errand`: what is asked for; without a name it is any errand. What is certified was in every second case done: a
    call filed it, and stands in the session with what it gave back. So does every call that undid something.
    """

    write_prompt = "td_sessions/write"
    standings = STANDINGS
    most_tokens = 360
    meaning_told = True  # its matters are held or not: a name for them says less
    dated_titles = True
    copied_material = ("customer", "lookup")
    spare_clusters = 0.7  # its clusters have twice as many documents as those of a chain
    document_kinds = SESSION_KINDS
    statuses = STATUSES
    aside_statuses = ("plain", "plain", "plain", "certified", "unconfirmed")
    asides_elsewhere = 1
    days_apart = 60
    settles_with_several = True
    found_by = WHO
    written_counts = True

    def __init__(self, domain: Domain, customer: str, errand: str = "") -> None:
        self.domain = domain
        self.relations = relations_of(domain)
        self.undoing = undoing_of(domain)
        self._customer = customer
        self._errand = errand

    def entities(self, path: Sequence[object], taken: Set[str]) -> NameMaker:
        return NameMaker(SeededRandom(*path), NAME_KINDS, {*taken, self._customer})

    def occasions_of(self, relation: Relation, status: Status) -> Sequence[Occasion]:
        return [Occasion(kind, reason, also=None) for kind in SESSION_KINDS for reason in REASONS]

    def num_disputed(self, facts: int) -> int:
        """Return all but one in three, at least one."""
        return facts - facts // 3

    def paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        """Return so many matters of one errand, each a part of its own; the one that is told is always among them."""
        errand = self._errand or rng.choice(list(self.domain.errands))
        told, *others = self.domain.matters_of(self.domain.errands[errand])
        return [[self.relation(name)] for name in rng.shuffled([told, *rng.sample(others, hops - 1)])]

    def is_shown(self, statement: Statement) -> bool:
        if statement.relation.startswith(UNDONE):
            return True
        shown = SeededRandom("filed by a call", statement.model_dump_json(exclude_none=True)).bernoulli(0.5)
        return statement.status == "certified" and statement.relation != WHO.name and shown

    def session(self, statement: Statement) -> str:
        """Return the call that filed a matter, or undid that, and what it gave back."""
        undone = statement.relation.startswith(UNDONE)
        label = self.domain.matters[statement.relation.removeprefix(UNDONE)].label
        arguments = {"customer": statement.subject, "matter": label}
        if not undone:
            arguments["value"] = statement.value
        call = Call(tool=TAKEN_BACK if undone else FILED, arguments=arguments)
        done = {"undone" if undone else "filed": statement.value, "matter": label, "customer": statement.subject}
        return f"{PROMPT}{call.text}\n{json.dumps({**done, 'day': spoken(statement.as_of)}, ensure_ascii=False)}"

    def runs_with(self, statement: Statement) -> Mapping[str, str]:
        return {"for_whom": statement.subject}

    def material(self, plan: DocumentPlan) -> Mapping[str, str]:
        """A session is of the latest day that it speaks of; in all of them the same customer speaks, of one of her people."""
        names = NameMaker(SeededRandom(plan.document_id, "material"), NAME_KINDS)
        return {
            "customer": self._customer,
            "company": self.domain.company,
            "clerk": names.new("person"),
            "colleague": names.new("person"),
            "held_on": spoken(max(statement.as_of for statement in plan.statements)),
            "lookup": self._lookup(plan.subject),
        }

    def _lookup(self, name: str) -> str:
        """Return the call by which a clerk looks somebody up, with what it gave back."""
        company = Company(self.domain, drawn_rows(self.domain, customers=[name], staff=[]))
        find = Call(tool=self.domain.finder(CUSTOMERS), arguments={NAME: name})
        return f"{PROMPT}{find.text}\n{company.call(find)}"


def staff_and_customers(
    domain: Domain, plans: Sequence[DocumentPlan], *, path: Sequence[object]
) -> tuple[list[str], list[str]]:
    """Return the names of staff and of customers in the planned sessions; to the staff, a few more who appear in none."""
    staff: dict[str, None] = {}
    customers: dict[str, None] = {}
    for plan in plans:
        customers[plan.subject] = None
        for statement in plan.statements:
            if statement.relation == WHO.name:
                customers[statement.value] = None
                continue
            customers[statement.subject] = None
            if domain.matters[statement.relation.removeprefix(UNDONE)].value == "person":
                staff[statement.value] = None
    names = NameMaker(SeededRandom(*path, STAFF), NAME_KINDS, {*staff, *customers})
    others = [names.new("person") for _ in range(OTHER_STAFF)]
    return sorted([*staff, *others]), sorted(customers)
