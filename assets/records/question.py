"""What a user may ask at any time, and what the answer depends on."""

from typing import Self

from pydantic import model_validator

from assets.records.base import Name, Record, Text, UserRecord, duplicates


class RequiredInfo(Record):
    """An information type with its mutually exclusive choices, as first drafted."""

    info_type: Name
    info_choices: tuple[Name, ...]

    @model_validator(mode="after")
    def choices_differ(self) -> Self:
        repeated = duplicates([choice.casefold() for choice in self.info_choices])
        if repeated:
            raise ValueError(f"The choices of {self.info_type!r} repeat {repeated}; every choice must differ.")
        return self


class Question(Record):
    """One question; the info types within it differ."""

    question_id: Name
    text: Text
    required_info: tuple[RequiredInfo, ...]

    @model_validator(mode="after")
    def types_differ(self) -> Self:
        repeated = duplicates([info.info_type for info in self.required_info])
        if repeated:
            raise ValueError(f"Question {self.text!r} requires {repeated} twice; its info types must differ.")
        return self


class QuestionSet(UserRecord):
    """All questions of one user, distinct by their words."""

    questions: tuple[Question, ...]

    @model_validator(mode="after")
    def questions_differ(self) -> Self:
        repeated = duplicates([" ".join(q.text.casefold().split()) for q in self.questions])
        if repeated:
            raise ValueError(f"These questions occur twice: {repeated}; all questions must differ.")
        return self
