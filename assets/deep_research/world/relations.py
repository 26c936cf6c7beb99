"""The relations of the fictional world: each subject has one value of each, which a document may state."""

from collections.abc import Sequence
from dataclasses import dataclass

from assets.deep_research.world.dates import random_date, spoken
from assets.deep_research.world.names import KINDS, EntityKind
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.answers import AnswerKind


@dataclass(frozen=True)
class Relation:
    """`meaning` states the relation with {subject} and {value}; `phrase` is a noun phrase for the value, with {x}.

    `value`: the kind of entity or of answer that the value is. Numbers lie in `between`, which has the years of dates;
    options are one of `options`.
    """

    name: str
    subject: EntityKind
    value: EntityKind | AnswerKind
    meaning: str
    phrase: str
    between: tuple[int, int] = (0, 0)
    options: tuple[str, ...] = ()

    @property
    def leads_on(self) -> bool:
        """Whether the value is an entity, which has relations of its own."""
        return self.value in ("person", "place", "firm", "device", "study")

    @property
    def answer_kind(self) -> AnswerKind:
        return "name" if self.value in ("person", "place", "firm", "device", "study") else self.value


RELATIONS: tuple[Relation, ...] = (
    Relation("maker", "device", "firm", "{subject} is made by {value}", "the firm that makes {x}"),
    Relation("designer", "device", "person", "{subject} was designed by {value}", "the person who designed {x}"),
    Relation("proof", "device", "study", "{subject} was tried out in the {value}", "the study in which {x} was tried out"),
    Relation("weight", "device", "number", "{subject} weighs {value} grams", "the weight in grams of {x}", between=(130, 9870)),
    Relation(
        "housing",
        "device",
        "option",
        "the housing of {subject} is of {value}",
        "the material of which the housing of {x} is made",
        options=("slate", "copper", "maple", "ceramic", "linen", "cork"),
    ),
    Relation(
        "launch",
        "device",
        "date",
        "{subject} was launched on {value}",
        "the date on which {x} was launched",
        between=(2001, 2030),
    ),
    Relation("seat", "firm", "place", "{subject} has its seat in {value}", "the town in which {x} has its seat"),
    Relation("director", "firm", "person", "{subject} is directed by {value}", "the person who directs {x}"),
    Relation(
        "supplier", "firm", "firm", "{subject} buys most of its parts from {value}", "the firm that supplies most parts to {x}"
    ),
    Relation(
        "staff",
        "firm",
        "number",
        "{subject} employs {value} people",
        "the number of people whom {x} employs",
        between=(110, 9890),
    ),
    Relation(
        "registration",
        "firm",
        "date",
        "{subject} was registered on {value}",
        "the date on which {x} was registered",
        between=(1951, 2024),
    ),
    Relation("hometown", "person", "place", "{subject} grew up in {value}", "the town in which {x} grew up"),
    Relation("teacher", "person", "person", "{subject} was taught by {value}", "the person who taught {x}"),
    Relation("employer", "person", "firm", "{subject} works for {value}", "the firm for which {x} works"),
    Relation(
        "birth", "person", "date", "{subject} was born on {value}", "the date on which {x} was born", between=(1948, 1998)
    ),
    Relation(
        "members",
        "study",
        "number",
        "the {subject} had {value} participants",
        "the number of participants of {x}",
        between=(120, 9880),
    ),
    Relation("lead", "study", "person", "the {subject} was led by {value}", "the person who led {x}"),
    Relation("site", "study", "place", "the {subject} was carried out in {value}", "the town in which {x} was carried out"),
    Relation("instrument", "study", "device", "the {subject} measured with the {value}", "the device with which {x} measured"),
    Relation(
        "end",
        "study",
        "date",
        "the {subject} was completed on {value}",
        "the date on which {x} was completed",
        between=(1996, 2030),
    ),
    Relation("mayor", "place", "person", "the mayor of {subject} is {value}", "the mayor of {x}"),
    Relation("twin", "place", "place", "{subject} is twinned with {value}", "the town with which {x} is twinned"),
    Relation(
        "trade", "place", "firm", "most people in {subject} work for {value}", "the firm for which most people in {x} work"
    ),
    Relation(
        "height",
        "place",
        "number",
        "{subject} lies {value} metres above the sea",
        "the height in metres above the sea at which {x} lies",
        between=(101, 4890),
    ),
    Relation(
        "emblem",
        "place",
        "option",
        "the emblem of {subject} is a {value}",
        "the emblem of {x}",
        options=("heron", "lantern", "thistle", "anchor", "beehive", "millstone"),
    ),
)
BY_NAME = {relation.name: relation for relation in RELATIONS}


def relations_of(kind: str) -> Sequence[Relation]:
    return [relation for relation in RELATIONS if relation.subject == kind]


def random_value(relation: Relation, rng: SeededRandom) -> str:
    """A value of a relation that leads to no entity, as documents spell it."""
    if relation.value == "number":
        low, high = relation.between
        return str(low + rng.integer_below(high - low))
    if relation.value == "date":
        first, last = relation.between
        return spoken(random_date(rng, first_year=first, years=last - first + 1))
    return rng.choice(relation.options)


def random_path(rng: SeededRandom, hops: int) -> list[Relation]:
    """Relations of which each one's value is the next one's subject; no relation comes twice.

    Three of four paths end in a number, a date or an option, the others in a name.
    """
    ends_in_name = rng.integer_below(4) == 0
    while True:
        path: list[Relation] = []
        kind = str(rng.choice(KINDS))
        while len(path) < hops:
            last = len(path) == hops - 1
            fitting = [
                relation
                for relation in relations_of(kind)
                if relation not in path and relation.leads_on == (not last or ends_in_name)
            ]
            if not fitting:
                break
            path.append(rng.choice(fitting))
            kind = path[-1].value
        if len(path) == hops:
            return path
