"""What an improver gets to know after a cycle, one object for each user in the structure of App. C.7."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.interview import interview_options
from pipelines.evaluation.records import AnswerRow
from pipelines.experiments.evolution.records import Feedback

UNREAD = "none that could be read"


@dataclass(frozen=True)
class UserFeedback:
    """What one user's cycle may tell: answers to questions that feedback may hold, and values the user let be known."""

    episode: Episode
    answers: tuple[AnswerRow, ...]
    told: Mapping[str, str]


def told_in(episode: Episode, periods: Sequence[int], *, variables: frozenset[str]) -> dict[str, str]:
    """The latest value of each of these variables that the user let be known in these periods."""
    sessions = [session for period in periods for session in episode.periods[period].sessions]
    exposed = [pair for session in sessions for pair in session.exposed_states.items()]
    return {name: value for name, value in exposed if name in variables}


def fewer(lessons: Sequence[UserFeedback], *, most: int, rng: SeededRandom) -> list[UserFeedback]:
    """The lessons with at most so many answers in all, drawn by rng, in their order."""
    every = [(place, answer) for place, lesson in enumerate(lessons) for answer in lesson.answers]
    drawn = {id(answer) for _, answer in rng.sample(every, most)}
    return [
        UserFeedback(lesson.episode, tuple(answer for answer in lesson.answers if id(answer) in drawn), lesson.told)
        for lesson in lessons
    ]


def feedback_of(lessons: Sequence[UserFeedback], kind: Feedback, *, seed: int) -> list[dict[str, Any]]:
    """One summary for each user who has something to tell."""
    if kind == "question-only":
        return [{"question_answer_history": _asked(lesson)} for lesson in lessons if lesson.answers]
    return [
        {
            "question_answer_history": [_answered(lesson.episode, answer, seed=seed) for answer in lesson.answers],
            "user_information_updates": dict(lesson.told),
        }
        for lesson in lessons
        if lesson.answers or lesson.told
    ]


def as_text(feedback: Sequence[Mapping[str, Any]]) -> str:
    """The feedback as it is kept."""
    return json.dumps(feedback, ensure_ascii=False)


def _asked(lesson: UserFeedback) -> list[dict[str, str]]:
    queries = {question.question_id: question.query for question in lesson.episode.questions}
    items = dict.fromkeys(answer.item for answer in lesson.answers)
    return [{"question": queries[item]} for item in items]


def _answered(episode: Episode, answer: AnswerRow, *, seed: int) -> dict[str, Any]:
    question = next(question for question in episode.questions if question.question_id == answer.item)
    options = interview_options(episode, question, period=answer.period, seed=seed)
    lines = [f"({letter(place)}) {' '.join(option.answer.split())}" for place, option in enumerate(options)]
    return {
        "question": "\n".join([question.query, *lines]),
        "assistant_response": _letter_of(answer.given, options),
        "ground_truth": _letter_of(answer.expected, options),
        "retrieved_memories": list(answer.memories),
    }


def _letter_of(choice_id: str, options: Sequence[AnswerChoice]) -> str:
    return next((letter(place) for place, option in enumerate(options) if option.choice_id == choice_id), UNREAD)


def letter(place: int) -> str:
    """The name of the option at this place, counted from 0: A to Z, then AA, AB and so on."""
    rest, last = divmod(place, len(ascii_uppercase))
    return (letter(rest - 1) if rest else "") + ascii_uppercase[last]
