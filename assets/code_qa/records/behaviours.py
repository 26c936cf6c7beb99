"""Records of behaviours: calls of a package's functions with their results, and results of changed functions."""

import ast
from typing import Literal, Self

from pydantic import Field, model_validator

from assets.memory_items.tasks import TaskRecord
from assets.records.answers import normalize_answer
from assets.records.base import Name, Record, Text

CallOutcome = Literal["returns", "raises"]


def is_literal(text: str) -> bool:
    """Return True for a literal of Python, which is read and never run."""
    try:
        ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


class CallResult(Record):
    """The result of a call: the literal of what it returned, or the name of the exception that it raised."""

    outcome: CallOutcome = Field(description="returns or raises")
    text: Text = Field(description="the literal, such as 'a, b' or 3; or the name of the exception, such as ValueError")
    traceback: str = Field(default="", description="what an interpreter prints of an exception, of the package's frames")

    @property
    def answer(self) -> str:
        """The result as one answers it: the words of a text without its quotes, anything else as it is written."""
        value: object = ast.literal_eval(self.text) if self.outcome == "returns" else self.text
        return value if isinstance(value, str) and value.strip() == value and value else self.text

    @model_validator(mode="after")
    def text_is_of_the_outcome(self) -> Self:
        if self.outcome == "returns" and not is_literal(self.text):
            raise ValueError(f"{self.text[:60]!r} is no literal that a call returns.")
        last = self.traceback.rpartition("\n")[2]
        if self.traceback and last.partition(":")[0] != self.text:
            raise ValueError(f"The traceback ends in {last!r}, and the exception is {self.text}.")
        return self


class NearMiss(Record):
    """The result of the same call when one place of the function is changed."""

    result: CallResult = Field(description="what the call came to")
    change: Text = Field(description="what was changed, such as < to <= in line 12")


class Behaviour(Record):
    """A call with literal arguments that was executed twice and came to the same result both times.

    `arguments` are Python literals in their canonical form; keywords are written name=literal.
    """

    behaviour_id: Name = Field(description="the behaviour's id")
    symbol_id: Name = Field(description="the function that is called")
    arguments: tuple[Text, ...] = Field(description="literals, in order; keywords as name=literal")
    result: CallResult = Field(description="what the call came to")
    near_misses: tuple[NearMiss, ...] = Field(default=(), description="other results of changed functions, each different")

    @property
    def call(self) -> str:
        """The call as one writes it."""
        return f"{self.symbol_id}({', '.join(self.arguments)})"

    @model_validator(mode="after")
    def near_misses_miss(self) -> Self:
        answers = {normalize_answer("code", self.result.answer)}
        answers.update(normalize_answer("code", near.result.answer) for near in self.near_misses)
        if len(answers) <= len(self.near_misses):
            raise ValueError(f"A near miss of {self.call} is the same answer as its result, or is there twice.")
        return self


class CodeBehaviours(TaskRecord):
    """The behaviours that a question may be about, and how many calls were tried and left out, by reason."""

    behaviours: tuple[Behaviour, ...] = Field(description="in order of functions and calls")
    tried: int = Field(description="calls that were executed")
    left_out: dict[str, int] = Field(description="calls that were not kept, by reason")
