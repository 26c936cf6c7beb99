"""Records of a research task: its part of a world, its documents, and the facts that stand in them."""

from pydantic import Field

from assets.memory_items.facts import DocumentPlan, Fact, Hop, SourceDocument
from assets.memory_items.tasks import TaskRecord
from assets.recipe.document_tasks import Operation
from assets.records.base import Name, Record, Text


class Section(Record):
    """A section of a real document, as it was read."""

    document_id: Name = Field(description="the section's id")
    title: Text = Field(description="the document's title and the section's heading")
    text: Text = Field(description="the section's lines")
    source: Text = Field(description="id of the document that it is a section of")
    license: Text = Field(description="the license of the document")


class TaskWorld(TaskRecord):
    """The part of a world that a task is about: a chain and the documents that tell it and its siblings, or real sections.

    `chain` is empty where the source is real documents, in whose facts a chain has still to be found.
    """

    hops: int = Field(description="how many facts the answer should take")
    operation: Operation = Field(default="follow", description="what the question asks of the facts")
    rival_first: bool = Field(default=False, description="whether what does not count comes first where documents disagree")
    chain: tuple[Hop, ...] = Field(default=(), description="the facts that the answer takes, of an invented world")
    plans: tuple[DocumentPlan, ...] = Field(default=(), description="the documents of an invented world, before they are told")
    sections: tuple[Section, ...] = Field(default=(), description="sections of real documents")


class TaskSources(TaskRecord):
    """A task's own documents, and filler enough for its longest length. `renamed`: invented names in place of real ones."""

    documents: tuple[SourceDocument, ...] = Field(description="the task's own documents, or all real sections")
    filler: tuple[SourceDocument, ...] = Field(description="documents of other parts of the invented world")
    renamed: int = Field(default=0, description="names of real documents that invented ones stand for")


class TaskFacts(TaskRecord):
    """The facts of a task's documents."""

    facts: tuple[Fact, ...] = Field(description="facts with the places where they stand")
