"""The flat tables of code questions: those of every task over documents, and packages, their files and their calls."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from assets.code_qa.records.behaviours import Behaviour, CallResult
from assets.code_qa.records.questions import CodeTask
from assets.code_qa.records.sources import CodeFile, CodePackage
from assets.engine.benchmark import Table
from assets.memory_items import tables as shared
from assets.memory_items.documents import ItemDocument
from assets.memory_items.tasks import TaskRecord
from assets.records.base import Record, same_as


class PackageRow(Record):
    """The package that a question is about."""

    task_id: str = same_as(TaskRecord, "task_id")
    name: str = same_as(CodePackage, "name")
    version: str = same_as(CodePackage, "version")
    license: str = same_as(CodePackage, "license")
    content: str = same_as(CodePackage, "content")


class FileRow(Record):
    """One file of a package that the calls of a question take, as it was when they were run."""

    task_id: str = same_as(TaskRecord, "task_id")
    path: str = same_as(CodeFile, "path")
    module: str = same_as(CodeFile, "module")
    text: str = same_as(CodeFile, "text")
    content: str = same_as(CodeFile, "content")


class BehaviourRow(Record):
    """A call that the notes of a question tell, what it came to, and what it comes to in changed functions."""

    task_id: str = same_as(TaskRecord, "task_id")
    behaviour_id: str = same_as(Behaviour, "behaviour_id")
    function: str = same_as(Behaviour, "symbol_id")
    call: str = Field(description="the call as one writes it")
    outcome: str = same_as(CallResult, "outcome")
    result: str = same_as(CallResult, "text")
    near_misses: tuple[str, ...] = Field(description="what the call comes to when one place of the function is changed")
    changes: tuple[str, ...] = Field(description="what was changed for each of these")


class ShownCodeRow(Record):
    """Code of a package that is in sight together with a question, and never written to a memory."""

    task_id: str = same_as(TaskRecord, "task_id")
    position: int = Field(description="its place among what is shown, from 0")
    title: str = same_as(ItemDocument, "title")
    text: str = same_as(ItemDocument, "text")


_SCORED = {name: table for name, table in shared.TABLES.items() if table.scored}
_UNSCORED = {name: table for name, table in shared.TABLES.items() if not table.scored}
TABLES: Mapping[str, Table] = {
    **_SCORED,
    "shown_code": Table(ShownCodeRow, ("task_id", "position"), group=("task_id",)),
    "packages": Table(PackageRow, ("task_id",), unread=frozenset({"name", "version", "license", "content"})),
    "files": Table(FileRow, ("task_id", "path"), scored=False),
    "behaviours": Table(BehaviourRow, ("task_id", "behaviour_id"), scored=False),
    **_UNSCORED,
}


def code_task_rows(task: CodeTask) -> dict[str, Sequence[Record]]:
    """Return one question's rows in every table that follows from questions."""
    code: list[Record] = []
    for number, one in enumerate(task.code):
        code.append(ShownCodeRow.from_record(one, task_id=task.task_id, position=number))
    return {
        **shared.document_task_rows(task),
        "shown_code": code,
        "packages": [PackageRow.from_record(task.package, task_id=task.task_id)],
        "files": [FileRow(task_id=task.task_id, **one.model_dump()) for one in task.files],
        "behaviours": [_behaviour_row(one, task) for one in task.behaviours],
    }


def _behaviour_row(one: Behaviour, task: CodeTask) -> BehaviourRow:
    return BehaviourRow(
        task_id=task.task_id,
        behaviour_id=one.behaviour_id,
        function=one.symbol_id,
        call=one.call,
        outcome=one.result.outcome,
        result=one.result.text,
        near_misses=tuple(near.result.text for near in one.near_misses),
        changes=tuple(near.change for near in one.near_misses),
    )
