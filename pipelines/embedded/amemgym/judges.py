"""Judges: they read a text and say what it lets one conclude. They see the text and the options, nothing else."""

import math
from collections.abc import Mapping

from pipelines.embedded.reader import evidence, read, share
from pipelines.embedded.task import Task

CANNOT_TELL = "cannot_tell"
NONE_FITS = 0
BEST_AHEAD = 3.0  # log likelihood ratio between the best and the next situation
SERVES = math.log(0.5)  # log share of every value: an answer that speaks of none has the share of a guess


def check_exposure(task: Task) -> dict[str, str]:
    """What a message settles of each variable; "cannot tell" where the options have it, else the closest value."""
    text = task.text("query")
    return {name: _settled(text, name, options) for name, options in task.data("state_choices").items()}


def _settled(text: str, name: str, options: list[str]) -> str:
    values = [option for option in options if option != CANNOT_TELL]
    found = read(text, name=name, values=values)
    return found or (CANNOT_TELL if CANNOT_TELL in options else evidence(text, name=name, values=values)[0].value)


def check_answer(task: Task) -> dict[str, int]:
    """The number of the situation that an answer was written for, 0 where none stands out and 0 is allowed."""
    choices: dict[str, dict[str, str]] = task.data("choices")
    may_pass = "choose 0" in task.system
    ranked = rank_situations(task.text("answer"), choices)
    clear = len(ranked) < 2 or ranked[0][0] - ranked[1][0] >= BEST_AHEAD
    return {"choice": int(ranked[0][1]) if clear or not may_pass else NONE_FITS}


def choose_answer(task: Task) -> dict[str, int]:
    """The number of the answer that serves a situation best, 0 where none stands out and 0 is allowed."""
    situation: dict[str, str] = task.data("situation")
    options: dict[str, str] = task.data("choices")
    shares = {
        number: [share(text, name=name, value=value) for name, value in situation.items()] for number, text in options.items()
    }
    best, *others = sorted(shares, key=lambda number: (-sum(shares[number]), options[number]))
    serves = min(shares[best]) >= SERVES
    clear = serves and (not others or sum(shares[best]) - sum(shares[others[0]]) >= BEST_AHEAD)
    return {"choice": int(best) if clear or "choose 0" not in task.system else NONE_FITS}


def rank_situations(text: str, choices: Mapping[str, Mapping[str, str]]) -> list[tuple[float, str]]:
    """Situations by how much the text speaks for all their values together, best first."""
    values: dict[str, list[str]] = {}
    for assignment in choices.values():
        for name, value in assignment.items():
            values.setdefault(name, [])
            if value not in values[name]:
                values[name].append(value)
    scores = {name: _scores(text, name, known) for name, known in values.items()}
    totals = [(sum(scores[name][value] for name, value in given.items()), key) for key, given in choices.items()]
    return sorted(totals, key=lambda total: (-total[0], total[1]))


def _scores(text: str, name: str, values: list[str]) -> dict[str, float]:
    return {one.value: one.score for one in evidence(text, name=name, values=values)}
