"""A task on its way to an instance: turns, lengths, certificates, and what is released."""

from collections.abc import Iterator
from typing import Self

from pydantic import Field, model_validator

from assets.deep_research.records.facts import Fact
from assets.deep_research.records.world import TaskRecord
from assets.memory_items.answers import TypedAnswer
from assets.memory_items.certificates import Certificate
from assets.memory_items.documents import Eviction, SizedItem, Turn
from assets.records.base import GateRecord, Text


class TaskTurns(TaskRecord):
    """The documents that a task needs and those beside them, in the turns in which they arrive; no filler yet."""

    turns: tuple[Turn, ...] = Field(description="documents by turn")
    gate_records: tuple[GateRecord, ...] = Field(description="readings of the last turn alone")


class TaskLengths(TaskRecord):
    """The task at each length."""

    lengths: tuple[SizedItem, ...] = Field(description="the documents by turn, with filler, at each length")


class TaskAblation(TaskRecord):
    """What readers made of the final bytes, and the certificate of each length."""

    certificates: tuple[Certificate, ...] = Field(description="what stands for the final bytes of each length")
    gate_records: tuple[GateRecord, ...] = Field(description="every reading")


class ResearchTask(TaskRecord):
    """An accepted task: the question comes after the last turn, and no memory sees it before.

    `hops` are the facts that the answer takes, in the order in which they are needed.
    """

    question: Text = Field(description="what is asked after the last turn")
    answer: TypedAnswer = Field(description="the right answer, its kind, and wrong ones of siblings")
    hops: tuple[Fact, ...] = Field(description="the facts that the answer takes, in order")
    eviction: Eviction = Field(description="what is still in view when the question comes")
    lengths: tuple[SizedItem, ...] = Field(description="the documents by turn at each length")
    certificates: tuple[Certificate, ...] = Field(description="what stands for the final bytes of each length")

    @model_validator(mode="after")
    def each_length_is_certified(self) -> Self:
        if [one.target_tokens for one in self.lengths] != [one.target_tokens for one in self.certificates]:
            raise ValueError("Each length has a certificate, in the same order.")
        return self

    def certified_lengths(self) -> Iterator[tuple[SizedItem, Certificate]]:
        """Each length with its certificate."""
        return zip(self.lengths, self.certificates, strict=True)
