"""One distinguishable answer per state variant of a question (r_{i,v} in the paper)."""

from typing import Literal, Self

from pydantic import Field, model_validator

from assets.records.base import Name, Record, Text, UserRecord, duplicates
from assets.records.gate import GateRecord

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
        ids = [choice.choice_id for choice in self.choices]
        variants = ["\x1f".join(choice.state) for choice in self.choices]
        texts = [" ".join(choice.answer.casefold().split()) for choice in self.choices]
        for what, items in (("choice ids", ids), ("variants", variants), ("answers", texts)):
            if duplicates(items):
                raise ValueError(f"Question {self.question_id} has equal {what}: {duplicates(items)}.")
        unknown = sorted(set(self.golden) - set(ids))
        if unknown:
            raise ValueError(f"Question {self.question_id} has golden choices that do not exist: {unknown}.")
        return self


class AnswerSet(UserRecord):
    """Answers of all questions, and what the recovery gate saw on the way."""

    questions: tuple[QuestionAnswers, ...] = Field(description="the options of every question")
    gate_records: tuple[GateRecord, ...] = Field(description="every vote of the recovery and choice gates")
