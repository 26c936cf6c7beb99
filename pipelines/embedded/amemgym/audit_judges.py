"""Guessers of the audit: they know options, question or profile, and nothing of the state."""

import hashlib
from collections.abc import Mapping, Sequence

from pipelines.embedded.assistant.assistant import topic_of
from pipelines.embedded.bank import Topic
from pipelines.embedded.reader import evidence, read
from pipelines.embedded.task import Task


def guess_blindly(task: Task) -> dict[str, int]:
    """An option picked by a digest of question and options: there is nothing to go on, and the order does not matter."""
    options: dict[str, str] = task.data("options")
    return {"choice": _blind(options, about=task.text("question"))}


def guess_from_profile(task: Task) -> dict[str, int]:
    """The option that speaks most for what the profile tells of the question's variables, else a blind guess."""
    options: dict[str, str] = task.data("options")
    question = task.text("question")
    topic = topic_of(question)
    told = _told(task.text("user_profile"), topic) if topic else []
    scores = {number: _score(option, told) for number, option in options.items()}
    best = {number: options[number] for number, score in scores.items() if score == max(scores.values())}
    return {"choice": _blind(best, about=question)}


def _told(profile: str, topic: Topic) -> list[tuple[str, str]]:
    """Variables that the profile settles, with their values."""
    readings = ((one.name, read(profile, name=one.name, values=tuple(one.choices))) for one in topic.variables)
    return [(name, value) for name, value in readings if value]


def _score(option: str, told: Sequence[tuple[str, str]]) -> float:
    found = (one.score for name, value in told for one in evidence(option, name=name, values=[value]))
    return round(sum(found), 6)


def _blind(options: Mapping[str, str], *, about: str) -> int:
    return int(min(options, key=lambda number: hashlib.sha256(f"{about}\x1f{options[number]}".encode()).hexdigest()))
