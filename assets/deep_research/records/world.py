"""What there is to tell: statements and documents that are planned of a fictional world, sections of real ones."""

from datetime import date
from typing import ClassVar, Literal

from pydantic import Field

from assets.memory_items.documents import Role
from assets.records.base import ItemRecord, Name, Record, Text

Status = Literal["certified", "plain", "unconfirmed"]
# Where documents disagree, the highest of these counts, and of equals the latest date.
RANK: dict[Status, int] = {"unconfirmed": 0, "plain": 1, "certified": 2}


class TaskRecord(ItemRecord):
    """What one stage made for one research task."""

    id_field: ClassVar[str] = "task_id"

    task_id: Name = Field(description="the task's id")


class Statement(Record):
    """That a subject has this value of a relation, as of a day, and how sure the document is of it."""

    subject: Text = Field(description="what it is said of")
    relation: Name = Field(description="what is said")
    value: Text = Field(description="the subject's value of the relation")
    as_of: date = Field(description="the day as of which it holds")
    status: Status = Field(description="how sure the document is of it")


class DocumentPlan(Record):
    """A document of the fictional world before it is told: its kind, what it is about, what it must state."""

    document_id: Name = Field(description="the document's id")
    kind: Name = Field(description="the kind of document")
    subject: Text = Field(description="what it is about")
    role: Role = Field(description="what it is there for, which no memory sees")
    statements: tuple[Statement, ...] = Field(description="what it must state")


class Section(Record):
    """A section of a real document, as it was read."""

    document_id: Name = Field(description="the section's id")
    title: Text = Field(description="the document's title and the section's heading")
    text: Text = Field(description="the section's lines")
    source: Text = Field(description="id of the document that it is a section of")
    license: Text = Field(description="the license of the document")


class Hop(Record):
    """One step of a chain: of which subject which relation is asked, and what it comes to."""

    subject: Text = Field(description="what is asked about")
    relation: Name = Field(description="what is asked of it")
    value: Text = Field(description="what that comes to")


class TaskWorld(TaskRecord):
    """The part of a world that a task is about: a chain and the documents that tell it and its siblings, or real sections.

    `chain` is empty where the source is real documents, in whose facts a chain has still to be found.
    """

    hops: int = Field(description="how many facts the answer should take")
    chain: tuple[Hop, ...] = Field(default=(), description="the facts that the answer takes, of an invented world")
    plans: tuple[DocumentPlan, ...] = Field(default=(), description="the documents of an invented world, before they are told")
    sections: tuple[Section, ...] = Field(default=(), description="sections of real documents")
