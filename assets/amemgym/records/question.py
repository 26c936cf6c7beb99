"""Questions that a user may ask at any time, the information each depends on, and one answer per variant (r_{i,v})."""

from typing import Literal, Self

from pydantic import Field, model_validator

from assets.amemgym.records.user import UserRecord
from assets.records.base import GateRecord, Name, Record, Text, duplicates
from assets.text.words import alike, folded


class RequiredInfo(Record):
    """An information type with its mutually exclusive choices, as first drafted."""

    info_type: Name = Field(description="what the answer depends on, as first named")
    info_choices: tuple[Name, ...] = Field(description="values that exclude each other")

    @model_validator(mode="after")
    def choices_differ(self) -> Self:
        repeated = list(alike(self.info_choices))
        if repeated:
            raise ValueError(f"The choices of {self.info_type!r} read the same: {repeated}; every choice must differ.")
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

    @property
    def infos(self) -> list[RequiredInfo]:
        """The information types of all questions in order."""
        infos: list[RequiredInfo] = []
        for question in self.questions:
            infos.extend(question.required_info)
        return infos


ChoiceType = Literal["experience", "random"]


class AnswerChoice(Record):
    """An answer for one variant. "experience": the user lived through it; "random": added to reach the minimum."""

    choice_id: Name = Field(description="q01-c1, q01-c2, ... in the order shown")
    state: tuple[Name, ...] = Field(description="the variant: values in the order of the question's variables")
    answer: Text = Field(description="the answer personalized for this variant")
    type: ChoiceType = Field(description="experience: lived through; random: added to reach the minimum")


class QuestionAnswers(Record):
    """The options of one question, in the order shown, and the golden choice id of every period."""

    question_id: Name = Field(description="the question")
    choices: tuple[AnswerChoice, ...] = Field(description="the options in the order shown")
    golden: tuple[Name, ...] = Field(description="by period, the choice_id that is right at its end")

    @model_validator(mode="after")
    def choices_are_distinct_and_golden_ones_exist(self) -> Self:
        ids: list[str] = []
        variants: list[str] = []
        answers: list[str] = []
        for choice in self.choices:
            ids.append(choice.choice_id)
            variants.append("\x1f".join(choice.state))  # a character that no value holds
            answers.append(" ".join(choice.answer.casefold().split()))
        for what, items in (("choice ids", ids), ("variants", variants), ("answers", answers)):
            if duplicates(items):
                raise ValueError(f"Question {self.question_id} has equal {what}: {duplicates(items)}.")
        unknown = sorted(set(self.golden) - set(ids))
        if unknown:
            raise ValueError(f"Question {self.question_id} has golden choices that do not exist: {unknown}.")
        return self


class AnswerSet(UserRecord):
    """Answers of all questions, and every vote on them."""

    questions: tuple[QuestionAnswers, ...] = Field(description="the options of every question")
    gate_records: tuple[GateRecord, ...] = Field(description="every vote of the recovery and choice gates")
