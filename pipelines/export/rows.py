"""The rows of exported documents and questions, and how an episode says them turn by turn."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from assets.records.answers import AnswerKind
from assets.records.base import Record

R = TypeVar("R", bound=Record)


class ExportedDocument(Record):
    """A message of a user, or a document of a task; in order of time by group."""

    id: str = Field(description="unique in the file")
    user_id: str = Field(description="the group: the user whose message it is, or the task and its length")
    period: int = Field(description="period in which it was written, or turn in which it arrives, from 0")
    at: str = Field(description="time in the episode, ISO; empty where it has none")
    text: str = Field(description="the message, or the document with its title")


class ExportedQuestion(Record):
    """A question after a period, or after the last turn."""

    id: str = Field(description="unique in the file")
    user_id: str = Field(description="the group: the user who asks, or the task and its length")
    period: int = Field(description="period or turn after which it is asked; documents of later ones may not be seen")
    at: str = Field(default="", description="time of the question in the episode, ISO; empty where it has none")
    category: str = Field(default="", description="period or length, to report scores apart")
    query: str = Field(description="the question")
    shown: tuple[str, ...] = Field(default=(), description="what is read with the question and no document, such as code")
    options: tuple[str, ...] = Field(description="answers to choose from, in the order of the data; none where it is free")
    gold_option: int | None = Field(description="place of the right one, from 0; none where the answer is free")
    gold_answer: str = Field(description="the right answer")
    answer_kind: AnswerKind = Field(default="option", description="what the answer is, by which a free one is graded")
    gold_document_ids: tuple[str, ...] = Field(description="the documents that last told what the answer needs")


def read_rows(path: Path, *, kind: type[R]) -> list[R]:
    """Return the rows of a file of JSON lines."""
    return [kind.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


def turns_of(documents: Iterable[ExportedDocument]) -> tuple[str, ...]:
    """Return messages with a time as a turn each, and documents of one period as one turn."""
    turns: list[str] = []
    for _, together in groupby(documents, key=lambda document: document.at or document.period):
        texts = [f"[{document.at}] {document.text}" if document.at else document.text for document in together]
        turns.append("\n\n".join(texts))
    return tuple(turns)
