"""The worth of questions over the memories that were run: difficulty, discrimination, and a subset that ranks as all do.

Discrimination is the point-biserial correlation of being right here with the share right of all other questions, over
memories. The subset's error is measured on pairs of memories that it was not chosen on.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assets.engine.seeded_random import SeededRandom
from assets.records.base import Record
from assets.reporting.intervals import Array, divided
from pipelines.evaluation.arms import Question
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.report.contents import ReportTable
from pipelines.evaluation.report.formatting import format_number

FEWEST_MEMORIES = 5  # two are held out, and a correlation over fewer than three says nothing
SIZES = (25, 50, 100, 200, 400)
MOST_ERROR = 0.05  # the share of held-out pairs that a subset may order otherwise
DRAWS = 100  # of subsets by chance
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
    chosen: bool


class SubsetAgreement(Record):
    """Of the pairs of memories, the share that so many questions order as all do, chosen on the other memories or by chance."""

    size: int
    chosen: float
    chance: float

    @property
    def choosing_helps(self) -> bool:
        """True where the chosen questions order more of the pairs than those drawn by chance do, on average."""
        return self.chosen > self.chance


class WorthOfQuestions(Record):
    """The worth of all questions over so many memories. `enough`: the smallest subset that ranks well, by the better way."""

    memories: int
    questions: tuple[QuestionWorth, ...]
    subsets: tuple[SubsetAgreement, ...]
    enough: SubsetAgreement | None

    @property
    def may_be_chance(self) -> float:
        """The size of a discrimination below which it may be chance, by Fisher's transformation."""
        return math.tanh(NORMAL / math.sqrt(self.memories - 3))

    @property
    def negative(self) -> list[QuestionWorth]:
        """Questions with negative discrimination, the worst first."""
        found = [one for one in self.questions if one.discrimination is not None and one.discrimination < 0]
        return sorted(found, key=lambda one: one.discrimination or 0.0)


@dataclass(frozen=True)
class _Grades:
    """Right (1) or not (0), shape (memories, questions), by the questions that every run has; `keys`: what is right."""

    questions: Sequence[Question]
    keys: Sequence[str]
    right: Array


def worth_of_questions(runs: Sequence[FinishedRun]) -> WorthOfQuestions | None:
    """Return the worth of the runs' questions; None for too few runs."""
    if len(runs) < FEWEST_MEMORIES:
        return None
    grades = _grades(runs)
    memories, count = grades.right.shape
    if not count:
        return None
    seed = runs[0].manifest.seed
    order = SeededRandom(seed, "questions").shuffled(range(count))
    subsets = list[SubsetAgreement]()
    # Memories that are all alike have no order.
    if np.ptp(grades.right.sum(axis=1)):
        subsets = [_agreement(grades.right, size, seed=seed, order=order) for size in SIZES if 2 * size <= count]
    enough = None
    for one in reversed(subsets):
        if 1 - max(one.chosen, one.chance) > MOST_ERROR:
            break
        enough = one
    places = set[int]()
    if enough:
        ranked = _best(grades.right, order=order) if enough.choosing_helps else order
        places.update(ranked[: enough.size])
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
            chosen=place in places,
        )
        questions.append(worth)
    return WorthOfQuestions(memories=memories, questions=tuple(questions), subsets=tuple(subsets), enough=enough)


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
    return divided((own * others).sum(axis=0), spread)


def _best(right: Array, *, order: Sequence[int]) -> list[int]:
    """Return the places of the questions by discrimination, of each difficulty in turn; equals are in this order of chance.

    Of one difficulty alone they would tell the memories in the middle apart, and no others.
    """
    correlations = np.nan_to_num(discriminations(right).round(2), nan=-1.0)
    taken = Counter[int]()
    turns = dict[int, tuple[int, float]]()
    for place in sorted(order, key=lambda place: -correlations[place]):
        difficulty = int(right[:, place].sum())
        # What all memories do alike comes last.
        turns[place] = (taken[difficulty] if correlations[place] > 0 else len(order), -float(correlations[place]))
        taken[difficulty] += 1
    return sorted(turns, key=lambda place: turns[place])


