"""A company as data: its tables, tools, what is settled with customers, and errands."""

from functools import cache
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ValidationError, model_validator

from assets.records.base import Name, Record, Text

CUSTOMERS = "customers"
STAFF = "staff"
NAME = "name"
KEY_OF_CUSTOMER = "customer_id"


class ColumnSpec(Record):
    """A column of a table: it holds one of `options`, a key of another `table`, the value of a `matter`, or else a name.

    One with a table and a matter holds the key of the row that has the matter's value as its name.
    """

    options: tuple[Text, ...] = ()
    table: str = ""
    matter: str = ""


class TableSpec(Record):
    """A table: the name of its key, the letter before the key's digits, and how many rows each customer has at first."""

    key: Name
    prefix: Name
    columns: dict[Name, ColumnSpec]
    each_customer: int = 0


class ToolSpec(Record):
    """A tool that writes: it adds a row to a table, or changes the columns `sets` of one. Every table has a finder beside."""

    does: Text
    adds: str = ""
    changes: str = ""
    sets: tuple[Name, ...] = ()

    @property
    def table(self) -> str:
        return self.adds or self.changes


class Matter(Record):
    """Something that a company settles with a customer. `label` names it in a request; `clauses` are further wordings."""

    label: Text
    meaning: Text
    phrase: Text
    value: Literal["option", "number", "date", "person"]
    options: tuple[Text, ...] = ()
    between: tuple[int, int] = (0, 0)
    clauses: tuple[Text, ...] = ()


class ErrandSpec(Record):
    """Something that customers ask for: `wants` in their words, for an {item} and a {person}, and the tools that do it in turn.

    `item`: the table of which the customer names a row, by the column `named_by`; `tells`: the matter, of options, whose
    value the customer wants to be told.
    """

    wants: Text
    tools: tuple[Name, ...]
    item: Name
    named_by: Name
    tells: Name


class Domain(Record):
    """One company."""

    name: Name
    company: Text
    does: Text
    policy: tuple[Text, ...]
    tables: dict[Name, TableSpec]
    tools: dict[Name, ToolSpec]
    matters: dict[Name, Matter]
    errands: dict[Name, ErrandSpec]

    @model_validator(mode="after")
    def names_are_known(self) -> Self:
        for table in self.tables.values():
            for name, column in table.columns.items():
                if column.table not in ("", *self.tables) or column.matter not in ("", *self.matters):
                    raise ValueError(f"the column {name} is of {column.table or column.matter}, which is not there.")
        return self

    def matters_of(self, errand: ErrandSpec) -> list[str]:
        """Return the matters that an errand takes: the one that is told, and those of its tools' arguments in order."""
        matters = [errand.tells]
        for tool in errand.tools:
            columns = self.tables[self.tools[tool].table].columns
            matters += [column.matter for column in columns.values() if column.matter]
        return matters

    def finder(self, table: str) -> str:
        """Return the name of the tool that finds rows of this table."""
        return f"find_{table}"


@cache
def domain_in(text: str) -> Domain:
    """Return the domain that a task holds as text, so that it is acted in with the company that it was made with."""
    return Domain.model_validate_json(text)


def _expect_domain(text: str) -> str:
    try:
        domain_in(text)
    except ValidationError as error:
        raise ValueError("describes no company, as JSON") from error
    return text


DomainText = Annotated[str, AfterValidator(_expect_domain)]
