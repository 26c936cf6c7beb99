"""Judges, guessers of the audits and annotators: they read a text and its options, and say what it lets one conclude.

They see what their prompt shows and nothing of the state.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from pipelines.embedded.amemgym.phrases import split_event
from pipelines.embedded.amemgym.plausibility import exclusive_pairs, parse_profile, unfit_values
from pipelines.embedded.bank import Topic, load_bank
from pipelines.embedded.reader import evidence, find_topic, log_share, read_value
from pipelines.embedded.task import PromptTask

NONE_FITS = 0
ZERO_ALLOWED = "choose 0"  # instructions with these words allow for `NONE_FITS`
EVERY_VARIABLE = "Name every variable; where"  # instructions with these words allow for no variable that is left out
MIN_SITUATION_LEAD = 3.0  # log likelihood ratio between the best and the next situation
MIN_LOG_SHARE = math.log(0.5)  # of every value: an answer that speaks of none has the share of a guess
ONCE_ONLY = "the same has happened before"
SLIP_RATE = 0.03  # of ratings are one off, so that two annotators of a dry run do not agree on everything


def check_exposure(task: PromptTask) -> dict[str, Any]:
    """What each message settles; of the other variables the closest value, where the prompt wants every variable named."""
    choices: dict[str, list[str]] = task.data("state_choices")
    every = EVERY_VARIABLE in task.system
    readings = [(int(number), _settled(text, choices, every=every)) for number, text in task.data("messages").items()]
    return {"readings": [{"id": number, "tells": tells} for number, tells in readings]}


def _settled(text: str, choices: Mapping[str, list[str]], *, every: bool) -> dict[str, str]:
    found = {name: read_value(text, name=name, values=values) for name, values in choices.items()}
    if every:
        return {name: value or evidence(text, name=name, values=choices[name])[0].value for name, value in found.items()}
    return {name: value for name, value in found.items() if value}


def check_story(task: PromptTask) -> dict[str, Any]:
    """The numbers of what each judged text settles; what it contradicts is an earlier text that has the same event."""
    numbered: dict[str, list[str]] = task.data("state_choices")
    choices = {name: [one.partition(" ")[2] for one in own] for name, own in numbered.items()}
    numbers = {(name, one.partition(" ")[2]): int(one.partition(" ")[0]) for name, own in numbered.items() for one in own}
    texts: dict[str, str] = task.data("texts")
    judged: list[int] = task.data("judged")
    settled = {number: _settled(texts[str(number)], choices, every=False) for number in judged}
    readings = {str(number): [numbers[pair] for pair in told.items()] for number, told in settled.items()}
    return {"readings": readings, "contradictions": {str(one): ONCE_ONLY for one in judged if _happened_before(one, texts)}}


def _happened_before(number: int, texts: Mapping[str, str]) -> bool:
    """Whether an event of the text stands in an earlier one, too."""
    known = load_bank().event_phrases
    earlier = {fragment for place in range(1, number) for fragment in _events(texts[str(place)])}
    return any(fragment in earlier for fragment in _events(texts[str(number)]) if fragment in known)


def _events(text: str) -> list[str]:
    """The fragments of an event, each with its capital."""
    return [fragment[:1].upper() + fragment[1:] for fragment in split_event(text)]


def check_schema(task: PromptTask) -> dict[str, Any]:
    """The pairs of states that exclude each other, and the choices that do not fit the person.

    It denies nothing for which it would have no choice to put in its place.
    """
    choices: dict[str, list[str]] = task.data("state_schema")
    denied: list[dict[str, Any]] = []
    for name, unfit in unfit_values(load_bank().values, parse_profile(task.text("user_profile"))).items():
        own = choices.get(name, [])
        room = len(set(load_bank().values[name]) - {*own, *unfit})
        found = [value for value in own if value in unfit][:room]
        denied += [{"state": {name: value}, "because": unfit[value]} for value in found]
    return {"denied": denied, "exclusive": exclusive_pairs(choices)}


def check_answers(task: PromptTask) -> dict[str, int]:
    """Of each case the number of the situation that its answer was written for, 0 where none stands out and 0 is allowed."""
    cases: dict[str, dict[str, Any]] = task.data("cases")
    return {
        number: _situation(case["answer"], _by_variable(case), zero=ZERO_ALLOWED in task.system)
        for number, case in cases.items()
    }


def _by_variable(case: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {number: dict(zip(case["variables"], row, strict=True)) for number, row in case["situations"].items()}


def _situation(answer: str, situations: Mapping[str, Mapping[str, str]], *, zero: bool) -> int:
    ranked = rank_situations(answer, situations)
    clear = len(ranked) < 2 or ranked[0][0] - ranked[1][0] >= MIN_SITUATION_LEAD
    return int(ranked[0][1]) if clear or not zero else NONE_FITS


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


def choose_answers(task: PromptTask) -> dict[str, int]:
    """Of each case the number of the answer that serves its situation best, 0 where none stands out and 0 is allowed."""
    cases: dict[str, dict[str, Any]] = task.data("cases")
    zero = ZERO_ALLOWED in task.system
    return {number: _best_answer(case["situation"], case["answers"], zero=zero) for number, case in cases.items()}


def choose_truth(task: PromptTask) -> dict[str, int]:
    """An annotator's choice, of a single case."""
    return {"choice": _best_answer(task.data("situation"), task.data("choices"), zero=ZERO_ALLOWED in task.system)}


def _best_answer(situation: Mapping[str, str], options: Mapping[str, str], *, zero: bool) -> int:
    shares = {
        number: [log_share(text, name=name, value=value) for name, value in situation.items()]
        for number, text in options.items()
    }
    best, *others = sorted(shares, key=lambda number: (-sum(shares[number]), options[number]))
    serves = min(shares[best]) >= MIN_LOG_SHARE
    clear = serves and (not others or sum(shares[best]) - sum(shares[others[0]]) >= MIN_SITUATION_LEAD)
    return int(best) if clear or not zero else NONE_FITS


def guess_blindly(task: PromptTask) -> dict[str, int]:
    """Options picked by a digest of question and options: there is nothing to go on, and the order does not matter."""
    cases: dict[str, dict[str, Any]] = task.data("cases")
    return {number: _pick_by_digest(case["options"], question=case.get("question", "")) for number, case in cases.items()}


def guess_from_profile(task: PromptTask) -> dict[str, int]:
    """The options that speak most for what the profile says of the questions' variables, else blind guesses."""
    cases: dict[str, dict[str, Any]] = task.data("cases")
    profile = task.text("user_profile")
    return {number: _likeliest(case["question"], case["options"], profile=profile) for number, case in cases.items()}


def _likeliest(question: str, options: Mapping[str, str], *, profile: str) -> int:
    topic = find_topic(question)
    known = _profile_values(profile, topic) if topic else {}
    scores = {
        number: round(sum(one.score for name, value in known.items() for one in evidence(option, name=name, values=[value])), 6)
        for number, option in options.items()
    }
    best = {number: options[number] for number, score in scores.items() if score == max(scores.values())}
    return _pick_by_digest(best, question=question)


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
