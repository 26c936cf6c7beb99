"""Invented worlds: relations of subjects to values, and the names, numbers and dates that stand for both."""

from abc import ABC, abstractmethod
from calendar import SATURDAY
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple, get_args

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.facts import DocumentPlan, Hop, Statement, Status
from assets.memory_items.world.occasions import Occasion
from assets.recipe.document_tasks import Operation
from assets.records.answers import AnswerKind, read_date
from assets.text.calendar_words import MONTHS

PLAIN_KINDS = frozenset(get_args(AnswerKind)) - {"name"}  # of values that have no relations of their own
DAYS_OFF = 400  # by which dates of one thing differ at most
NUMBERS_BESIDE = 4
HOLIDAYS = ((1, 1), (12, 25), (12, 26))
# Syllables of names.
ONSETS = tuple("b br c d dr f g gr h j k kr l m n p pr qu r s st t tr v w z".split())  # noqa: SIM905 (easier to read)
VOWELS = ("a", "e", "i", "o", "u", "ae", "ei", "ou")
CODAS = ("l", "ld", "m", "n", "nd", "r", "rn", "s", "sk", "st", "t", "v", "x")
GIVEN_ENDS = ("a", "an", "e", "el", "en", "ia", "im", "in", "is", "o", "or", "us")
FAMILY_ENDS = ("ack", "aly", "ard", "ek", "ell", "enko", "idge", "ini", "ober", "ova", "sen", "wick")


class Days(NamedTuple):
    """The days from the first to the last; of these only those on which offices and teams work, where `worked` is True."""

    first: date
    last: date
    worked: bool = False

    def has(self, day: date) -> bool:
        """Return True for a day of this kind; it may lie before the first or after the last."""
        return not self.worked or (day.weekday() < SATURDAY and (day.month, day.day) not in HOLIDAYS)


def days_of_years(first: int, last: int, *, worked: bool = False) -> Days:
    """Return the days of these years, each of 365 days."""
    begin = date(first, 1, 1)
    return Days(begin, begin + timedelta(days=365 * (last - first + 1) - 1), worked)


# Of documents, where a world has no days of its own: years to come, so that no date stands in a model's training.
DAYS = days_of_years(2031, 2036)


@dataclass(frozen=True)
class Relation:
    """`meaning` states the relation with {subject} and {value}; `phrase` is a noun phrase for the value, with {x}.

    `subject` is a kind of entity, `value` one too or a kind of answer. Numbers lie in `between` and are a multiple of `step`;
    dates lie in `days`; options are one of `options`. `disputed`: whether documents may disagree on it. `fits_one`: whether a
    value makes sense for its subject alone, and is never said of another. `hints_at`: what cannot be left out where it is told.
    """

    name: str
    subject: str
    value: str
    meaning: str
    phrase: str
    between: tuple[int, int] = (0, 0)
    step: int = 1
    days: Days = DAYS
    options: tuple[str, ...] = ()
    disputed: bool = True
    fits_one: bool = False
    hints_at: str = ""

    @property
    def leads_on(self) -> bool:
        """True where the value is an entity, which may have relations of its own."""
        return self.value not in PLAIN_KINDS

    def may_have(self, number: int) -> bool:
        """Return True for a number that may be a value."""
        low, high = self.between
        return low <= number < high and (number - low) % self.step == 0

    @property
    def answer_kind(self) -> AnswerKind:
        for kind in get_args(AnswerKind):
            if kind == self.value:
                return kind
        return "name"


def random_date(rng: SeededRandom, days: Days = DAYS) -> date:
    """Return one of these days."""
    while True:
        day = days.first + timedelta(days=rng.integer_below((days.last - days.first).days + 1))
        if days.has(day):
            return day


def numbers_beside(rng: SeededRandom) -> str:
    """Return numbers that a document may have besides its facts, as references and amounts; no value has so many digits."""
    return ", ".join(str(10_000 + rng.integer_below(90_000)) for _ in range(NUMBERS_BESIDE))


