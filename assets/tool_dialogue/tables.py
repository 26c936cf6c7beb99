"""The flat tables of tool dialogues: those of every task over documents, the company's rows, and the right calls."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from assets.engine.benchmark import Table
from assets.memory_items import tables as shared
from assets.memory_items.tasks import TaskRecord
from assets.records.base import Record, same_as
from assets.tool_dialogue.company import Call, Row
from assets.tool_dialogue.errands import Errand
from assets.tool_dialogue.records import ToolTask


class ErrandRow(Record):
    """What the customer of a task asks for."""

    task_id: str = same_as(TaskRecord, "task_id")
    domain: str = same_as(Errand, "domain")
    name: str = same_as(Errand, "name")
    customer: str = same_as(Errand, "customer")
    item: str = same_as(Errand, "item")
    stated: dict[str, str] = same_as(Errand, "stated")
    settled: tuple[str, ...] = same_as(Errand, "settled")
    said: str = same_as(ToolTask, "said")
    company: str = same_as(ToolTask, "company")


class CompanyRow(Record):
    """One row of the company's tables, as it is when the request comes."""

    task_id: str = same_as(TaskRecord, "task_id")
    position: int = Field(description="its place among the rows, from 0")
    table: str = same_as(Row, "table")
    values: dict[str, str] = same_as(Row, "values")


class CallRow(Record):
    """One of the right calls of a task."""

    task_id: str = same_as(TaskRecord, "task_id")
    position: int = Field(description="its place among the calls, from 0")
    tool: str = same_as(Call, "tool")
    arguments: dict[str, str] = same_as(Call, "arguments")


_SCORED = {name: table for name, table in shared.TABLES.items() if table.scored}
_UNSCORED = {name: table for name, table in shared.TABLES.items() if not table.scored}
TABLES: Mapping[str, Table] = {
    **_SCORED,
    "errands": Table(ErrandRow, ("task_id",)),
    "companies": Table(CompanyRow, ("task_id", "position"), group=("task_id",)),
    "calls": Table(CallRow, ("task_id", "position"), group=("task_id",)),
    **_UNSCORED,
}


def tool_task_rows(task: ToolTask) -> dict[str, Sequence[Record]]:
    """Return one task's rows in every table that follows from tasks."""
    rows: list[Record] = []
    for number, row in enumerate(task.rows):
        rows.append(CompanyRow(task_id=task.task_id, position=number, **row.model_dump()))
    calls: list[Record] = []
    for number, call in enumerate(task.calls):
        calls.append(CallRow(task_id=task.task_id, position=number, **call.model_dump()))
    return {
        **shared.document_task_rows(task),
        "errands": [ErrandRow(task_id=task.task_id, said=task.said, company=task.company, **task.errand.model_dump())],
        "companies": rows,
        "calls": calls,
    }
