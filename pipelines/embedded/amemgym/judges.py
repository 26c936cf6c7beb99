"""Judges, guessers of the audits and annotators: they read a text and its options, and say what it lets one conclude.

They see what their prompt shows and nothing of the state.
"""

import hashlib
import math
from collections.abc import Mapping

from pipelines.embedded.bank import Topic, load_bank
from pipelines.embedded.reader import evidence, find_topic, log_share, read_value
from pipelines.embedded.task import CANNOT_TELL, PromptTask

NONE_FITS = 0
ZERO_ALLOWED = "choose 0"  # instructions with these words allow for `NONE_FITS`
MIN_SITUATION_LEAD = 3.0  # log likelihood ratio between the best and the next situation
MIN_LOG_SHARE = math.log(0.5)  # of every value: an answer that speaks of none has the share of a guess
SLIP_RATE = 0.03  # of ratings are one off, so that two annotators of a dry run do not agree on everything


def check_exposure(task: PromptTask) -> dict[str, str]:
    """What a message settles of each variable; "cannot tell" where the options have it, else the closest value."""
    text = task.text("query")
    return {name: _settled_option(text, name, options) for name, options in task.data("state_choices").items()}


def _settled_option(text: str, name: str, options: list[str]) -> str:
    values = [option for option in options if option != CANNOT_TELL]
    value = read_value(text, name=name, values=values)
    return value or (CANNOT_TELL if CANNOT_TELL in options else evidence(text, name=name, values=values)[0].value)


def check_answer(task: PromptTask) -> dict[str, int]:
    """The number of the situation that an answer was written for, 0 where none stands out and 0 is allowed."""
    ranked = rank_situations(task.text("answer"), task.data("choices"))
    clear = len(ranked) < 2 or ranked[0][0] - ranked[1][0] >= MIN_SITUATION_LEAD
    return {"choice": int(ranked[0][1]) if clear or ZERO_ALLOWED not in task.system else NONE_FITS}


def rank_situations(text: str, choices: Mapping[str, Mapping[str, str]]) -> list[tuple[float, str]]:
    """Situations by how much the text speaks for all their values together, best first: score and key."""
    values: dict[str, list[str]] = {}
    for assignment in choices.values():
        for name, value in assignment.items():
            values.setdefault(name, [])
            if value not in values[name]:
                values[name].append(value)
    scores = {name: {e.value: e.score for e in evidence(text, name=name, values=known)} for name, known in values.items()}
    totals = [(sum(scores[name][value] for name, value in state.items()), key) for key, state in choices.items()]
    return sorted(totals, key=lambda total: (-total[0], total[1]))


def choose_answer(task: PromptTask) -> dict[str, int]:
    """The number of the answer that serves a situation best, 0 where none stands out and 0 is allowed."""
    situation: dict[str, str] = task.data("situation")
    options: dict[str, str] = task.data("choices")
    shares = {
        number: [log_share(text, name=name, value=value) for name, value in situation.items()]
        for number, text in options.items()
    }
    best, *others = sorted(shares, key=lambda number: (-sum(shares[number]), options[number]))
    serves = min(shares[best]) >= MIN_LOG_SHARE
    clear = serves and (not others or sum(shares[best]) - sum(shares[others[0]]) >= MIN_SITUATION_LEAD)
    return {"choice": int(best) if clear or ZERO_ALLOWED not in task.system else NONE_FITS}


def guess_blindly(task: PromptTask) -> dict[str, int]:
    """An option picked by a digest of question and options: there is nothing to go on, and the order does not matter."""
    options: dict[str, str] = task.data("options")
    return {"choice": _pick_by_digest(options, question=task.text("question"))}


def guess_from_profile(task: PromptTask) -> dict[str, int]:
    """The option that speaks most for what the profile says of the question's variables, else a blind guess."""
    options: dict[str, str] = task.data("options")
    question = task.text("question")
    topic = find_topic(question)
    known = _profile_values(task.text("user_profile"), topic) if topic else {}
    scores = {
        number: round(sum(one.score for name, value in known.items() for one in evidence(option, name=name, values=[value])), 6)
        for number, option in options.items()
    }
    best = {number: options[number] for number, score in scores.items() if score == max(scores.values())}
    return {"choice": _pick_by_digest(best, question=question)}


def _profile_values(profile: str, topic: Topic) -> dict[str, str]:
    """The topic's variables that the profile settles, with their values."""
    readings = {v.name: read_value(profile, name=v.name, values=tuple(v.choices)) for v in topic.variables}
    return {name: value for name, value in readings.items() if value}


def _pick_by_digest(options: Mapping[str, str], *, question: str) -> int:
    return int(min(options, key=lambda number: hashlib.sha256(f"{question}\x1f{options[number]}".encode()).hexdigest()))


def rate_exposure(task: PromptTask) -> dict[str, int]:
    """An annotator's rating: 2 where the message conveys the claimed value, 1 where its words only hint at it, else 0."""
    name, value = _claim(task)
    message = task.text("message")
    values = _values_with(name, value)
    reading = read_value(message, name=name, values=values)
    hints = next(one.words for one in evidence(message, name=name, values=values) if one.value == value)
    rating = 2 if reading == value else 1 if reading is None and hints else 0
    return {"rating": _with_slips(task, rating)}


def rate_integrity(task: PromptTask) -> dict[str, int]:
    """An annotator's rating: 2 where a message of the user conveys another value than the claimed one, else 0."""
    name, value = _claim(task)
    values = _values_with(name, value)
    turns: list[dict[str, str]] = task.data("conversation")
    readings = [read_value(turn["text"], name=name, values=values) for turn in turns if turn["speaker"] == "user"]
    return {"rating": _with_slips(task, 2 if any(reading not in (None, value) for reading in readings) else 0)}


def _claim(task: PromptTask) -> tuple[str, str]:
    claim: dict[str, str] = task.data("claim")
    return claim["variable"], claim["value"]


def _values_with(name: str, value: str) -> tuple[str, ...]:
    """The bank's values of the variable, and the claimed one."""
    bank = load_bank()
    values = bank.values.get(bank.resolve_name(name, frozenset({value})) or "", ())
    return tuple(dict.fromkeys((*values, value)))


def _with_slips(task: PromptTask, rating: int) -> int:
    return 1 if task.rng("slip").bernoulli(SLIP_RATE) else rating
