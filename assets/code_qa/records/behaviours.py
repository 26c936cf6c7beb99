"""What functions of a package do: calls with their results, as they were executed, and what changed functions give."""

import ast
from typing import Literal, Self

from pydantic import Field, model_validator

from assets.memory_items.answers import normalized
from assets.memory_items.tasks import TaskRecord
from assets.records.base import Name, Record, Text, unit

CallOutcome = Literal["returns", "raises"]


class SandboxLimits(Record):
    """What one call may take before it is ended. Importing the package may take ten times as long."""

    seconds: float = Field(default=2.0, gt=0, le=60, description="time of one call", json_schema_extra=unit("seconds"))
    memory_mb: int = Field(
        default=256, ge=64, le=4096, description="address space beside the interpreter's", json_schema_extra=unit("MiB")
    )
    lines: int = Field(
        default=200_000, ge=1000, description="lines of Python that one call may run", json_schema_extra=unit("lines")
    )


class BehaviourPolicy(Record):
    """How many functions of a package are called, how often, and what of it is kept."""

    num_targets: int = Field(
        default=40, ge=1, le=200, description="functions that are called", json_schema_extra=unit("functions")
    )
    calls_per_target: int = Field(
        default=5, ge=1, le=50, description="behaviours of one function at most", json_schema_extra=unit("calls")
    )
    min_behaviours: int = Field(
        default=20, ge=1, description="behaviours that a question needs to choose from", json_schema_extra=unit("behaviours")
    )
    near_misses: int = Field(default=4, ge=1, le=10, description="results of changed functions that are kept of a call at most")
    max_call_characters: int = Field(default=80, ge=20, le=500, description="length of a call as it is written")
    max_result_characters: int = Field(default=40, ge=5, le=500, description="length of a result as it is written")
    limits: SandboxLimits = SandboxLimits()


class CallResult(Record):
    """What a call came to: the literal of what it returned, or the name of the exception that it raised."""

    outcome: CallOutcome = Field(description="returns or raises")
    text: Text = Field(description="the literal, such as 'a, b' or 3; or the name of the exception, such as ValueError")

    @property
    def answer(self) -> str:
        """The result as one answers it: the words of a text without its quotes, anything else as it is written."""
        value: object = ast.literal_eval(self.text) if self.outcome == "returns" else self.text
        return value if isinstance(value, str) and value.strip() == value and value else self.text


class NearMiss(Record):
    """What the same call gives when one place of the function is changed."""

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
        results = [normalized("code", one.answer) for one in (self.result, *(near.result for near in self.near_misses))]
        if len(set(results)) < len(results):
            raise ValueError(f"A near miss of {self.call} is the same answer as its result, or is there twice.")
        return self


class CodeBehaviours(TaskRecord):
    """The behaviours that a question may be about, and how many calls were tried and left out, by reason."""

    behaviours: tuple[Behaviour, ...] = Field(description="in order of functions and calls")
    tried: int = Field(description="calls that were executed")
    left_out: dict[str, int] = Field(description="calls that were not kept, by reason")
