"""A study's records. What an annotator sees (`AnnotationItem`) and what the item is (`ItemKey`) are never in the same file."""

from typing import Literal, Self

from pydantic import Field, model_validator

from assets.records.annotation import StudyKind
from assets.records.base import Name, Record, duplicates
from assets.records.paths import FileName
from pipelines.errors import Problem

# Becomes a folder's name, also on file systems that ignore case.
STUDY_NAME = r"^[a-z0-9][a-z0-9_-]{0,39}$"


class Passage(Record):
    """A text to read. `speaker` is "user", "assistant", or "" for a text without one."""

    speaker: str
    text: str


class ShownFact(Record):
    """A line beside the texts, such as a variable's value."""

    name: str
    value: str


class Label(Record):
    """One answer that may be given; `value` is what is stored."""

    value: Name
    text: str


class AnnotationItem(Record):
    """One item as it is shown. Items of one `group` share their passages and are shown one after another."""

    item: Name
    group: Name
    passages: tuple[Passage, ...]
    facts: tuple[ShownFact, ...]
    labels: tuple[Label, ...] = Field(min_length=2)


class ItemKey(Record):
    """The item behind its number: its keys in the release, and the label that is right if the release is.

    `control`: the label shown is known to be wrong, so that the best rating is a mistake.
    """

    item: Name
    user_id: Name
    period: int
    session: int | None = None
    question_id: str | None = None
    variable: str = ""
    text: str
    expected: str
    control: bool = False


class Study(Record):
    """All that annotators are given. `sizing` is the arithmetic of the sample, in sentences."""

    format: Literal[1] = 1  # people may label for longer than a version of this program lasts
    name: str = Field(pattern=STUDY_NAME)
    kind: StudyKind
    dataset: str
    dataset_digest: str
    variant: FileName
    run: str
    seed: int
    annotators: tuple[FileName, ...]
    sizing: tuple[str, ...]
    tasks: tuple[AnnotationItem, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def items_differ(self) -> Self:
        repeated = duplicates([task.item for task in self.tasks])
        if repeated:
            raise ValueError(f"The study has the item {repeated[0]!r} twice.")
        return self


class ItemAnswer(Record):
    """One label, and what the annotator noted."""

    value: str
    note: str = Field(default="", max_length=4000)  # a note, not a document


class AnswerSheet(Record):
    """One annotator's answers by item."""

    study: Name
    study_digest: str
    annotator: FileName
    answers: dict[str, ItemAnswer] = Field(default_factory=dict[str, ItemAnswer])


class AnnotationError(Problem):
    """One sentence: what, where, what to do."""
