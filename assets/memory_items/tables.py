"""The flat tables of tasks over documents: their rows, and how one task's rows follow from its record."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from assets.engine.benchmark import Table
from assets.memory_items.ablation import Certificate, ConditionOutcome
from assets.memory_items.documents import ItemDocument, Role, SizedItem
from assets.memory_items.facts import Fact
from assets.memory_items.operations import AskedFacts
from assets.memory_items.tasks import MemoryTask, TaskRecord
from assets.recipe.document_tasks import Operation
from assets.records.answers import AnswerKind, TypedAnswer
from assets.records.base import Record, same_as
from assets.records.common_tables import FailureRow, GateVoteRow


class TaskRow(Record):
    """One task: the question that comes after all turns, and its answer."""

    task_id: str = same_as(TaskRecord, "task_id")
    question: str = same_as(MemoryTask, "question")
    answer: str = same_as(TypedAnswer, "value")
    answer_kind: AnswerKind = same_as(TypedAnswer, "kind")
    options: tuple[str, ...] = same_as(TypedAnswer, "options")
    near_misses: tuple[str, ...] = same_as(TypedAnswer, "near_misses")
    hops: int = Field(description="how many facts the answer takes")
    operation: Operation = same_as(MemoryTask, "operation")
    starts: tuple[str, ...] = Field(description="the names in the question")
    eviction: str = Field(
        description="full: all is out of view when the question comes; window: the last turns are still in view"
    )
    window_turns: int = Field(description="how many turns are still in view")


class HopRow(Record):
    """One fact that the answer takes; `hop` counts from 1. It is in the document's text, from `start` to before `end`."""

    task_id: str = same_as(TaskRecord, "task_id")
    hop: int = Field(description="which of the facts that the answer takes, from 1")
    fact_id: str = same_as(Fact, "fact_id")
    subject: str = same_as(Fact, "subject")
    relation: str = same_as(Fact, "relation")
    phrase: str = same_as(Fact, "phrase")
    value: str = same_as(Fact, "value")
    document_id: str = same_as(Fact, "document_id")
    start: int = same_as(Fact, "start")
    end: int = same_as(Fact, "end")


class DocumentRow(Record):
    """One document of a task, whatever lengths it is part of. A memory receives title, an empty line, and text."""

    task_id: str = same_as(TaskRecord, "task_id")
    document_id: str = same_as(ItemDocument, "document_id")
    title: str = same_as(ItemDocument, "title")
    text: str = same_as(ItemDocument, "text")
    role: Role = same_as(ItemDocument, "role")
    facts: tuple[str, ...] = same_as(ItemDocument, "facts")
    source: str = same_as(ItemDocument, "source")
    license: str = same_as(ItemDocument, "license")


class PlacementRow(Record):
    """The place of a document at one length: `turn` and `position` in it count from 0."""

    task_id: str = same_as(TaskRecord, "task_id")
    target_tokens: int = same_as(SizedItem, "target_tokens")
    turn: int = Field(description="in which turn it comes, from 0")
    position: int = Field(description="its place in the turn, from 0")
    document_id: str = same_as(ItemDocument, "document_id")


class ConditionRow(Record):
    """One condition of a length's certificate: how many readings were right."""

    task_id: str = same_as(TaskRecord, "task_id")
    target_tokens: int = same_as(SizedItem, "target_tokens")
    condition: str = same_as(ConditionOutcome, "condition")
    expected: str = same_as(ConditionOutcome, "expected")
    outcome: str = same_as(ConditionOutcome, "outcome")
    readings: int = same_as(ConditionOutcome, "readings")
    right: int = same_as(ConditionOutcome, "right")
    errors: int = same_as(ConditionOutcome, "errors")
    tokens: int = same_as(SizedItem, "tokens")
    digest: str = same_as(Certificate, "digest")


TABLES: Mapping[str, Table] = {
    "tasks": Table(TaskRow, ("task_id",), unread=frozenset({"near_misses", "operation", "starts", "hops"}), title="question"),
    "hops": Table(HopRow, ("task_id", "hop"), group=("task_id",)),
    "documents": Table(
        DocumentRow, ("task_id", "document_id"), unread=frozenset({"role", "facts", "source", "license"}), title="title"
    ),
    "placements": Table(PlacementRow, ("task_id", "target_tokens", "turn", "position"), group=("task_id", "target_tokens")),
    "conditions": Table(ConditionRow, ("task_id", "target_tokens", "condition"), scored=False),
    "gate_records": Table(GateVoteRow, ("user_id", "number"), scored=False),
    "failures": Table(FailureRow, ("user_id",), scored=False),
}


def document_task_rows(task: MemoryTask) -> dict[str, Sequence[Record]]:
    """Return one task's rows in every table that follows from tasks."""
    placements, conditions = _rows_of_lengths(task)
    return {
        "tasks": [_task_row(task)],
        "hops": _hop_rows(task),
        "documents": _document_rows(task),
        "placements": placements,
        "conditions": conditions,
    }


def _task_row(task: MemoryTask) -> TaskRow:
    return TaskRow.from_record(
        task,
        answer=task.answer.value,
        answer_kind=task.answer.kind,
        options=task.answer.options,
        near_misses=task.answer.near_misses,
        hops=len(task.hops),
        starts=AskedFacts(task.operation, task.hops).starts,
        eviction=task.eviction.mode,
        window_turns=task.eviction.visible_turns,
    )


def _hop_rows(task: MemoryTask) -> list[HopRow]:
    rows: list[HopRow] = []
    for number, fact in enumerate(task.hops, start=1):
        rows.append(HopRow.from_record(fact, task_id=task.task_id, hop=number))
    return rows


def _document_rows(task: MemoryTask) -> list[DocumentRow]:
    rows: dict[str, DocumentRow] = {}
    for sized in task.lengths:
        for document in sized.documents:
            # Most documents are part of every length; a table has each once.
            if document.document_id not in rows:
                rows[document.document_id] = DocumentRow(task_id=task.task_id, **document.model_dump())
    return list(rows.values())


def _rows_of_lengths(task: MemoryTask) -> tuple[list[PlacementRow], list[ConditionRow]]:
    """Return the documents' places and the conditions' outcomes, length by length."""
    placements: list[PlacementRow] = []
    conditions: list[ConditionRow] = []
    for sized, certified in task.certified_lengths():
        target = sized.target_tokens
        for number, turn in enumerate(sized.turns):
            for position, document in enumerate(turn.documents):
                place = PlacementRow(
                    task_id=task.task_id, target_tokens=target, turn=number, position=position, document_id=document.document_id
                )
                placements.append(place)
        for outcome in certified.outcomes:
            condition = ConditionRow(
                task_id=task.task_id, target_tokens=target, tokens=sized.tokens, digest=certified.digest, **outcome.model_dump()
            )
            conditions.append(condition)
    return placements, conditions
