"""The documents of a research task, and the facts that stand in them."""

from pydantic import Field

from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.tasks import TaskRecord


class TaskSources(TaskRecord):
    """A task's own documents, and filler enough for its longest length. `renamed`: invented names in place of real ones."""

    documents: tuple[SourceDocument, ...] = Field(description="the task's own documents, or all real sections")
    filler: tuple[SourceDocument, ...] = Field(description="documents of other parts of the invented world")
    renamed: int = Field(default=0, description="names of real documents that invented ones stand for")


class TaskFacts(TaskRecord):
    """The facts of a task's documents."""

    facts: tuple[Fact, ...] = Field(description="facts with the places where they stand")

    def about(self, subject: str, relation: str) -> list[Fact]:
        return [fact for fact in self.facts if fact.subject == subject and fact.relation == relation]
