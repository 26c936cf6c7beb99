"""What a user may ask at any time, and what the answer depends on."""

from typing import Self

from pydantic import Field, model_validator

from assets.llm.text_matching import folded
from assets.records.base import Name, Record, Text, UserRecord, duplicates


class RequiredInfo(Record):
    """An information type with its mutually exclusive choices, as first drafted."""

    info_type: Name = Field(description="what the answer depends on, as first named")
    info_choices: tuple[Name, ...] = Field(description="values that exclude each other")

    @model_validator(mode="after")
    def choices_differ(self) -> Self:
        repeated = duplicates([choice.casefold() for choice in self.info_choices])
        if repeated:
            raise ValueError(f"The choices of {self.info_type!r} repeat {repeated}; every choice must differ.")
        return self

    @model_validator(mode="after")
    def type_is_no_choice_of_its_own(self) -> Self:
        # A query is probed for what it must not tell: naming the variable would tell the value.
        if folded(self.info_type) in map(folded, self.info_choices):
            raise ValueError(
                f"{self.info_type!r} is one of its own choices; name the type after what the choices are values of."
            )
        return self


class Question(Record):
    """One question; the info types within it differ."""

    question_id: Name = Field(description="q01, q02, ...")
    text: Text = Field(description="the question in the user's words")
    required_info: tuple[RequiredInfo, ...] = Field(description="the information types that its answer depends on")

    @model_validator(mode="after")
    def types_differ(self) -> Self:
        repeated = duplicates([info.info_type for info in self.required_info])
        if repeated:
            raise ValueError(f"Question {self.text!r} requires {repeated} twice; its info types must differ.")
        return self


class QuestionSet(UserRecord):
    """All questions of one user, distinct by their words."""

    questions: tuple[Question, ...] = Field(description="what the user may ask at any time")

    @model_validator(mode="after")
    def questions_differ(self) -> Self:
        repeated = duplicates([" ".join(q.text.casefold().split()) for q in self.questions])
        if repeated:
            raise ValueError(f"These questions occur twice: {repeated}; all questions must differ.")
        return self
