"""The feedback that an improver gets after a cycle, one object for each user in the structure of App. C.7."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.amemgym.interview import interview_options
from pipelines.evaluation.records import AnswerRow, RunManifest
from pipelines.experiments.evolution.records import Feedback

UNREAD = "none that could be read"


@dataclass(frozen=True)
class UserFeedback:
    """What feedback may hold of one user's cycle: answers to taught questions, and the values that the sessions exposed."""

    episode: Episode
    answers: tuple[AnswerRow, ...]
    exposed: Mapping[str, str]


def exposed_values(episode: Episode, periods: Sequence[int], *, variables: frozenset[str]) -> dict[str, str]:
    """The latest value of each of these variables that the sessions of these periods exposed."""
    sessions = [session for period in periods for session in episode.periods[period].sessions]
    exposed = [pair for session in sessions for pair in session.exposed_states.items()]
    return {name: value for name, value in exposed if name in variables}


def sample_answers(feedbacks: Sequence[UserFeedback], *, most: int, rng: SeededRandom) -> list[UserFeedback]:
    """The feedbacks with at most `most` answers in all, drawn by `rng`, in their order."""
    every = [(index, answer) for index, feedback in enumerate(feedbacks) for answer in feedback.answers]
    drawn = {id(answer) for _, answer in rng.sample(every, most)}
    return [
        UserFeedback(feedback.episode, tuple(answer for answer in feedback.answers if id(answer) in drawn), feedback.exposed)
        for feedback in feedbacks
    ]


def feedback_of(feedbacks: Sequence[UserFeedback], kind: Feedback, *, manifest: RunManifest) -> list[dict[str, Any]]:
    """One summary for each user who has something to tell."""
    if kind == "question-only":
        return [{"question_answer_history": _asked(feedback)} for feedback in feedbacks if feedback.answers]
    return [
        {
            "question_answer_history": [_answered(feedback.episode, answer, manifest=manifest) for answer in feedback.answers],
            "user_information_updates": dict(feedback.exposed),
        }
        for feedback in feedbacks
        if feedback.answers or feedback.exposed
    ]


def as_text(feedback: Sequence[Mapping[str, Any]]) -> str:
    """The feedback as JSON, as a policy step stores it."""
    return json.dumps(feedback, ensure_ascii=False)


def _asked(feedback: UserFeedback) -> list[dict[str, str]]:
    queries = {question.question_id: question.query for question in feedback.episode.questions}
    items = dict.fromkeys(answer.item for answer in feedback.answers)
    return [{"question": queries[item]} for item in items]


def _answered(episode: Episode, answer: AnswerRow, *, manifest: RunManifest) -> dict[str, Any]:
    question = next(question for question in episode.questions if question.question_id == answer.item)
    options = interview_options(episode, question, period=answer.period, manifest=manifest)
    lines = [f"({letter(index)}) {' '.join(option.answer.split())}" for index, option in enumerate(options)]
    return {
        "question": "\n".join([question.query, *lines]),
        "assistant_response": _letter_of(answer.given, options),
        "ground_truth": _letter_of(answer.expected, options),
        "retrieved_memories": list(answer.memories),
    }


def _letter_of(choice_id: str, options: Sequence[AnswerChoice]) -> str:
    return next((letter(index) for index, option in enumerate(options) if option.choice_id == choice_id), UNREAD)


def letter(index: int) -> str:
    """The name of the option at this index, counted from 0: A to Z, then AA, AB and so on."""
    rest, last = divmod(index, len(ascii_uppercase))
    return (letter(rest - 1) if rest else "") + ascii_uppercase[last]
