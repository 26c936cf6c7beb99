"""The service desk of a company as a world of facts: customers, what was settled with each, and the sessions that tell it."""

import json
from collections.abc import Mapping, Sequence, Set

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.facts import DocumentPlan, Statement, Status
from assets.memory_items.world.relations import PERSON, FactWorld, NameKind, NameMaker, Relation, spoken
from assets.recipe.document_tasks import Operation
from assets.tool_dialogue.company import Company, drawn_rows
from assets.tool_dialogue.domain import CUSTOMERS, KEY_OF_CUSTOMER, NAME, STAFF, Domain
from assets.tool_dialogue.domains import WHO, relations_of
from assets.worlds.tools import Call

SESSION_KINDS = ("phone call", "chat", "letter", "visit to the desk")
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
# A thought that was left open settles nothing, so that it only ever disagrees with what was settled.
STATUSES: tuple[Status, ...] = ("plain", "plain", "plain", "certified")
AS_OF: Mapping[Status, tuple[str, ...]] = {
    "plain": ("as was settled on {day}", "by what was settled on {day}", "going by the settlement of {day}"),
    "certified": ("as was confirmed in writing on {day}", "by the written confirmation of {day}"),
    "unconfirmed": (
        "as was considered, without an agreement, on {day}",
        "by a thought of {day} that was left open",
        "as somebody without a say in it put it on {day}",
    ),
}
FILED = '{{"customer": "{subject}", "filed": "{label}", "on": "{day}", "as": "'  # what a call gave back, up to the value
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
FEW = ("two", "three", "four", "five", "six")
OTHER_STAFF = 4  # whom no session names


class ServiceDesk(FactWorld):
    """The sessions of one customer with a company, each about one of her people.

    `matters`: those that an errand takes; without any it is any errand's. What is certified was in every second case done: a
    call filed it, and stands in the session with what it gave back. `title_slots` are what titles have to have, `text_slots`
    what texts may have, and `needed_slots` those of them that they must.
    """

    tell_prompt = "td_sessions/tell"
    phrase_prompt = "td_sessions/phrase"
    document_kinds = SESSION_KINDS
    statuses = STATUSES
    title_slots = ("date",)
    text_slots = frozenset(("subject", "clerk", "colleague", "company", "date", "weekday", "few", "calls"))
    needed_slots = frozenset(("subject", "clerk", "calls"))
    aside_statuses = ("plain", "plain", "plain", "certified", "unconfirmed")
    asides_elsewhere = 1
    days_apart = 60
    settles_with_several = True
    found_by = WHO
    written_counts = True

    def __init__(self, domain: Domain, customer: str, matters: Sequence[str] = ()) -> None:
        self.domain = domain
        self.relations = relations_of(domain)
        self._customer = customer
        self._matters = matters

    def entities(self, path: Sequence[object], taken: Set[str]) -> NameMaker:
        return NameMaker(SeededRandom(*path), NAME_KINDS, {*taken, self._customer})

    def num_disputed(self, facts: int) -> int:
        """Return all but one in three, at least one."""
        return facts - facts // 3

    def path(self, rng: SeededRandom, hops: int) -> list[Relation]:
        return [relations[0] for relations in self.paths(rng, hops, "act")]

    def paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        """Return so many matters of one errand, each a part of its own."""
        matters = self._matters or self.domain.matters_of(rng.choice(list(self.domain.errands.values())))
        return [[self.relation(name)] for name in rng.sample(matters, hops)]

    def is_shown(self, statement: Statement) -> bool:
        shown = SeededRandom("filed by a call", statement.model_dump_json(exclude_none=True)).bernoulli(0.5)
        return statement.status == "certified" and statement.relation != WHO.name and shown

    def transcript(self, statement: Statement) -> tuple[str, str]:
        """Return the call that filed a matter, and what it gave back around the value."""
        label = self.domain.matters[statement.relation].label
        day = spoken(statement.as_of)
        call = Call(tool="file_terms", arguments={"customer": statement.subject, "on": day, label: statement.value})
        given_back = FILED.format(subject=statement.subject, label=label, day=day)
        return f"\n\n{call.text}\n{given_back}", '"}\n\n'

    def slots(self, plan: DocumentPlan, *, rng: SeededRandom, path: Sequence[object]) -> Mapping[str, str]:
        """A session is of the latest day that it speaks of; in all of them the same customer speaks, of one of her people."""
        names = NameMaker(SeededRandom(*path, plan.document_id, "names"), NAME_KINDS)
        return {
            "subject": self._customer,
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
            if statement.relation == WHO.name:
                customers[statement.value] = None
                continue
            customers[statement.subject] = None
            if domain.matters[statement.relation].value == "person":
                staff[statement.value] = None
    names = NameMaker(SeededRandom(*path, STAFF), NAME_KINDS, {*staff, *customers})
    others = [names.new("person") for _ in range(OTHER_STAFF)]
    return sorted([*staff, *others]), sorted(customers)
