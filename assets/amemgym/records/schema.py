"""The canonical state variables of one user, and the questions rewritten onto them."""

from functools import cached_property
from typing import Self

from pydantic import Field, model_validator

from assets.records.base import Name, Record, Text, UserRecord, duplicates


class StateVariable(Record):
    """A variable, its mutually exclusive choices, and the drafted info types it stands for."""

    name: Name = Field(description="unique within the user")
    choices: tuple[Name, ...] = Field(description="values that exclude each other")
    merged_from: tuple[Name, ...] = Field(description="the drafted information types that it stands for")

    @model_validator(mode="after")
    def choices_differ(self) -> Self:
        if duplicates(self.choices) or len(self.choices) < 2:
            raise ValueError(f"Variable {self.name!r} needs two or more different choices, not {list(self.choices)}.")
        return self


class SchemaQuestion(Record):
    """A question in terms of state variables; their order is the order of every variant of it."""

    question_id: Name = Field(description="as drafted")
    text: Text = Field(description="the question in the user's words")
    required_info: tuple[Name, ...] = Field(description="state variables, in the order of every variant's values")

    @model_validator(mode="after")
    def variables_differ(self) -> Self:
        if duplicates(self.required_info):
            raise ValueError(f"Question {self.question_id} needs different variables, not {list(self.required_info)}.")
        return self


class StateSchema(UserRecord):
    """Every variable serves a question, every question's variables exist."""

    variables: tuple[StateVariable, ...] = Field(description="the canonical state variables")
    questions: tuple[SchemaQuestion, ...] = Field(description="the questions in terms of these variables")

    @model_validator(mode="after")
    def variables_and_questions_agree(self) -> Self:
        names = [variable.name for variable in self.variables]
        used = {name for question in self.questions for name in question.required_info}
        if duplicates(names):
            raise ValueError(f"The schema names {duplicates(names)} twice.")
        if used != set(names):
            orphans, unknown = sorted(set(names) - used), sorted(used - set(names))
            raise ValueError(f"No question uses the variables {orphans}; the questions use unknown ones {unknown}.")
        return self

    @cached_property
    def choices(self) -> dict[str, list[str]]:
        """Variable name to its choices, in schema order: the reference's `state_schema`."""
        return {variable.name: list(variable.choices) for variable in self.variables}
