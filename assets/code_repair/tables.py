"""The flat tables of code repairs: those of every task over documents, packages with their files, patches and hidden calls."""

from collections.abc import Mapping, Sequence
from functools import partial

from pydantic import Field

from assets.code_qa.tables import FileRow, PackageRow
from assets.code_repair.records import HiddenCall, Patch, Repair, RepairTask, SessionQuestion
from assets.engine.benchmark import Table
from assets.memory_items import tables as shared
from assets.memory_items.tasks import TaskRecord
from assets.records.answers import AnswerKind, TypedAnswer
from assets.records.base import Record, same_as


class RepairRow(Record):
    """The fault of a task."""

    task_id: str = same_as(TaskRecord, "task_id")
    function: str = same_as(Repair, "function")
    path: str = same_as(Repair, "path")
    call: str = Field(description="the failing call as one writes it")
    fails_with: str = same_as(Repair, "fails_with")
    settled: int = same_as(Repair, "settled")


class PatchRow(Record):
    """One of both patches of a task."""

    task_id: str = same_as(TaskRecord, "task_id")
    position: int = Field(description="its place in the issue, from 0")
    old: str = same_as(Patch, "old")
    new: str = same_as(Patch, "new")
    rule: str = same_as(Patch, "rule")


class HiddenCallRow(Record):
    """One of the calls that grade a task."""

    task_id: str = same_as(TaskRecord, "task_id")
    position: int = Field(description="its place among the calls, from 0")
    arguments: tuple[str, ...] = same_as(HiddenCall, "arguments")
    status: str = same_as(HiddenCall, "status")
    text: str = same_as(HiddenCall, "text")


class SessionQuestionRow(Record):
    """One of the questions about a task's sessions."""

    task_id: str = same_as(TaskRecord, "task_id")
    form: str = same_as(SessionQuestion, "form")
    question: str = same_as(SessionQuestion, "question")
    answer: str = same_as(TypedAnswer, "value")
    answer_kind: AnswerKind = same_as(TypedAnswer, "kind")
    options: tuple[str, ...] = same_as(TypedAnswer, "options")
    near_misses: tuple[str, ...] = same_as(TypedAnswer, "near_misses")
    needed_documents: tuple[str, ...] = Field(description="the documents that tell the facts that the answer takes")


_SCORED = {name: table for name, table in shared.TABLES.items() if table.scored}
_UNSCORED = {name: table for name, table in shared.TABLES.items() if not table.scored}
TABLES: Mapping[str, Table] = {
    **_SCORED,
    "repairs": Table(RepairRow, ("task_id",)),
    "patches": Table(PatchRow, ("task_id", "position"), group=("task_id",)),
    "hidden_calls": Table(HiddenCallRow, ("task_id", "position"), group=("task_id",)),
    "session_questions": Table(SessionQuestionRow, ("task_id", "form"), unread=frozenset({"near_misses", "needed_documents"})),
    "packages": Table(PackageRow, ("task_id",), unread=frozenset({"name", "version", "license", "content"})),
    "files": Table(FileRow, ("task_id", "path")),
    **_UNSCORED,
}


def repair_task_rows(task: RepairTask) -> dict[str, Sequence[Record]]:
    """Return one task's rows in every table that follows from tasks."""
    repair = task.repair
    patches: list[Record] = []
    for number, patch in enumerate(repair.patches):
        patches.append(PatchRow(task_id=task.task_id, position=number, **patch.model_dump()))
    hidden: list[Record] = []
    for number, call in enumerate(repair.hidden):
        hidden.append(HiddenCallRow(task_id=task.task_id, position=number, **call.model_dump()))
    return {
        **shared.document_task_rows(task),
        "repairs": [RepairRow.from_record(repair, task_id=task.task_id, call=repair.call)],
        "patches": patches,
        "hidden_calls": hidden,
        "session_questions": list(map(partial(_question_row, task.task_id), task.questions)),
        "packages": [PackageRow.from_record(repair.package, task_id=task.task_id)],
        "files": [FileRow(task_id=task.task_id, **one.model_dump()) for one in repair.files],
    }


def _question_row(task_id: str, asked: SessionQuestion) -> SessionQuestionRow:
    return SessionQuestionRow(
        task_id=task_id,
        form=asked.form,
        question=asked.question,
        answer=asked.answer.value,
        answer_kind=asked.answer.kind,
        options=asked.answer.options,
        near_misses=asked.answer.near_misses,
        needed_documents=tuple(fact.document_id for fact in asked.hops),
    )
