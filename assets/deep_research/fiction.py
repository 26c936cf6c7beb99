"""The relations of the fictional world: each subject has one value of each, which a document may state."""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from assets.deep_research.names import KINDS, NAME_KINDS
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.facts import DocumentPlan, Status
from assets.memory_items.world.occasions import Occasion, read_occasions
from assets.memory_items.world.relations import FactWorld, NameMaker, Relation, days_of_years, numbers_beside, spoken
from assets.recipe.document_tasks import Operation

# Documents are of a few years, after all that they speak of.
WRITTEN = days_of_years(2019, 2024, worked=True)
LATE = days_of_years(1991, 2016, worked=True)
OLD = days_of_years(1951, 1999, worked=True)
# Each noun phrase ends in {x}: nested ones then read from left to right, however many hops there are.
RELATIONS: tuple[Relation, ...] = (
    Relation("maker", "device", "firm", "{subject} is made by {value}", "the firm that makes {x}"),
    Relation("designer", "device", "person", "{subject} was designed by {value}", "the person who designed {x}"),
    Relation("proof", "device", "study", "{subject} was tried out in {value}", "the study that tried out {x}"),
    Relation("weight", "device", "number", "{subject} weighs {value} grams", "the weight in grams of {x}", (130, 9870)),
    Relation(
        "housing",
        "device",
        "option",
        "the housing of {subject} is of {value}",
        "the material of the housing of {x}",
        options=("steel", "brass", "aluminium", "ceramic", "walnut", "nylon"),
    ),
    Relation("launch", "device", "date", "{subject} was launched on {value}", "the launch date of {x}", days=LATE),
    Relation("seat", "firm", "place", "{subject} has its seat in {value}", "the town that is the seat of {x}"),
    Relation("director", "firm", "person", "{subject} is directed by {value}", "the person who directs {x}"),
    Relation(
        "supplier", "firm", "firm", "{subject} buys most of its parts from {value}", "the firm that supplies most parts to {x}"
    ),
    Relation(
        "floor", "firm", "number", "{subject} has {value} square metres", "the floor space in square metres of {x}", (210, 9870)
    ),
    Relation("registration", "firm", "date", "{subject} was registered on {value}", "the registration date of {x}", days=OLD),
    Relation("hometown", "person", "place", "{subject} grew up in {value}", "the childhood town of {x}"),
    Relation("teacher", "person", "person", "{subject} was taught by {value}", "the person who taught {x}"),
    Relation("employer", "person", "firm", "{subject} works for {value}", "the employer of {x}"),
    Relation("birth", "person", "date", "{subject} was born on {value}", "the birth date of {x}", days=OLD),
    Relation(
        "members", "study", "number", "{subject} had {value} participants", "the number of participants of {x}", (120, 1980)
    ),
    Relation("lead", "study", "person", "{subject} was led by {value}", "the person who led {x}"),
    Relation("site", "study", "place", "{subject} was carried out in {value}", "the town that hosted {x}"),
    Relation("instrument", "study", "device", "{subject} measured with {value}", "the measuring device of {x}"),
    Relation("end", "study", "date", "{subject} was completed on {value}", "the completion date of {x}", days=LATE),
    Relation("mayor", "place", "person", "the mayor of {subject} is {value}", "the mayor of {x}"),
    Relation("twin", "place", "place", "{subject} is twinned with {value}", "the twin town of {x}"),
    Relation("trade", "place", "firm", "most people in {subject} work for {value}", "the firm that employs most people in {x}"),
    Relation(
        "height",
        "place",
        "number",
        "{subject} lies {value} metres above the sea",
        "the height in metres above the sea of {x}",
        (101, 1890),
    ),
    Relation(
        "emblem",
        "place",
        "option",
        "the emblem of {subject} is a {value}",
        "the emblem of {x}",
        options=("heron", "lantern", "thistle", "kettle", "beehive", "millstone"),
    ),
)
# Of these numbers a sum says something; numbers and dates that can be compared; and values that several subjects may share.
ADDED = ("weight", "floor", "members")
COMPARED = (*ADDED, "height", "launch", "registration", "birth", "end")
COUNTED = ("maker", "designer", "proof", "seat", "director", "supplier", "hometown", "teacher", "lead", "site", "instrument")
MOST_LEADING = 2  # facts that lead to what is counted
STATUSES: tuple[Status, ...] = ("plain", "plain", "plain", "certified", "unconfirmed")
OCCASIONS = read_occasions(Path(__file__).with_name("occasions.yaml"))
STANDINGS: Mapping[Status, str] = {"plain": "on record", "certified": "certified", "unconfirmed": "not confirmed yet"}


