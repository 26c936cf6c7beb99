"""An annotator's ratings: how far a message tells a value, and whether somebody's words go against one."""

from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import evidence, read
from pipelines.embedded.task import Task

SLIPS = 0.03  # of ratings are one off, so that two annotators of a dry run do not agree on everything


def rate_exposure(task: Task) -> dict[str, int]:
    """2 where the value is what the message tells, 1 where its words only hint, else 0."""
    name, value = _claim(task)
    message = task.text("message")
    values = _values(name, value)
    found = read(message, name=name, values=values)
    hinted = next(one.words for one in evidence(message, name=name, values=values) if one.value == value)
    rating = 2 if found == value else 1 if found is None and hinted else 0
    return {"rating": _slipped(task, rating)}


def rate_integrity(task: Task) -> dict[str, int]:
    """2 where a message of the user tells another value, else 0."""
    name, value = _claim(task)
    turns: list[dict[str, str]] = task.data("conversation")
    told = [read(turn["text"], name=name, values=_values(name, value)) for turn in turns if turn["speaker"] == "user"]
    return {"rating": _slipped(task, 2 if any(found not in (None, value) for found in told) else 0)}


def _claim(task: Task) -> tuple[str, str]:
    claim: dict[str, str] = task.data("claim")
    return claim["variable"], claim["value"]


def _values(name: str, value: str) -> tuple[str, ...]:
    bank = load_bank()
    known = bank.values.get(bank.known_as(name, frozenset({value})) or "", ())
    return tuple(dict.fromkeys((*known, value)))


def _slipped(task: Task, rating: int) -> int:
    rng = task.rng("slip")
    return 1 if rng.bernoulli(SLIPS) else rating
