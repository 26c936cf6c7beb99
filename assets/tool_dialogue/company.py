"""A company as a world that answers calls: its rows, one interpreter for all tools, and what it comes to in the end.

Every value is text, as it stands in a row. A call that cannot be carried out changes nothing and says why.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import Field

from assets.engine.seeded_random import SeededRandom
from assets.records.answers import YEAR_FIRST, read_date
from assets.records.base import Name, Record
from assets.text.words import folded
from assets.tool_dialogue.domain import CUSTOMERS, KEY_OF_CUSTOMER, NAME, STAFF, ColumnSpec, Domain
from assets.worlds.tools import REFUSED, Call, CallRefused, ToolDescription

FIRST_KEY = 100_000
KEYS = 900_000


class Row(Record):
    """A row of a table, with its key among its values."""

    table: Name = Field(description="the table that it is in")
    values: dict[str, str] = Field(description="the values of its columns")


class Company:
    """The rows of one company, and calls of its tools."""

    def __init__(self, domain: Domain, rows: Iterable[Row]) -> None:
        self.domain = domain
        self._rows = [row.model_copy(update={"values": dict(row.values)}) for row in rows]

    @property
    def tools(self) -> list[ToolDescription]:
        """Every tool: a finder for each table, then those that write."""
        found: list[ToolDescription] = []
        for name, table in self.domain.tables.items():
            arguments: dict[str, Mapping[str, object]] = {table.key: {"type": "string"}}
            for column, spec in table.columns.items():
                arguments[column] = self._schema(spec)
            does = f"Finds rows of {name} by all that is given; without arguments it refuses."
            found.append(ToolDescription(self.domain.finder(name), does, arguments, (), writes=False))
        for name, tool in self.domain.tools.items():
            arguments = {column: self._schema(self._column(tool.table, column)) for column in self._arguments(name)}
            found.append(ToolDescription(name, tool.does, arguments, tuple(arguments), writes=True))
        return found

    def call(self, call: Call) -> str:
        """Carry the call out, and return what it gives back as JSON; a sentence where it is refused."""
        try:
            return json.dumps(self._carried_out(call), ensure_ascii=False)
        except CallRefused as refused:
            return f"{REFUSED}{refused}"

    def state(self) -> str:
        """Return all rows in one order, as text: equal states give equal texts."""
        rows = [json.dumps([row.table, row.values], sort_keys=True, ensure_ascii=False) for row in self._rows]
        return "\n".join(sorted(rows))

    def rows(self, table: str) -> list[dict[str, str]]:
        return [row.values for row in self._rows if row.table == table]

    def _carried_out(self, call: Call) -> object:
        for table in self.domain.tables:
            if call.tool == self.domain.finder(table):
                return self._find_rows(table, call.arguments)
        tool = self.domain.tools.get(call.tool)
        if tool is None:
            known = ", ".join(tool.name for tool in self.tools)
            raise CallRefused(f"there is no tool {call.tool!r}; there are {known}.")
        wanted = self._arguments(call.tool)
        if set(call.arguments) != set(wanted):
            raise CallRefused(f"{call.tool} takes exactly these arguments: {', '.join(wanted)}.")
        for name, value in call.arguments.items():
            self._expect_value(tool.table, name, value)
        self._expect_one_customer(call.arguments)
        table = self.domain.tables[tool.table]
        if tool.changes:
            row = self._row(tool.changes, call.arguments[table.key])
            row.update({name: call.arguments[name] for name in tool.sets})
            return row
        key = f"{table.prefix}-{FIRST_KEY + len(self.rows(tool.adds)) + 1}"
        row = {table.key: key, **{name: call.arguments[name] for name in wanted}}
        self._rows.append(Row(table=tool.adds, values=row))
        return row

    def _arguments(self, tool: str) -> list[str]:
        """Return the arguments of a tool that writes: the key and what is set, or every column of a new row."""
        spec = self.domain.tools[tool]
        table = self.domain.tables[spec.table]
        return [table.key, *spec.sets] if spec.changes else list(table.columns)

    def _find_rows(self, table: str, arguments: Mapping[str, str]) -> list[dict[str, str]]:
        spec = self.domain.tables[table]
        columns = {spec.key, *spec.columns}
        unknown = set(arguments) - columns
        if unknown or not arguments:
            raise CallRefused(
                f"{self.domain.finder(table)} takes one or several of these arguments: {', '.join(sorted(columns))}."
            )
        found: list[dict[str, str]] = []
        for row in self.rows(table):
            if all(folded(row[name]) == folded(value) for name, value in arguments.items()):
                found.append(row)
        return found

    def _column(self, table: str, name: str) -> ColumnSpec:
        spec = self.domain.tables[table]
        return ColumnSpec(table=table) if name == spec.key else spec.columns[name]

    def _options(self, column: ColumnSpec) -> Sequence[str]:
        matter = self.domain.matters.get(column.matter)
        return matter.options if matter else column.options

    def _schema(self, column: ColumnSpec) -> dict[str, object]:
        options = () if column.table else self._options(column)
        if options:
            return {"type": "string", "enum": list(options)}
        matter = self.domain.matters.get(column.matter)
        if matter and matter.value == "date" and not column.table:
            return {"type": "string", "format": "date"}
        return {"type": "string", "pattern": "^[0-9]+$"} if matter and matter.value == "number" else {"type": "string"}

    def _expect_value(self, table: str, name: str, value: str) -> None:
        """Raise CallRefused where the value cannot stand in this column."""
        column = self._column(table, name)
        if column.table:
            self._row(column.table, value)
            return
        options = self._options(column)
        if options and value not in options:
            raise CallRefused(f"{name} is one of: {', '.join(options)}.")
        matter = self.domain.matters.get(column.matter)
        if matter and matter.value == "number" and not value.isdecimal():
            raise CallRefused(f"{name} is a whole number, without a unit.")
        if matter and matter.value == "date" and (read_date(value) is None or not YEAR_FIRST.match(value)):
            raise CallRefused(f"{name} is a date such as 2031-05-04.")

    def _row(self, table: str, key: str) -> dict[str, str]:
        name = self.domain.tables[table].key
        for row in self.rows(table):
            if row[name] == key:
                return row
        raise CallRefused(f"no row of {table} has the {name} {key!r}.")

    def _expect_one_customer(self, arguments: Mapping[str, str]) -> None:
        """Raise CallRefused where a row that is named belongs to another customer than the one that is named."""
        customer = arguments.get(KEY_OF_CUSTOMER)
        for table, spec in self.domain.tables.items():
            if customer and spec.key in arguments and KEY_OF_CUSTOMER in spec.columns:
                owner = self._row(table, arguments[spec.key])[KEY_OF_CUSTOMER]
                if owner != customer:
                    raise CallRefused(f"{arguments[spec.key]} belongs to {owner}, not to {customer}.")


def drawn_rows(domain: Domain, *, customers: Sequence[str], staff: Sequence[str]) -> tuple[Row, ...]:
    """Return the rows of a company with these customers and this staff; what they have follows from their names alone."""
    rows: list[Row] = []
    taken: set[str] = set()
    for name in staff:
        values = {NAME: name}
        rows.append(Row(table=STAFF, values=_with_key(domain, STAFF, values, path=(name,), taken=taken)))
    for name in customers:
        rows += _rows_of_customer(domain, name, taken)
    return tuple(rows)


def _rows_of_customer(domain: Domain, name: str, taken: set[str]) -> Iterator[Row]:
    key = domain.tables[CUSTOMERS].key
    customer = _draw_row(domain, CUSTOMERS, 0, name, {NAME: name}, taken)
    yield Row(table=CUSTOMERS, values=customer)
    for table, spec in domain.tables.items():
        for number in range(spec.each_customer):
            yield Row(table=table, values=_draw_row(domain, table, number, name, {KEY_OF_CUSTOMER: customer[key]}, taken))


def _draw_row(
    domain: Domain, table: str, number: int, customer: str, given: Mapping[str, str], taken: set[str]
) -> dict[str, str]:
    """Return a row's values: those given, and options, of which two rows of one customer have different ones."""
    values = dict(given)
    for name, column in domain.tables[table].columns.items():
        if name not in values:
            options = SeededRandom(domain.name, customer, table, name).shuffled(column.options)
            values[name] = options[number % len(options)]
    return _with_key(domain, table, values, path=(customer, number), taken=taken)


def _with_key(
    domain: Domain, table: str, values: Mapping[str, str], *, path: Sequence[object], taken: set[str]
) -> dict[str, str]:
    rng = SeededRandom(domain.name, table, *path)
    spec = domain.tables[table]
    key = f"{spec.prefix}-{FIRST_KEY + rng.integer_below(KEYS)}"
    while key in taken:
        key = f"{spec.prefix}-{FIRST_KEY + rng.integer_below(KEYS)}"
    taken.add(key)
    return {spec.key: key, **values}


def owned_rows(domain: Domain, rows: Iterable[Row], *, table: str, customer: str) -> list[dict[str, str]]:
    """Return the rows of a table that belong to the customer of this name."""
    known = list(rows)
    key = domain.tables[CUSTOMERS].key
    owner = next(row.values[key] for row in known if row.table == CUSTOMERS and row.values[NAME] == customer)
    return [row.values for row in known if row.table == table and row.values[KEY_OF_CUSTOMER] == owner]
