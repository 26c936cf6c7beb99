"""The service desk of a company as a world of facts: customers, what was settled with each, and the sessions that tell it."""

import json
from collections.abc import Mapping, Sequence, Set

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.facts import DocumentPlan, Status
from assets.memory_items.world.relations import PERSON, FactWorld, NameKind, NameMaker, Relation, SlotWords, spoken
from assets.recipe.document_tasks import Operation
from assets.tool_dialogue.company import Company, drawn_rows
from assets.tool_dialogue.domains import CUSTOMERS, KEY_OF_CUSTOMER, NAME, STAFF, Domain
from assets.worlds.tools import Call

SESSION_KINDS = ("phone call", "chat", "letter", "visit to the desk")
NAME_KINDS: Mapping[str, NameKind] = {"customer": PERSON, "person": PERSON}
# A thought that was left open settles nothing, so that it only ever disagrees with what was settled.
STATUSES: tuple[Status, ...] = ("plain", "plain", "plain", "certified")
AS_OF: Mapping[Status, tuple[str, ...]] = {
    "plain": ("as was settled on {day}", "by what was settled on {day}", "going by the settlement of {day}"),
    "certified": ("as was confirmed in writing on {day}", "by the written confirmation of {day}"),
    "unconfirmed": ("as was considered, without an agreement, on {day}", "by a thought of {day} that was left open"),
}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
FEW = ("two", "three", "four", "five", "six")
OTHER_STAFF = 4  # whom no session names


class ServiceDesk(FactWorld):
    """The sessions of one company. `matters`: those that an errand takes; without any it is any errand's."""

    tell_prompt = "td_sessions/tell"
    phrase_prompt = "td_sessions/phrase"
    document_kinds = SESSION_KINDS
    statuses = STATUSES
    title_slots = ("date",)
    text_slots = frozenset(("subject", "clerk", "colleague", "company", "date", "weekday", "few", "calls"))
    needed_slots = frozenset(("subject", "clerk", "calls"))
    asides_elsewhere = 1
    days_apart = 60
    settles_with_several = True

    def __init__(self, domain: Domain, matters: Sequence[str] = ()) -> None:
        self.domain = domain
        self.relations = domain.relations
        self._matters = matters

    def entities(self, path: Sequence[object], taken: Set[str]) -> NameMaker:
        return NameMaker(SeededRandom(*path), NAME_KINDS, taken)

    def path(self, rng: SeededRandom, hops: int) -> list[Relation]:
        return [relations[0] for relations in self.paths(rng, hops, "act")]

    def paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        """Return so many matters of one errand, each a part of its own."""
        matters = self._matters or self.domain.matters_of(rng.choice(list(self.domain.errands.values())))
        return [[self.relation(name)] for name in rng.sample(matters, hops)]

    def source_words(self, relation: str, status: Status) -> Sequence[str]:
        return AS_OF[status]

    def slots(self, plan: DocumentPlan, *, rng: SeededRandom, path: Sequence[object]) -> Mapping[str, SlotWords]:
        """A session is of the latest day that it speaks of; the calls in it were made."""
        names = NameMaker(SeededRandom(*path, plan.document_id, "names"), NAME_KINDS)
        return {
            "subject": plan.subject,
            "clerk": names.new("person"),
            "colleague": names.new("person"),
            "company": self.domain.company,
            "date": spoken(max(statement.as_of for statement in plan.statements)),
            "weekday": rng.choice(WEEKDAYS),
            "few": rng.choice(FEW),
            "calls": self._calls_about(plan.subject, rng),
        }

    def _calls_about(self, customer: str, rng: SeededRandom) -> str:
        """Return the calls by which a clerk looks a customer up, with what they gave back, a line each."""
        company = Company(self.domain, drawn_rows(self.domain, customers=[customer], staff=[]))
        find = Call(tool=self.domain.finder(CUSTOMERS), arguments={NAME: customer})
        found = company.call(find)
        key = json.loads(found)[0][self.domain.tables[CUSTOMERS].key]
        owned = [name for name, table in self.domain.tables.items() if table.each_customer]
        look = Call(tool=self.domain.finder(rng.choice(owned)), arguments={KEY_OF_CUSTOMER: key})
        return f"{find.text}\n{found}\n{look.text}\n{company.call(look)}"


def staff_and_customers(
    domain: Domain, plans: Sequence[DocumentPlan], *, path: Sequence[object]
) -> tuple[list[str], list[str]]:
    """Return the people whom the planned sessions name, some of the staff whom none names beside them."""
    staff: dict[str, None] = {}
    customers: dict[str, None] = {}
    for plan in plans:
        customers[plan.subject] = None
        for statement in plan.statements:
            customers[statement.subject] = None
            if domain.matters[statement.relation].value == "person":
                staff[statement.value] = None
    names = NameMaker(SeededRandom(*path, STAFF), NAME_KINDS, {*staff, *customers})
    others = [names.new("person") for _ in range(OTHER_STAFF)]
    return sorted([*staff, *others]), sorted(customers)