def _agreement(right: Array, size: int, *, seed: int, order: Sequence[int]) -> SubsetAgreement:
    """Return how subsets of this size order each pair of memories: chosen on all the others, and drawn by chance."""
    whole = right.mean(axis=1)
    chosen = list[float]()
    chance = list[float]()
    draws = [SeededRandom(seed, "chance", size, draw).sample(order, size) for draw in range(DRAWS)]
    for one, other in combinations(range(len(right)), 2):
        if whole[one] == whole[other]:
            continue
        rest = np.delete(right, [one, other], axis=0)
        higher, lower = (one, other) if whole[one] > whole[other] else (other, one)
        margin = right[higher] - right[lower]
        chosen.append(_ordered(margin, _best(rest, order=order)[:size]))
        chance.append(float(np.mean([_ordered(margin, places) for places in draws])))
    return SubsetAgreement(size=size, chosen=round(float(np.mean(chosen)), 4), chance=round(float(np.mean(chance)), 4))


def _ordered(margin: Array, places: Sequence[int]) -> float:
    """Return 1 where these questions put the better memory first, a half where they cannot tell, else 0."""
    return (1 + float(np.sign(margin[list(places)].sum()))) / 2


def worth_notes(worth: WorthOfQuestions) -> list[str]:
    """Return the sentences that a reader of the tables has to know."""
    count = len(worth.questions)
    easy = sum(one.right == worth.memories for one in worth.questions)
    hard = sum(not one.right for one in worth.questions)
    least = worth.may_be_chance
    told = [one for one in worth.negative if (one.discrimination or 0.0) < -least]
    varied = sum(one.discrimination is not None for one in worth.questions)
    needed = math.ceil((NORMAL / math.atanh(0.3)) ** 2 + 3)
    enough = "no size that was tried is enough"
    if worth.enough:
        way = (
            "chosen ones"
            if worth.enough.choosing_helps
            else "drawn by chance: the choice does not carry over to other memories"
        )
        enough = f"{worth.enough.size} questions are enough, {way}"
    return [
        f"Of {count:,} questions {easy:,} were right in all {worth.memories} runs and {hard:,} in none; these tell no memory "
        "from another.",
        f"Over {worth.memories} memories a discrimination between {format_number(-least, digits=2)} and "
        f"{format_number(least, digits=2)} may be chance; to tell .30 from nothing takes {needed}. "
        f"{len(worth.negative):,} are negative and {len(told):,} below that bound, where chance alone would put some "
        f"{0.025 * varied:,.0f} of the {varied:,} that differ.",
        "A subset holds the questions that tell best. Each pair of memories is ordered by one that was chosen on all other "
        f"memories; beside it, subsets drawn by chance. To order {100 * (1 - MOST_ERROR):.0f} % of the pairs as all questions "
        f"do, {enough}. Its scores are no shares of all questions; only its order counts.",
    ]


def subset_table(worth: WorthOfQuestions) -> ReportTable:
    """Return by size how many of the held-out pairs are ordered as by all questions."""
    rows = list[list[str]]()
    for one in worth.subsets:
        rows.append([f"{one.size}", f"{100 * one.chosen:.1f} %", f"{100 * one.chance:.1f} %"])
    return ReportTable(["questions", "pairs ordered as by all", "questions by chance"], rows)


def negative_table(worth: WorthOfQuestions) -> ReportTable:
    """Return the questions with the lowest discrimination below 0."""
    rows = list[list[str]]()
    for one in worth.negative[:SHOWN]:
        name = f"{one.user_id} at {one.length:,}" if one.length else one.user_id
        right = f"{one.right} of {worth.memories}"
        rows.append([name, f"{one.period}", one.item, one.key, right, format_number(one.discrimination, digits=2)])
    return ReportTable(["of", "period", "question", "key", "right in", "discrimination"], rows)


def worth_csv(worth: WorthOfQuestions) -> str:
    """Return a line for each question, for a spreadsheet."""
    text = io.StringIO()
    rows = csv.DictWriter(text, list(QuestionWorth.model_fields), lineterminator="\n")
    rows.writeheader()
    for one in worth.questions:
        rows.writerow(one.model_dump())
    return text.getvalue()
