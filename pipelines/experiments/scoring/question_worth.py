"""The worth of questions over the memories that were run: difficulty, and discrimination, which shows keys to look at.

Discrimination is the point-biserial correlation of being right here with the share right of all other questions, over
memories.
"""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assets.records.base import Record
from assets.reporting.intervals import Array, divide
from pipelines.evaluation.arms import Question
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.report.numbers import format_number
from pipelines.evaluation.report.sections import ReportTable

FEWEST_MEMORIES = 5  # a correlation over fewer says nothing
QUESTIONS = "questions.csv"  # behind the name of the board
SHOWN = 20  # questions with negative discrimination
NORMAL = 1.96  # of the normal distribution, two-sided 95 %
WORTH_TITLE = "What the questions are worth"
NEGATIVE_TITLE = "Questions that better memories get wrong: look at the key"


class QuestionWorth(Record):
    """One question: how many memories were right, the share that was not, and the discrimination; none where all are alike."""

    user_id: str
    length: int
    period: int
    item: str
    key: str
    right: int
    difficulty: float
    discrimination: float | None


class WorthOfQuestions(Record):
    """The worth of all questions over so many memories."""

    memories: int
    questions: tuple[QuestionWorth, ...]

    @property
    def may_be_chance(self) -> float:
        """The size of a discrimination below which it may be chance, by Fisher's transformation."""
        return math.tanh(NORMAL / math.sqrt(self.memories - 3))

    @property
    def negative(self) -> list[QuestionWorth]:
        """Questions with negative discrimination, the worst first."""
        found = [question for question in self.questions if question.discrimination is not None and question.discrimination < 0]
        return sorted(found, key=lambda question: question.discrimination or 0.0)


@dataclass(frozen=True)
class _Grades:
    """Right (1) or not (0), shape (memories, questions), by the questions that every run has; `keys`: what is right."""

    questions: Sequence[Question]
    keys: Sequence[str]
    right: Array


def worth_of_questions(runs: Sequence[FinishedRun]) -> WorthOfQuestions | None:
    """Return the worth of the runs' questions; None for too few runs, or none that all of them were asked."""
    if len(runs) < FEWEST_MEMORIES:
        return None
    grades = _grades(runs)
    if not grades.questions:
        return None
    memories = len(runs)
    questions = list[QuestionWorth]()
    correlations = discriminations(grades.right)
    for place, (user_id, length, period, item) in enumerate(grades.questions):
        right = int(grades.right[:, place].sum())
        found = float(correlations[place])
        worth = QuestionWorth(
            user_id=user_id,
            length=length,
            period=period,
            item=item,
            key=grades.keys[place],
            right=right,
            difficulty=round(1 - right / memories, 4),
            discrimination=None if math.isnan(found) else round(found, 4),
        )
        questions.append(worth)
    return WorthOfQuestions(memories=memories, questions=tuple(questions))


def _grades(runs: Sequence[FinishedRun]) -> _Grades:
    by_run = list[dict[Question, bool]]()
    keys = dict[Question, str]()
    for run in runs:
        own = dict[Question, bool]()
        for row in run.answers:
            if row.kind == "question":
                own[row.question_key] = row.status == "right"
                keys[row.question_key] = row.expected
        by_run.append(own)
    shared = sorted(by_run[0])
    for own in by_run[1:]:
        shared = [question for question in shared if question in own]
    right = np.array([[own[question] for question in shared] for own in by_run], dtype=float)
    return _Grades(shared, [keys[question] for question in shared], right)


def discriminations(right: Array) -> Array:
    """Return each question's correlation with the rest of the score, over memories; nan where either is the same for all.

    `right`: of shape (memories, questions).
    """
    rest = right.sum(axis=1, keepdims=True) - right
    own = right - right.mean(axis=0)
    others = rest - rest.mean(axis=0)
    spread = np.sqrt((own**2).sum(axis=0) * (others**2).sum(axis=0))
    return divide((own * others).sum(axis=0), spread)


def worth_notes(worth: WorthOfQuestions) -> list[str]:
    """Return the sentences that a reader of the tables has to know."""
    count = len(worth.questions)
    easy = sum(question.right == worth.memories for question in worth.questions)
    hard = sum(not question.right for question in worth.questions)
    least = worth.may_be_chance
    told = [question for question in worth.negative if (question.discrimination or 0.0) < -least]
    varied = sum(question.discrimination is not None for question in worth.questions)
    needed = math.ceil((NORMAL / math.atanh(0.3)) ** 2 + 3)
    return [
        f"Of {count:,} questions {easy:,} were right in all {worth.memories} runs and {hard:,} in none; these tell no memory "
        "from another.",
        f"Over {worth.memories} memories a discrimination between {format_number(-least, digits=2)} and "
        f"{format_number(least, digits=2)} may be chance; to tell .30 from nothing takes {needed}. "
        f"{len(worth.negative):,} are negative and {len(told):,} below that bound, where chance alone would put some "
        f"{0.025 * varied:,.0f} of the {varied:,} that differ.",
    ]


def negative_table(worth: WorthOfQuestions) -> ReportTable:
    """Return the questions with the lowest discrimination below 0."""
    rows = list[list[str]]()
    for question in worth.negative[:SHOWN]:
        name = f"{question.user_id} at {question.length:,}" if question.length else question.user_id
        right = f"{question.right} of {worth.memories}"
        rows.append(
            [name, f"{question.period}", question.item, question.key, right, format_number(question.discrimination, digits=2)]
        )
    return ReportTable(["of", "period", "question", "key", "right in", "discrimination"], rows)


def worth_csv(worth: WorthOfQuestions) -> str:
    """Return a line for each question, for a spreadsheet."""
    text = io.StringIO()
    rows = csv.DictWriter(text, list(QuestionWorth.model_fields), lineterminator="\n")
    rows.writeheader()
    for question in worth.questions:
        rows.writerow(question.model_dump())
    return text.getvalue()