def _lengths_of_parts(hops: int, operation: Operation, rng: SeededRandom) -> list[int]:
    """Return how many facts each part takes: two parts of a difference, three or more of an order, in seeded order."""
    fewest = {"order": 3}.get(operation, 2)
    most = 2 if operation == "difference" else hops
    # A part of more than three facts would be a chain with something beside it.
    fewest = max(fewest, -(-hops // 3))
    parts = fewest + rng.integer_below(most - fewest + 1)
    return rng.shuffled([hops // parts + (number < hops % parts) for number in range(parts)])


def _relations_backwards(kind: str, length: int, *, other_than: Sequence[Relation], rng: SeededRandom) -> list[Relation]:
    """Return so many relations that lead to an entity of this kind, none of them twice; fewer where there are no more."""
    path: list[Relation] = []
    for _ in range(length):
        fitting = [
            relation for relation in RELATIONS if relation.value == kind and relation not in path and relation not in other_than
        ]
        if not fitting:
            break
        path.insert(0, rng.choice(fitting))
        kind = path[0].subject
    return path


class FictionalWorld(FactWorld):
    """People, places, firms, devices and studies that exist nowhere."""

    write_prompt = "dr_sources/write"
    standings = STANDINGS
    most_tokens = 260
    spare_clusters = 1.5  # its documents are shorter than others
    relations = RELATIONS
    document_kinds = ("letter", "minutes", "news", "notice", "memo", "certificate")
    statuses = STATUSES
    days = WRITTEN
    tells_why = True

    def entities(self, path: Sequence[object], taken: Set[str]) -> NameMaker:
        return NameMaker(SeededRandom(*path), NAME_KINDS, taken)

    def _path(self, rng: SeededRandom, hops: int) -> list[Relation]:
        """Return such a path. Three of four paths end in a number, a date or an option, the others in a name."""
        ends_in_name = rng.integer_below(4) == 0
        while True:
            path: list[Relation] = []
            kind = str(rng.choice(KINDS))
            while len(path) < hops:
                is_last = len(path) == hops - 1
                leads_on = not is_last or ends_in_name
                fitting = [
                    relation for relation in self.relations_of(kind) if relation not in path and relation.leads_on == leads_on
                ]
                if not fitting:
                    break
                path.append(rng.choice(fitting))
                kind = path[-1].value
            if len(path) == hops:
                return path

    def paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        if operation == "follow":
            return [self._path(rng, hops)]
        # What is weighed has two values of one relation.
        steps = hops - 1 if operation == "weigh" else hops
        while True:
            paths = self._drawn_paths(rng, hops, operation)
            # Where no relation leads to a part's first subject, the part is shorter than it should be.
            if sum(map(len, paths)) == steps:
                return paths

    def _drawn_paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        if operation == "count":
            members = max(2, hops - rng.integer_below(min(MOST_LEADING + 1, hops - 1)))
            counted = self.relation(rng.choice(COUNTED))
            leading = _relations_backwards(counted.value, hops - members, other_than=[counted], rng=rng)
            return [*([leading] if leading else []), [counted] * (hops - len(leading))]
        amounts = [self.relation(name) for name in (ADDED if operation == "sum" else COMPARED)]
        amount = rng.choice(amounts)
        if operation == "weigh":
            return [[*_relations_backwards(amount.subject, hops - 2, other_than=[amount], rng=rng), amount]]
        if operation == "most":
            others = [relation for relation in self.relations_of(amount.subject) if relation != amount]
            return [*[[amount]] * (hops - 1), [rng.choice(others)]]
        paths: list[list[Relation]] = []
        for length in _lengths_of_parts(hops, operation, rng):
            paths.append([*_relations_backwards(amount.subject, length - 1, other_than=[amount], rng=rng), amount])
        return paths

    def occasions_of(self, relation: Relation, status: Status) -> Sequence[Occasion]:
        # An exact number or day comes up only where somebody reckons with it.
        ordinary = OCCASIONS.of(relation.name, relation.subject if relation.leads_on else "")
        return OCCASIONS.of_status.get(status) or ordinary

    def causes_of(self, relation: Relation, value: str) -> Sequence[str]:
        return OCCASIONS.causes_of(relation.name, value)

    def material(self, plan: DocumentPlan) -> Mapping[str, str]:
        """A document is of the day of its facts; two people, a town and its manner are its own."""
        rng = SeededRandom(plan.document_id, "material")
        names = NameMaker(rng, NAME_KINDS)
        people = {"writer": names.new("person"), "colleague": names.new("person")}
        written = {"writers_town": names.new("place"), "written_on": spoken(plan.statements[0].as_of)}
        return {**people, **written, "manner": rng.choice(OCCASIONS.manners[plan.kind]), "numbers": numbers_beside(rng)}


WORLD = FictionalWorld()