def spoken(day: date) -> str:
    """Return the day as documents spell it, such as 4 May 2031."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def spoken_in(day: date, year: int | None) -> str:
    """Return the day without its year where it is this one, as a document of that year may spell it."""
    return spoken(day).removesuffix(f" {year}")


def comparable(value: str) -> int:
    """Return a number, or the number of days of a date as documents spell it. Raises ValueError for anything else."""
    day = read_date(value)
    return day.toordinal() if day is not None else int(value)


def nearby_values(relation: Relation, value: str, count: int, *, rng: SeededRandom) -> list[str]:
    """Return so many different numbers or dates near this one, as sources give them that do not agree."""
    amount = comparable(value)
    most = DAYS_OFF if relation.value == "date" else amount // 8
    found: list[int] = []
    while len(found) < count:
        other = amount + 1 + rng.integer_below(most) if rng.bernoulli(0.5) else amount - 1 - rng.integer_below(most)
        if other not in found and (relation.value != "date" or relation.days.has(date.fromordinal(other))):
            found.append(other)
    if relation.value == "date":
        return [spoken(date.fromordinal(day)) for day in found]
    return list(map(str, found))


def random_value(relation: Relation, rng: SeededRandom) -> str:
    """Return a value of a relation that leads to no entity, as documents spell it."""
    if relation.value == "number":
        low, high = relation.between
        return str(low + relation.step * rng.integer_below((high - low) // relation.step))
    if relation.value == "date":
        return spoken(random_date(rng, relation.days))
    return rng.choice(relation.options)


def syllable(rng: SeededRandom) -> str:
    return rng.choice(ONSETS) + rng.choice(VOWELS)


def name_stem(rng: SeededRandom, syllables: int) -> str:
    """Return a capitalized stem that ends in a consonant."""
    letters = ""
    for _ in range(syllables):
        letters += syllable(rng)
    return (letters + rng.choice(CODAS)).capitalize()


def person(rng: SeededRandom) -> str:
    """Return a given and a family name."""
    given = name_stem(rng, 1) + rng.choice(GIVEN_ENDS)
    return f"{given} {name_stem(rng, 2)}{rng.choice(FAMILY_ENDS)}"


def same_family(name: str, rng: SeededRandom) -> str:
    """Return another given name before the same family name."""
    return f"{name_stem(rng, 1)}{rng.choice(GIVEN_ENDS)} {name.partition(' ')[2]}"


@dataclass(frozen=True)
class NameKind:
    """Makers of names of one kind: of a new one, and of one that is easily taken for a given one."""

    new: Callable[[SeededRandom], str]
    alike: Callable[[str, SeededRandom], str]


PERSON = NameKind(person, same_family)


class NameMaker:
    """Makes the subjects and values of one cluster. Its names differ from those taken and from all that it made before."""

    def __init__(self, rng: SeededRandom, kinds: Mapping[str, NameKind], taken: Set[str] = frozenset()) -> None:
        self._rng = rng
        self._kinds = kinds
        self._taken = set(taken)

    def new(self, kind: str) -> str:
        """Return an entity that was not there before. Raises LookupError where there is none left."""
        return self._unlike_others(lambda: self._kinds[kind].new(self._rng))

    def similar_name(self, kind: str, name: str) -> str:
        """Return a new entity of the same kind that is easily taken for this one. Raises LookupError where none is left."""
        return self._unlike_others(lambda: self._kinds[kind].alike(name, self._rng))

    def value(self, relation: Relation, *, subject: str, other_than: Set[str], rng: SeededRandom) -> str:
        """Return a value of the subject's relation, as documents spell it; plain ones differ from the others given."""
        if relation.leads_on:
            return self.new(relation.value)
        value = random_value(relation, rng)
        while value in other_than:
            value = random_value(relation, rng)
        return value

    def usable(self, name: str) -> bool:
        """Return True where a name may be used that nobody has yet."""
        return True

    def _unlike_others(self, make: Callable[[], str]) -> str:
        name = make()
        while name in self._taken or not self.usable(name):
            name = make()
        self._taken.add(name)
        return name


