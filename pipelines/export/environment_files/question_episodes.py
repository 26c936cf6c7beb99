"""Questions as episodes: what is said or read turn by turn, then the question, and the grade of its reply.

An exported folder holds a copy of this module, and of those that it needs: the graders of `amemgym evaluate`.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from assets.llm.answer_text import without_thought
from assets.records.answers import TypedAnswer, is_right
from assets.records.base import Record
from pipelines.evaluation.choices import read_option
from pipelines.export.rows import ExportedDocument, ExportedQuestion, read_rows, turns_of

ANSWER_LINE = re.compile(r"^\W*ANSWER:(.*)$", re.IGNORECASE | re.MULTILINE)


class QuestionEpisode(Record):
    """One question with all that comes before it."""

    name: str
    turns: tuple[str, ...]
    question: ExportedQuestion

    @property
    def opening(self) -> str:
        """What the environment says after the turns."""
        return question_text(self.question)

    def respond(self, replies: Sequence[str]) -> str | None:
        """Return None: the reply to the question is the last."""
        return None

    def grade(self, replies: Sequence[str]) -> float:
        """Return 1 where the reply to the question is right, else 0. `replies`: all since the opening."""
        return float(bool(replies) and grade_reply(self.question, replies[-1]))


def question_text(question: ExportedQuestion) -> str:
    """Return the question with its options, and the form of its answer."""
    lines = [f"Time of the question: {question.at}"] if question.at else []
    lines += [*question.shown, question.query]
    lines += [f"{number}. {text}" for number, text in enumerate(question.options, start=1)]
    form = "the number of the option that fits what was said" if question.options else "the answer alone"
    return "\n".join([*lines, f"End with one line: ANSWER: and {form}."])


def grade_reply(question: ExportedQuestion, reply: str) -> bool:
    """Return True for a reply with exactly one line ANSWER: that `amemgym evaluate` would count as right."""
    lines = ANSWER_LINE.findall(without_thought(reply))
    if len(lines) != 1:
        return False
    given = str(lines[0]).strip().removeprefix("**").removesuffix("**").strip()
    if not question.options:
        return is_right(TypedAnswer(kind=question.answer_kind, value=question.gold_answer), given)
    try:
        return read_option(given, question.options) - 1 == question.gold_option
    except ValueError:
        return False


def read_episodes(folder: Path) -> list[QuestionEpisode]:
    """Return an episode for each question of an exported folder, in the order of the file."""
    documents: dict[str, list[ExportedDocument]] = {}
    for document in read_rows(folder / "documents.jsonl", kind=ExportedDocument):
        documents.setdefault(document.user_id, []).append(document)
    episodes: list[QuestionEpisode] = []
    for question in read_rows(folder / "questions.jsonl", kind=ExportedQuestion):
        before = [told for told in documents.get(question.user_id, []) if told.period <= question.period]
        episodes.append(QuestionEpisode(name=question.id, turns=turns_of(before), question=question))
    return episodes
