"""Records of a tool dialogue: its part of a company, the request, and the accepted task."""

from typing import Self

from pydantic import Field, model_validator

from assets.memory_items.facts import DocumentPlan, Hop
from assets.memory_items.tasks import AskedTask, MemoryTask, TaskQuestion, TaskRecord
from assets.records.base import Text
from assets.tool_dialogue.company import Row
from assets.tool_dialogue.domain import DomainText, domain_in
from assets.tool_dialogue.domains import WHO
from assets.tool_dialogue.errands import Errand
from assets.worlds.tools import Call


class ToolWorld(TaskRecord):
    """The company's rows, an errand of one of its customers, and the sessions that have to be told."""

    hops: int = Field(description="how many matters earlier sessions settled")
    rival_first: bool = Field(description="whether what does not count comes first where sessions disagree")
    errand: Errand = Field(description="what the customer asks for")
    company: DomainText = Field(description="the company's tables, tools, matters and errands, as JSON")
    rows: tuple[Row, ...] = Field(description="the rows of the company's tables when the request comes")
    chain: tuple[Hop, ...] = Field(description="what was settled of the matters that the errand takes")
    plans: tuple[DocumentPlan, ...] = Field(description="the sessions before they are told")


class ActedErrand(AskedTask):
    """What a request takes and how its end is graded; a certificate covers all of it."""

    errand: Errand = Field(description="what the customer asks for")
    company: DomainText = Field(description="the company's tables, tools, matters and errands, as JSON")
    rows: tuple[Row, ...] = Field(description="the rows of the company's tables when the request comes")
    calls: tuple[Call, ...] = Field(description="the calls that do what was asked, in order")
    said: tuple[Text, ...] = Field(description="what the customer has to be told in the end, in one message")

    @property
    def also_certified(self) -> str:
        lines = [self.errand.model_dump_json(), self.company, *(row.model_dump_json() for row in self.rows)]
        return "\n".join([*lines, *(call.model_dump_json() for call in self.calls), *self.said])


class ToolRequest(ActedErrand, TaskQuestion):
    """The request, the rows that it meets, and the calls that are right."""


class ToolTask(ActedErrand, MemoryTask):
    """An accepted task: an agent gets the request, and is graded by the rows in the end and by what it said."""

    @model_validator(mode="after")
    def rows_are_of_the_company(self) -> Self:
        tables = domain_in(self.company).tables
        for row in self.rows:
            spec = tables.get(row.table)
            if spec is None or set(row.values) != {spec.key, *spec.columns}:
                raise ValueError(f"A row of the table {row.table!r} has not the columns that the company's table has.")
        return self

    @property
    def names_in_question(self) -> tuple[str, ...]:
        return (*super().names_in_question, self.errand.customer)

    @property
    def names_by(self) -> str:
        return WHO.name