class FactWorld(ABC):
    """An invented world: its relations, and its kinds of documents, which a model writes, one call each.

    `statuses` are those of facts and of what says the same of others, each as often as it is listed, and `aside_statuses`
    those of what is said beside, where it is not that of the main statement. `asides_elsewhere`: statements about others, at
    most, in each document; `days_apart`: how long before its main statement the others are of, at most. `shown_relations` are
    shown and not said. `settles_with_several`: whether the subjects beside the one that is asked about have as many documents
    as that one. `found_by`: the relation whose value is such a subject, where a question names what the subject is, and not
    its name. `tells_why`: whether a document says why what held before holds no more. `written_counts`: whether in a third of
    conflicts an earlier certified value counts against a later plain one. `undoing`: by relation the relation of a value that
    was taken back; each subject has one such value. `standings` are the words by which a writer is told how sure a document is
    of a fact; what has none simply is so. `meaning_told`: whether a writer is told the whole meaning of a relation, and not
    its phrase alone, which is no sentence. `dated_titles`: whether a title has the day of the document, and no name or value.
    `spare_clusters`: times as many clusters as are needed for filler, as some have a name of the task's own chain.
    `most_tokens`: of a text, so that what is needed fits into what a memory gives back. `copied_material`: names of the
    material that each text has letter by letter. `days`: the first and the last day of documents.
    """

    write_prompt: str
    standings: Mapping[Status, str]
    meaning_told: bool = False
    dated_titles: bool = False
    spare_clusters: float = 1.3
    most_tokens: int
    copied_material: Sequence[str] = ()
    days: Days = DAYS

    relations: Sequence[Relation]
    document_kinds: Sequence[str]
    statuses: Sequence[Status]
    aside_statuses: Sequence[Status] = ()
    asides_elsewhere: int = 0
    days_apart: int = 0
    shown_relations: frozenset[str] = frozenset()
    settles_with_several: bool = False
    found_by: Relation | None = None
    tells_why: bool = False
    written_counts: bool = False
    undoing: Mapping[str, Relation] = {}

    @property
    def all_of_titles_day(self) -> bool:
        """True where a document has its day in the title, and tells nothing of any other."""
        return self.dated_titles and self.days_apart == 0

    def num_disputed(self, facts: int) -> int:
        """Return of how many of so many facts documents give another value, where they are settled with several subjects."""
        return 1 + facts // 4

    def is_shown(self, statement: Statement) -> bool:
        """Return True for a statement that a document shows in a transcript."""
        return statement.relation in self.shown_relations

    @abstractmethod
    def entities(self, path: Sequence[object], taken: Set[str]) -> NameMaker:
        """Return the source of entities for a cluster of this seeded path; none that are taken."""

    @abstractmethod
    def paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        """Return the relations of each part of a question of so many facts: each one's value is the next one's subject.

        Of a count: those that lead to what is counted, if any, and one relation as often as there are members. Of `most`: the
        relation that is compared, once for each subject, and another one of these subjects.
        """

    @abstractmethod
    def occasions_of(self, relation: Relation, status: Status) -> Sequence[Occasion]:
        """Return the occasions on which a document states this relation, as sure as that."""

    def causes_of(self, relation: Relation, value: str) -> Sequence[str]:
        """Return reasons for which the relation has this value now, and an earlier one holds no more."""
        return ()

    @abstractmethod
    def material(self, plan: DocumentPlan) -> Mapping[str, str]:
        """Return what a document may name beside its facts, such as who wrote it and when."""

    def session(self, statement: Statement) -> str:
        """Return what an interpreter shows of a statement that is shown, and not said; its last line begins with the value."""
        raise LookupError(f"a session that shows {statement.relation}")

    def runs_with(self, statement: Statement) -> Mapping[str, str]:
        """Return what has to be named where the session of a statement stands, by what it is."""
        return {}

    def expected(self, statement: Statement) -> str:
        """Return what the call of a statement that is shown gives where nothing is wrong; empty where that is what it gave."""
        return ""

    def belongs_with(self, relation: Relation, hop: Hop) -> bool:
        """Return True where a document of such a hop may state this relation of its subject as well."""
        return True

    def evidence(self, names: NameMaker, hop: Hop, kind: str) -> tuple[Relation, str] | None:
        """Return a relation and a subject that every document of such a hop states as well, if there is one.

        Raises LookupError where entities are used up.
        """
        return None

    def relation(self, name: str) -> Relation:
        """Return the relation of this name. Raises LookupError."""
        for relation in (*self.relations, *self.undoing.values()):
            if relation.name == name:
                return relation
        raise LookupError(f"the relation {name}")

    def relations_of(self, kind: str) -> Sequence[Relation]:
        return [relation for relation in self.relations if relation.subject == kind]
