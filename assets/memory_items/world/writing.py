"""Documents written around their facts: a writer tells each in its own words, and a program finds every value in the text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pydantic import BaseModel

from assets.engine.seeded_random import SeededRandom
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.memory_items.documents import LABEL_WORDS, PARAGRAPHS, Role, opening_and, sentence_around, told_around
from assets.memory_items.facts import UNDONE, DocumentPlan, Fact, Hop, PlacedStatement, SourceDocument, Statement
from assets.memory_items.world.relations import FactWorld, Relation, spoken, spoken_in
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.records.answers import read_date
from assets.records.base import Text
from assets.text.calendar_words import MONTHS
from assets.text.words import count_tokens, spells, words_of
from prompts.catalogue import load_prompt

FEWEST_TOKENS = 60  # of a document's text, without its title
MOST_TITLE_TOKENS = 30
NUMBER = re.compile(r"\d{3,}")  # a shorter one is no value of a relation
# Days in the forms that `read_date` reads, with their year or without.
DAY = r"\d{1,2}(?:st|nd|rd|th)?"
MONTH = "|".join((*MONTHS, *[month[:3] for month in MONTHS]))
WITH_YEAR = rf"\d{{4}}-\d{{2}}-\d{{2}}|{DAY}(?: of)? [A-Z][a-z]+,? \d{{4}}|[A-Z][a-z]+ {DAY},? \d{{4}}"
DATE = re.compile(rf"\b(?:{WITH_YEAR}|{DAY}(?: of)? (?:{MONTH})|(?:{MONTH}) {DAY})\b")


class WrittenText(BaseModel):
    """The reply of a writer."""

    title: Text
    text: Text


class PlannedDocuments(Protocol):
    """A record with the facts that an answer takes, and the documents that have to be told."""

    @property
    def task_id(self) -> str: ...

    @property
    def chain(self) -> tuple[Hop, ...]: ...

    @property
    def plans(self) -> tuple[DocumentPlan, ...]: ...


class ToldDocuments(NamedTuple):
    """A task's own documents, and filler, in their words."""

    world: FactWorld
    documents: tuple[SourceDocument, ...]
    filler: tuple[SourceDocument, ...]


@dataclass(frozen=True)
class DocumentWriter:
    """Has documents written. The same plan asks for the same, so that the reply cache pays each document once."""

    world: FactWorld
    recipe: DocumentTaskRecipe
    model: LanguageModel

    async def write(
        self, plan: DocumentPlan, *, others: Sequence[DocumentPlan], role: Role, cluster: str = ""
    ) -> SourceDocument:
        """Return the planned document. Raises ItemFailed where no reply tells its facts and nothing of `others`."""
        told = PlannedText(self.world, plan, others)
        text = await ask_structured(
            self.model,
            prompt=load_prompt(self.world.write_prompt).render(**told.variables, language=self.recipe.language_name),
            reply=WrittenText,
            convert=told.expect_usable,
            settings=self.recipe.asking,
        )
        return SourceDocument(
            document_id=plan.document_id,
            title=text.title,
            text=text.text,
            role=role,
            statements=tuple(told.place_statements(text)),
            cluster=cluster,
        )

    async def write_all(
        self, plans: Sequence[DocumentPlan], *, role: Role | None = None, cluster: str = ""
    ) -> list[SourceDocument]:
        """Return all documents of a cluster, in the order of the plans. `role`: another one than they have there."""
        calls = [self.write(plan, others=plans, role=role or plan.role, cluster=cluster) for plan in plans]
        return await gather_all(*calls)


