"""An errand as calls: what is looked up, what is written, and where each argument is from.

One program plans all of it. It knows the matters that it is told and no others: with all of them it makes the gold calls, with
one missing it stops before it writes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from assets.records.answers import normalize_answer
from assets.records.base import Name, Record, Text
from assets.tool_dialogue.company import Company
from assets.tool_dialogue.dialogue import ToolDialogue, report_done
from assets.tool_dialogue.domain import CUSTOMERS, KEY_OF_CUSTOMER, NAME, STAFF, Domain, ErrandSpec
from assets.tool_dialogue.domains import WHO
from assets.worlds.tools import REFUSED, Call

Done = Sequence[tuple[Call, str]]  # calls, and what each gave back


class Errand(Record):
    """What a customer asks for: the row that is named, what the request states, and what earlier sessions settled."""

    domain: Name = Field(description="the company")
    name: Name = Field(description="the kind of errand")
    customer: Text = Field(description="the name of the customer who asks")
    person: Text = Field(description="for whom it is, in the words of the request; only sessions tell the name")
    item: Text = Field(description="what the customer calls the row that it is about")
    stated: dict[str, str] = Field(description="matters that the request states, with their values")
    settled: tuple[Name, ...] = Field(description="matters that earlier sessions settled")


class MatterMissing(Exception):
    """A matter without which the errand cannot be done; `matter` names it."""

    def __init__(self, matter: str) -> None:
        super().__init__(matter)
        self.matter = matter


class RowMissing(Exception):
    """Nothing, or too much, was found where one row is needed."""


@dataclass(frozen=True)
class ErrandPlan:
    """The calls of an errand, one after the other, as far as the values that are known allow."""

    domain: Domain
    errand: Errand

    @property
    def spec(self) -> ErrandSpec:
        return self.domain.errands[self.errand.name]

    def next_call(self, values: Mapping[str, str], done: Done) -> Call | None:
        """Return the next call; None where all are done. Raises MatterMissing before any call, and RowMissing.

        `values`: what is known of matters, as a row holds it, and the name of the person for whom it is.
        """
        for matter in (WHO.name, *self.domain.matters_of(self.spec)):
            if matter not in values:
                raise MatterMissing(matter)
        for tool in self.spec.tools:
            if not self.written_row(tool, done):
                return self._call_of(tool, values, {call.text: reply for call, reply in done})
        return None

    def _call_of(self, tool: str, values: Mapping[str, str], found: Mapping[str, str]) -> Call:
        """Return the next call on the way to a write. `found`: by call what it gave back. Raises RowMissing."""
        customer = Call(tool=self.domain.finder(CUSTOMERS), arguments={NAME: values[WHO.name]})
        if customer.text not in found:
            return customer
        key = _one_row(found[customer.text], values[WHO.name])[self.domain.tables[CUSTOMERS].key]
        item = Call(
            tool=self.domain.finder(self.spec.item),
            arguments={KEY_OF_CUSTOMER: key, self.spec.named_by: self.errand.item},
        )
        if item.text not in found:
            return item
        item_key = self.domain.tables[self.spec.item].key
        arguments = {KEY_OF_CUSTOMER: key, item_key: _one_row(found[item.text], self.errand.item)[item_key]}
        columns = self.domain.tables[self.domain.tools[tool].table].columns
        for name, column in columns.items():
            if not column.matter:
                continue
            value = values[column.matter]
            if column.table == STAFF:
                person = Call(tool=self.domain.finder(STAFF), arguments={NAME: value})
                if person.text not in found:
                    return person
                value = _one_row(found[person.text], value)[self.domain.tables[STAFF].key]
            arguments[name] = value
        return Call(tool=tool, arguments={name: arguments[name] for name in columns})

    def written_row(self, tool: str, done: Done) -> dict[str, str]:
        """Return the row that a tool wrote; empty where it wrote none."""
        for call, reply in done:
            if call.tool == tool and not reply.startswith(REFUSED):
                row: dict[str, str] = json.loads(reply)
                return row
        return {}

    def news(self, values: Mapping[str, str], done: Done) -> tuple[str, ...]:
        """Return what the customer wants to be told once all is done: the keys of what was written, and a matter's value."""
        rows = {tool: self.written_row(tool, done) for tool in self.spec.tools}
        keys = [row[self.domain.tables[self.domain.tools[tool].table].key] for tool, row in rows.items()]
        return (*keys, values[self.spec.tells])

    def carried_out(self, company: Company, values: Mapping[str, str]) -> list[tuple[Call, str]]:
        """Make the calls in this company, and return them with what they gave back. Raises MatterMissing and RowMissing."""
        done: list[tuple[Call, str]] = []
        while True:
            call = self.next_call(values, done)
            if call is None:
                return done
            reply = company.call(call)
            done.append((call, reply))
            if reply.startswith(REFUSED):
                raise RowMissing(f"{call.text} was refused: {reply}")


def _one_row(reply: str, name: str) -> dict[str, str]:
    rows: list[dict[str, str]] = [] if reply.startswith(REFUSED) else json.loads(reply)
    if len(rows) != 1:
        raise RowMissing(f"{len(rows)} rows are found for {name!r}")
    return rows[0]


def as_argument(domain: Domain, matter: str, value: str) -> str:
    """Return a matter's value as a call has it: a date in ISO form, anything else as it is spelled, a name too."""
    is_date = matter != WHO.name and domain.matters[matter].value == "date"
    return normalize_answer("date", value) if is_date else value


def act_by_program(dialogue: ToolDialogue, errand: Errand, values: Mapping[str, str]) -> Done:
    """Let the program that plans errands act with these values of matters, as far as they carry; then it says what it made."""
    plan = ErrandPlan(dialogue.domain, errand)
    while True:
        try:
            call = plan.next_call(values, dialogue.done)
        except (MatterMissing, RowMissing):
            dialogue.say("I am sorry, I cannot do that yet.")
            return dialogue.done
        if call is None:
            dialogue.say(report_done(plan.news(values, dialogue.done)))
            return dialogue.done
        if dialogue.call(call.tool, call.arguments).startswith(REFUSED):
            return dialogue.done
