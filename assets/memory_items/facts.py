"""Statements, the documents that are planned around them and written, and the facts that stand in the written documents."""

from datetime import date
from typing import Literal, Protocol, runtime_checkable

from pydantic import Field

from assets.memory_items.documents import Role
from assets.records.answers import AnswerKind, normalize_answer, read_date
from assets.records.base import Name, Record, Text
from assets.text.words import count_tokens

Status = Literal["certified", "plain", "unconfirmed"]
UNDONE = "undone "  # before a relation's name: the relation of a value that somebody took back
# Where documents disagree, the highest of these counts, and of equals the latest date.
RANK: dict[Status, int] = {"unconfirmed": 0, "plain": 1, "certified": 2}


class Statement(Record):
    """That a subject has this value of a relation, as of a day, and how sure the document is of it."""

    subject: Text = Field(description="what it is said of")
    relation: Name = Field(description="what is said")
    value: Text = Field(description="the subject's value of the relation")
    as_of: date = Field(description="the day as of which it holds")
    status: Status = Field(description="how sure the document is of it")
    is_new: bool = Field(default=False, description="whether something else held before, and the document says why no more")


class DocumentPlan(Record):
    """A document of an invented world before it is told: its kind, what it is about, what it must state."""

    document_id: Name = Field(description="the document's id")
    kind: Name = Field(description="the kind of document")
    subject: Text = Field(description="what it is about")
    role: Role = Field(description="what it is there for, which no memory sees")
    occasion: str = Field(default="", description="why it is written, who writes, and to whom")
    statements: tuple[Statement, ...] = Field(description="what it must state")


class Hop(Record):
    """One step of a chain: of which subject which relation is asked, and what it comes to."""

    subject: Text = Field(description="what is asked about")
    relation: Name = Field(description="what is asked of it")
    value: Text = Field(description="what that comes to")


class PlacedStatement(Record):
    """A planned statement and the place where its value was found in the text, from character `start` to before `end`."""

    statement: Statement = Field(description="what was planned")
    start: int = Field(description="the first character of its value")
    end: int = Field(description="the character after its value")

    def stands_in(self, text: str) -> bool:
        """Return True where the text has the value at the place; a day may go without its year."""
        told = text[self.start : self.end]
        value = self.statement.value
        day = read_date(value)
        return told == value or (day is not None and read_date(told, year=self.statement.as_of.year) == day)


class SourceDocument(Record):
    """A document with its words. `statements` of an invented one say what it was told to hold, and where."""

    document_id: Name = Field(description="the document's id")
    title: Text = Field(description="its title")
    text: Text = Field(description="its text")
    role: Role = Field(description="what it is there for, which no memory sees")
    source: str = Field(default="", description="where a real document is from")
    license: str = Field(default="", description="the license of a real document")
    statements: tuple[PlacedStatement, ...] = Field(default=(), description="what an invented one states, and where")
    cluster: str = Field(default="", description="filler of one cluster is used together or not at all; empty: alone")

    @property
    def tokens(self) -> int:
        """The length of what a memory receives."""
        return count_tokens(f"{self.title}\n\n{self.text}")


class Fact(Record):
    """That a subject has this value of a relation, read from a document's text at `start` to `end`.

    `phrase` is a noun phrase for the value with {x} for the subject. `relation` names what is asked; only facts of one
    relation contradict each other.
    """

    fact_id: Name = Field(description="the fact's id")
    document_id: Name = Field(description="the document that states it")
    subject: Text = Field(description="what it is said of")
    relation: Name = Field(description="what is said")
    value: Text = Field(description="the subject's value of the relation; dates in ISO form")
    phrase: Text = Field(description="a noun phrase for the value, with {x} for the subject")
    kind: AnswerKind = Field(description="number, name, date, option or code")
    options: tuple[Text, ...] = Field(default=(), description="what the value may be, where it is an option")
    start: int = Field(description="the first character of the value in the document's text")
    end: int = Field(description="the character after the value")
    as_of: date | None = Field(default=None, description="the day as of which it holds, if the document says")
    status: Status = Field(default="plain", description="how sure the document is of it")

    def stands_in(self, text: str) -> bool:
        """Return True where the text has the fact's value at the fact's place, however it is spelled."""
        told = text[self.start : self.end]
        day = read_date(told, year=self.as_of.year) if self.kind == "date" and self.as_of else None
        return normalize_answer(self.kind, day.isoformat() if day else told) == normalize_answer(self.kind, self.value)

    @property
    def full_phrase(self) -> str:
        """The noun phrase for the value, with the subject in it."""
        return self.phrase.replace("{x}", self.subject)

    @property
    def weight(self) -> tuple[int, date]:
        """The weight of the fact among those that contradict it: the greatest counts."""
        return RANK[self.status], self.as_of or date.min


class WrittenDocuments(Protocol):
    """A record with a task's own documents, and filler."""

    @property
    def documents(self) -> tuple[SourceDocument, ...]: ...

    @property
    def filler(self) -> tuple[SourceDocument, ...]: ...


@runtime_checkable
class StatedFacts(Protocol):
    """A record with the facts of a task's own documents."""

    @property
    def facts(self) -> tuple[Fact, ...]: ...