@dataclass(frozen=True)
class PlannedText:
    """What a writer is told of a planned document, and what its text has to hold. `others`: all documents of its cluster."""

    world: FactWorld
    plan: DocumentPlan
    others: Sequence[DocumentPlan]

    @property
    def variables(self) -> Mapping[str, object]:
        """The variables of the prompt."""
        return {
            "kind": self.plan.kind,
            "occasion": self.plan.occasion,
            "subject": self.plan.subject,
            "facts": list(map(self._fact, self.plan.statements)),
            "material": dict(self.world.material(self.plan)),
            "leave_out": self._left_out(),
        }

    def _left_out(self) -> list[str]:
        """Return what else could be asked of the subject, which other documents may tell."""
        told = {statement.relation.removeprefix(UNDONE) for statement in self.plan.statements}
        hinted_at = {relation.hints_at for relation in self.world.relations if relation.name in told}
        kinds = {
            self.world.relation(statement.relation).subject
            for statement in self.plan.statements
            if statement.subject == self.plan.subject
        }
        return [
            relation.phrase.replace("{x}", self.plan.subject)
            for relation in self.world.relations
            if relation.subject in kinds and relation.name not in told | hinted_at
        ]

    def _fact(self, statement: Statement) -> dict[str, str]:
        # Where all is of the day in the title, no fact needs a day of its own.
        day = "" if self.world.all_of_titles_day else spoken(statement.as_of)
        if self.world.is_shown(statement):
            run_on = {"run_on": day} if day else {}
            expected = self.world.expected(statement)
            wrong = {"expected": expected} if expected else {}
            return {"session": self.world.session(statement), **run_on, **self.world.runs_with(statement), **wrong}
        relation = self.world.relation(statement.relation)
        said = said_plainly(relation, statement) if self.world.meaning_told else named_alone(relation)
        fact = {"fact": said, "name": statement.subject, "value": statement.value}
        if day:
            fact["day"] = day
        if statement.status in self.world.standings:
            fact["standing"] = self.world.standings[statement.status]
        causes = self.world.causes_of(relation, statement.value)
        # Hearsay takes the place of nothing, though the later of two may count; a certificate gives no reasons.
        if causes and statement.is_new and statement.status == "plain":
            fact["because"] = SeededRandom(self.plan.document_id, "because").choice(causes)
        return fact

    def expect_usable(self, text: WrittenText) -> WrittenText:
        """Return the text. Raises ValueError with a sentence for each reason why it cannot be used."""
        problems = list(self.problems(text))
        if problems:
            raise ValueError(" ".join(problems))
        return text

    def problems(self, text: WrittenText) -> Iterator[str]:
        """Yield a sentence for each reason why a text cannot be used."""
        tokens = count_tokens(text.text)
        if not FEWEST_TOKENS <= tokens <= self.world.most_tokens:
            yield f"The text has {tokens} tokens; {FEWEST_TOKENS} to {self.world.most_tokens} are wanted."
        if count_tokens(text.title) > MOST_TITLE_TOKENS:
            yield "The title is too long."
        found = self._places(text)
        for statement in self.plan.statements:
            if statement not in found:
                yield self._lacking(statement)
        for name in self.world.copied_material:
            wanted = self.world.material(self.plan)[name]
            if wanted not in text.text:
                yield f"The text must have this, letter by letter:\n{wanted}"
        whole = f"{text.title}\n{text.text}"
        for word in sorted(LABEL_WORDS & set(words_of(whole))):
            yield f"Write without the word {word!r}."
        yield from self._title_problems(text.title)
        given = "\n".join(self._texts_given())
        for number in dict.fromkeys(NUMBER.findall(whole)):
            # A status code such as 404 is free where no value is like it; a longer number may be taken for that of a ticket.
            like_value = len(number) > 3 or any(relation.may_have(int(number)) for relation in self.world.relations)
            if like_value and number not in given:
                yield f"The number {number} is none of those that you were given; leave it out."
        for value in self._values_of_others(given):
            if spells(whole, value):
                yield f"Another document tells of {value}; leave it out."

    def _lacking(self, statement: Statement) -> str:
        if self.world.is_shown(statement):
            named = " and ".join([spoken(statement.as_of), *self.world.runs_with(statement).values()])
            session = self.world.session(statement)
            return f"Copy this session letter by letter, as a paragraph behind one that has {named}:\n{session}"
        wanted = f"{statement.subject}, {statement.value} and {spoken(statement.as_of)}"
        elsewhere = "the title" if self.world.asides_elsewhere else "the title, the first or, of the day, the last paragraph"
        return f"One paragraph must have {wanted}, letter by letter; {elsewhere} may have the name or the day in its place."

    def _title_problems(self, title: str) -> Iterator[str]:
        if not self.world.dated_titles:
            return
        day = spoken(max(statement.as_of for statement in self.plan.statements))
        if day not in title:
            yield f"The title must have the day {day}."
        for statement in self.plan.statements:
            if statement.subject in title or statement.value in title.replace(day, ""):
                yield "The title names what the document is about; give it the kind of document and the day."

    def _texts_given(self) -> Iterator[str]:
        yield self.plan.subject
        for fact in map(self._fact, self.plan.statements):
            yield from fact.values()
        yield from self.world.material(self.plan).values()

    def _values_of_others(self, given: str) -> Iterator[str]:
        """Yield what only other documents of the cluster say; options are in many documents, and tell nothing."""
        for plan in self.others:
            # Its own are given, and need not be looked for.
            statements = plan.statements if plan != self.plan else ()
            for statement in statements:
                if not self.world.relation(statement.relation).options and not spells(given, statement.value):
                    day = read_date(statement.value)
                    yield spoken_in(day, self._year_of_title(statement)) if day else statement.value

    def place_statements(self, text: WrittenText) -> Iterator[PlacedStatement]:
        """Yield the statements of a usable text with the places of their values."""
        found = self._places(text)
        for statement in self.plan.statements:
            start, end = found[statement]
            yield PlacedStatement(statement=statement, start=start, end=end)

    def _places(self, text: WrittenText) -> dict[Statement, tuple[int, int]]:
        """Return the place of each statement's value in the text, without those that it does not tell.

        No place is there twice, but for one that a sentence tells of two subjects.
        """
        found: dict[Statement, tuple[int, int]] = {}
        for statement in self.plan.statements:
            places = [place for place in self._values_in(text.text, statement) if self._is_told(statement, text, place[0])]
            # The name in a value's sentence says more of what is told there than in its paragraph, and that than the opening.
            places.sort(key=lambda place: statement.subject not in told_around(text.text, place[0]))
            places.sort(key=lambda place: statement.subject not in sentence_around(text.text, place[0]))
            shared: list[tuple[int, int]] = []
            for other, place in found.items():
                apart = other.subject != statement.subject
                if apart and place in places and statement.subject in sentence_around(text.text, place[0]):
                    shared.append(place)
            free = [place for place in places if place not in found.values()]
            if free or shared:
                found[statement] = (free or shared)[0]
        return found

    def _values_in(self, text: str, statement: Statement) -> Iterator[tuple[int, int]]:
        """Yield the places where the value stands: whole, and of what is shown in its session alone."""
        if self.world.is_shown(statement):
            session = self.world.session(statement)
            at = text.find(session)
            if at >= 0:
                start = at + session.index(statement.value, session.rfind("\n") + 1)
                yield start, start + len(statement.value)
            return
        day = read_date(statement.value) if self.world.relation(statement.relation).value == "date" else None
        if day:
            for match in DATE.finditer(text):
                if read_date(match[0], year=self._year_of_title(statement)) == day:
                    yield match.span()
            return
        for match in re.finditer(rf"(?<!\w){re.escape(statement.value)}(?!\w)", text):
            yield match.span()

    def _year_of_title(self, statement: Statement) -> int | None:
        """Return the year that days of a text may go without, as its title has it; None where days may be of other years."""
        return statement.as_of.year if self.world.all_of_titles_day else None

    def _is_told(self, statement: Statement, text: WrittenText, at: int) -> bool:
        """Return True where the words around a value have the subject and the day as well."""
        told = told_around(text.text, at)
        foot = ""
        if not self.world.asides_elsewhere:
            # Where nothing is told of others, what is named at the beginning is meant by "it", and a day at the foot is of all.
            told = opening_and(told, text.text)
            foot = text.text.split(PARAGRAPHS)[-1]
        around = f"{text.title}\n{told}"
        named = statement.subject in around
        return named and any(read_date(day) == statement.as_of for day in DATE.findall(f"{around}\n{foot}"))


def said_plainly(relation: Relation, statement: Statement) -> str:
    """Return the relation's meaning with the statement's subject and value in it."""
    return relation.meaning.replace("{subject}", statement.subject).replace("{value}", statement.value)


def named_alone(relation: Relation) -> str:
    """Return the phrase with dots for the subject: what is told in parts is not copied as a sentence."""
    return relation.phrase.replace("{x}", "...")


def placed_facts(document: SourceDocument, world: FactWorld) -> list[Fact]:
    """Return the statements of an invented document as facts; dates in ISO form."""
    facts: list[Fact] = []
    for number, placed in enumerate(document.statements):
        statement = placed.statement
        relation = world.relation(statement.relation)
        value = statement.value
        day = read_date(value) if relation.answer_kind == "date" else None
        if day is not None:
            value = day.isoformat()
        fact = Fact(
            fact_id=f"{document.document_id}-{number}",
            document_id=document.document_id,
            subject=statement.subject,
            relation=statement.relation,
            value=value,
            phrase=relation.phrase,
            kind=relation.answer_kind,
            options=relation.options,
            start=placed.start,
            end=placed.end,
            as_of=statement.as_of,
            status=statement.status,
        )
        facts.append(fact)
    return facts
