"""What is said in an invented world: relations of subjects to values, and where subjects and values are taken from."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import get_args

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.answers import AnswerKind
from assets.memory_items.facts import DocumentPlan, Status
from assets.memory_items.world.dates import random_date, spoken

PLAIN_KINDS = frozenset(get_args(AnswerKind)) - {"name"}  # of values that have no relations of their own


@dataclass(frozen=True)
class Relation:
    """`meaning` states the relation with {subject} and {value}; `phrase` is a noun phrase for the value, with {x}.

    `subject` is a kind of entity, `value` one too or a kind of answer. Numbers lie in `between`, which has the years of
    dates; options are one of `options`. `disputed`: whether documents may disagree on it.
    """

    name: str
    subject: str
    value: str
    meaning: str
    phrase: str
    between: tuple[int, int] = (0, 0)
    options: tuple[str, ...] = ()
    disputed: bool = True

    @property
    def leads_on(self) -> bool:
        """Whether the value is an entity, which may have relations of its own."""
        return self.value not in PLAIN_KINDS

    @property
    def answer_kind(self) -> AnswerKind:
        return next((kind for kind in get_args(AnswerKind) if kind == self.value), "name")


class Entities(ABC):
    """Subjects and values of one cluster, no entity twice."""

    @abstractmethod
    def new(self, kind: str) -> str:
        """An entity that was not there before. Raises LookupError where there is none left."""

    @abstractmethod
    def alike(self, kind: str, name: str) -> str:
        """A new entity of the same kind that is easily taken for this one. Raises LookupError where there is none left."""

    def value(self, relation: Relation, *, subject: str, other_than: Set[str], rng: SeededRandom) -> str:
        """A value of the subject's relation, as documents spell it; plain ones differ from the others given."""
        if relation.leads_on:
            return self.new(relation.value)
        value = random_value(relation, rng)
        while value in other_than:
            value = random_value(relation, rng)
        return value


def random_value(relation: Relation, rng: SeededRandom) -> str:
    """A value of a relation that leads to no entity, as documents spell it."""
    if relation.value == "number":
        low, high = relation.between
        return str(low + rng.integer_below(high - low))
    if relation.value == "date":
        first, last = relation.between
        return spoken(random_date(rng, first_year=first, years=last - first + 1))
    return rng.choice(relation.options)


class World(ABC):
    """An invented world: what is said in it, in documents of which kinds, and in which words of a writer.

    `title_slots` are what titles have to have, `text_slots` what texts may have beside {statements}, and `needed_slots`
    those of them that they must. `statuses` are those of facts and of what says the same of others, each as often as it is
    listed. `asides_elsewhere`: statements about others, at most, in each document; `days_apart`: how long before its main
    statement the others are of, at most, where 0 is any time.
    """

    tell_prompt: str
    phrase_prompt: str
    relations: Sequence[Relation]
    document_kinds: Sequence[str]
    title_slots: Sequence[str]
    text_slots: frozenset[str]
    needed_slots: frozenset[str]
    statuses: Sequence[Status]
    asides_elsewhere: int = 0
    days_apart: int = 0

    @abstractmethod
    def entities(self, path: Sequence[object], taken: Set[str]) -> Entities:
        """Where a cluster of this seeded path takes its entities from: none that are taken."""

    @abstractmethod
    def path(self, rng: SeededRandom, hops: int) -> list[Relation]:
        """Relations of which each one's value is the next one's subject; no relation comes twice."""

    @abstractmethod
    def source_words(self, relation: str, status: Status) -> Sequence[str]:
        """Words that say from which day a statement is, with {day}, and how sure it is."""

    @abstractmethod
    def slots(self, plan: DocumentPlan, *, rng: SeededRandom, path: Sequence[object]) -> Mapping[str, str]:
        """What stands in the slots of a document's template."""

    def relation(self, name: str) -> Relation:
        return next(one for one in self.relations if one.name == name)

    def relations_of(self, kind: str) -> Sequence[Relation]:
        return [one for one in self.relations if one.subject == kind]
