"""Documents as they are told, the facts that stand in them, and the question that a chain of facts answers."""

from datetime import date

from pydantic import Field

from assets.deep_research.records.world import RANK, Statement, Status, TaskRecord
from assets.memory_items.answers import AnswerKind, TypedAnswer
from assets.memory_items.documents import Role
from assets.records.base import GateRecord, Name, Record, Text


class PlacedStatement(Record):
    """A planned statement and where its value stands in the text, from character `start` to before `end`."""

    statement: Statement = Field(description="what was planned")
    start: int = Field(description="the first character of its value")
    end: int = Field(description="the character after its value")


class SourceDocument(Record):
    """A document with its words. `statements` of an invented one say what it was told to hold, and where."""

    document_id: Name = Field(description="the document's id")
    title: Text = Field(description="its title")
    text: Text = Field(description="its text")
    role: Role = Field(description="what it is there for, which no memory sees")
    source: str = Field(default="", description="where a real document is from")
    license: str = Field(default="", description="the license of a real document")
    statements: tuple[PlacedStatement, ...] = Field(default=(), description="what an invented one states, and where")


class TaskSources(TaskRecord):
    """A task's own documents, and filler enough for its longest length. `renamed`: invented names in place of real ones."""

    documents: tuple[SourceDocument, ...] = Field(description="the task's own documents, or all real sections")
    filler: tuple[SourceDocument, ...] = Field(description="documents of other parts of the invented world")
    renamed: int = Field(default=0, description="names of real documents that invented ones stand for")


class Fact(Record):
    """That a subject has this value of a relation, read from a document's text at `start` to `end`.

    `phrase` is a noun phrase for the value with {x} for the subject. `relation` names what is asked; only facts of one
    relation contradict each other.
    """

    fact_id: Name = Field(description="the fact's id")
    document_id: Name = Field(description="the document in which it stands")
    subject: Text = Field(description="what it is said of")
    relation: Name = Field(description="what is said")
    value: Text = Field(description="the subject's value of the relation; dates in ISO form")
    phrase: Text = Field(description="a noun phrase for the value, with {x} for the subject")
    kind: AnswerKind = Field(description="number, name, date or option")
    options: tuple[Text, ...] = Field(default=(), description="what the value may be, where it is an option")
    start: int = Field(description="the first character of the value in the document's text")
    end: int = Field(description="the character after the value")
    as_of: date | None = Field(default=None, description="the day as of which it holds, if the document says")
    status: Status = Field(default="plain", description="how sure the document is of it")

    @property
    def weight(self) -> tuple[int, date]:
        """What decides between facts that contradict each other: the greatest counts."""
        return RANK[self.status], self.as_of or date.min


class TaskFacts(TaskRecord):
    """The facts of a task's documents."""

    facts: tuple[Fact, ...] = Field(description="facts with the places where they stand")

    def about(self, subject: str, relation: str) -> list[Fact]:
        return [fact for fact in self.facts if fact.subject == subject and fact.relation == relation]


class ResearchQuestion(TaskRecord):
    """One question, whose answer takes all `hops`, each a fact whose subject is the value of the one before."""

    hops: tuple[Fact, ...] = Field(description="the facts that the answer takes, in order")
    start: Text = Field(description="the name in the question")
    question: Text = Field(description="the question, with the rule that settles contradictions")
    answer: TypedAnswer = Field(description="the right answer, its kind, and wrong ones of siblings")
    gate_records: tuple[GateRecord, ...] = Field(description="votes of judges and readings of parts")
