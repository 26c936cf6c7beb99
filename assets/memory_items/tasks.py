"""A task over documents on its way to a release: its turns, its lengths, its certificates, and what is released."""

import hashlib
from typing import ClassVar, Self

from pydantic import Field, model_validator

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.ablation import Certificate
from assets.memory_items.documents import ItemDocument, SizedItem, Turn
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.operations import AskedFacts
from assets.recipe.document_tasks import DocumentTaskRecipe, Eviction, Operation
from assets.records.answers import TypedAnswer
from assets.records.base import GateRecord, ItemRecord, Name, Text


def num_hops_at(position: int, recipe: DocumentTaskRecipe) -> int:
    """Return the hops of the task at this position of the sample, all sizes in equal numbers."""
    sizes = range(recipe.min_hops, recipe.max_hops + 1)
    block, place = divmod(position, len(sizes))
    return SeededRandom(recipe.world_seed, "hops", block).shuffled(sizes)[place]


def operation_at(position: int, recipe: DocumentTaskRecipe) -> Operation:
    """Return what the task at this position asks of its facts; of tasks with as many facts, all operations in equal numbers."""
    hops = num_hops_at(position, recipe)
    operations = recipe.operations_of(hops)
    block, place = divmod(position // (recipe.max_hops - recipe.min_hops + 1), len(operations))
    return SeededRandom(recipe.world_seed, "operations", hops, block).shuffled(operations)[place]


def rival_first_at(position: int, recipe: DocumentTaskRecipe) -> bool:
    """Return True where a document that does not count comes before the one that does, in one of two tasks."""
    block, place = divmod(position, 2)
    return SeededRandom(recipe.world_seed, "rival first", block).bernoulli(0.5) == bool(place)


def task_id_at(position: int, recipe: DocumentTaskRecipe) -> str:
    """Return the id of the task at this position of the sample."""
    benchmark = recipe.benchmark.replace("_", " ")
    return hashlib.sha256(f"{recipe.world_seed}\x1f{benchmark}\x1f{position}".encode()).hexdigest()[:16]


class TaskRecord(ItemRecord):
    """The record of one stage for one task: one question over documents."""

    id_field: ClassVar[str] = "task_id"

    task_id: Name = Field(description="the task's id")


class TaskDocuments(TaskRecord):
    """The documents of a task, those beside them, and the facts that a reader found again in the former."""

    documents: tuple[SourceDocument, ...] = Field(description="the task's own documents")
    filler: tuple[SourceDocument, ...] = Field(description="documents of the same world that only add length")
    facts: tuple[Fact, ...] = Field(description="what the task's own documents state, with their places")
    gate_records: tuple[GateRecord, ...] = Field(default=(), description="what readers found in each document")


class AskedTask(TaskRecord):
    """A task with its question."""

    introduction: str = Field(
        default="", description="what is told before the question: what counts where texts disagree, how to answer"
    )
    question: Text = Field(description="what is asked after the last turn")

    @property
    def full_question(self) -> str:
        """The introduction and the question, as who answers reads them."""
        return f"{self.introduction}\n\n{self.question}" if self.introduction else self.question

    @property
    def shown_with_question(self) -> tuple[ItemDocument, ...]:
        """Documents in sight together with the question, which no memory receives; mostly none."""
        return ()

    @property
    def also_certified(self) -> str:
        """What a certificate covers besides documents, question and answer; mostly nothing."""
        return ""


class TaskQuestion(AskedTask):
    """One question, whose answer takes all `hops`: of a chain, each is a fact whose subject is the value of the one before."""

    operation: Operation = Field(default="follow", description="what is done with the facts")
    hops: tuple[Fact, ...] = Field(description="the facts that the answer takes, in order")
    starts: tuple[Text, ...] = Field(description="the names in the question")
    answer: TypedAnswer = Field(description="the right answer, its kind, and wrong ones of siblings")
    gate_records: tuple[GateRecord, ...] = Field(description="votes of judges and readings of parts")


class TaskTurns(TaskRecord):
    """The documents that a task needs and those beside them, in the turns in which they arrive; no filler yet."""

    turns: tuple[Turn, ...] = Field(description="documents by turn")
    gate_records: tuple[GateRecord, ...] = Field(description="readings of the last turn alone")


class TaskLengths(TaskRecord):
    """The task's documents by turn, with filler, at each length of the recipe."""

    lengths: tuple[SizedItem, ...] = Field(description="the documents by turn, with filler, at each length")


class TaskAblation(TaskRecord):
    """Every reading of the final bytes, and the certificate of each length."""

    certificates: tuple[Certificate, ...] = Field(description="the certificate of each length's final bytes")
    gate_records: tuple[GateRecord, ...] = Field(description="every reading")


class MemoryTask(AskedTask):
    """An accepted task: the question comes after the last turn, and no memory sees it before.

    `hops` are the facts that the answer takes, in the order in which they are needed.
    """

    operation: Operation = Field(default="follow", description="what is done with the facts")
    answer: TypedAnswer = Field(description="the right answer, its kind, and wrong ones of siblings")
    hops: tuple[Fact, ...] = Field(description="the facts that the answer takes, in order")
    eviction: Eviction = Field(description="what is still in view when the question comes")
    lengths: tuple[SizedItem, ...] = Field(description="the documents by turn at each length")
    certificates: tuple[Certificate, ...] = Field(description="the certificate of each length's final bytes")

    @model_validator(mode="after")
    def each_length_is_certified(self) -> Self:
        if [length.target_tokens for length in self.lengths] != [
            certificate.target_tokens for certificate in self.certificates
        ]:
            raise ValueError("Each length has a certificate, in the same order.")
        return self

    @property
    def own_texts(self) -> tuple[str, ...]:
        return (self.question,)

    @property
    def names_in_question(self) -> tuple[str, ...]:
        """The names that the question tells, at which its facts begin."""
        return AskedFacts(self.operation, self.hops).starts

    @property
    def names_by(self) -> str:
        """The relation that tells a name under which the other facts are found; "" for none."""
        return ""

    @property
    def documents(self) -> tuple[ItemDocument, ...]:
        """The documents of all lengths, each once: most are part of every length."""
        found: dict[str, ItemDocument] = {}
        for sized in self.lengths:
            for document in sized.documents:
                found.setdefault(document.document_id, document)
        return tuple(found.values())
