"""Tools of a world as an agent sees them, and calls of them. Every value is text."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from assets.records.base import Name, Record

REFUSED = "Refused: "  # how a result begins that says why nothing was done


class Call(Record):
    """A call of a tool."""

    tool: Name = Field(description="the tool's name")
    arguments: dict[str, str] = Field(description="its arguments by name")

    @property
    def text(self) -> str:
        """The call as one writes it."""
        arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.arguments.items())
        return f"{self.tool}({arguments})"


@dataclass(frozen=True)
class ToolDescription:
    """A tool as an agent sees it: what it does, the JSON schema of its arguments, and whether it changes anything."""

    name: str
    does: str
    arguments: Mapping[str, Mapping[str, object]]
    required: Sequence[str]
    writes: bool

    def describe_for_prompt(self) -> dict[str, object]:
        """Return the description as a prompt shows it."""
        schema = {"type": "object", "properties": self.arguments, "required": list(self.required)}
        return {"name": self.name, "does": self.does, "arguments": schema}


class CallRefused(Exception):
    """A call that cannot be carried out; the message is a sentence for whoever called."""
