"""Judges, and guessers of the audits: they read a text and its options, and say what it lets one conclude.

They see what their prompt shows and nothing of the state.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.embedded.amemgym.phrases import split_event
from pipelines.embedded.amemgym.plausibility import contradictions, exclusive_pairs, fitting_values, parse_profile, unfit_values
from pipelines.embedded.amemgym.state_trajectory import life_area, named_areas
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import evidence, find_topic, log_share, read_values, score_values
from pipelines.embedded.task import PromptTask

NONE_FITS = 0
ZERO_ALLOWED = "give 0"  # instructions with these words allow for `NONE_FITS`
EVERY_VARIABLE = "Name every variable; where"  # instructions with these words allow for no variable that is left out
MIN_SITUATION_LEAD = 3.0  # log likelihood ratio between the best and the next situation
MIN_LOG_SHARE = math.log(0.5)  # of every value: an answer that speaks of none has the share of a guess
DAY = re.compile(r"^\d{4}-\d\d-\d\d, \w+: ")  # before each text of a story
ONCE_ONLY = "the same has happened before"


def judge_exposure(task: PromptTask) -> dict[str, Any]:
    """Say what each message settles; of the other variables the closest value, where the prompt wants every variable named."""
    choices: dict[str, list[str]] = task.data("state_choices")
    readings: list[dict[str, Any]] = []
    for number, text in task.data("messages").items():
        readings.append({"id": int(number), "tells": _told_values(text, choices, every=EVERY_VARIABLE in task.system)})
    return {"readings": readings}


def probe_queries(task: PromptTask) -> dict[str, dict[str, list[int]]]:
    """Say by number what each message tells; it hints at nothing."""
    options = NumberedOptions.of(task)
    readings: dict[str, dict[str, list[int]]] = {}
    for number, text in task.data("messages").items():
        readings[number] = {"told": options.numbers_of(read_values(text, options.choices)), "hinted": []}
    return readings


@dataclass(frozen=True)
class NumberedOptions:
    """The choices of a prompt that shows them by number."""

    choices: Mapping[str, Sequence[str]]
    numbers: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, task: PromptTask) -> "NumberedOptions":
        choices: dict[str, list[str]] = {}
        numbers: dict[tuple[str, str], int] = {}
        for name, shown in task.data("state_choices").items():
            choices[name] = []
            for choice in shown:
                number, _, value = choice.partition(" ")
                choices[name].append(value)
                numbers[name, value] = int(number)
        return cls(choices, numbers)

    def numbers_of(self, values: Mapping[str, str]) -> list[int]:
        return [self.numbers[pair] for pair in values.items()]


def _told_values(text: str, choices: Mapping[str, Sequence[str]], *, every: bool) -> dict[str, str]:
    settled = read_values(text, choices)
    if not every:
        return settled
    told: dict[str, str] = {}
    for name, values in choices.items():
        told[name] = settled.get(name) or evidence(text, name=name, values=values)[0].value
    return told


def judge_story(task: PromptTask) -> dict[str, Any]:
    """Say by number what each judged text settles, and which periods' changes it names the areas of life of.

    What a text contradicts is an earlier one that has the same event.
    """
    options = NumberedOptions.of(task)
    texts: dict[str, str] = {number: DAY.sub("", dated) for number, dated in task.data("texts").items()}
    readings: dict[str, list[int]] = {}
    contradictions: dict[str, str] = {}
    for judged in task.data("judged"):
        readings[str(judged)] = options.numbers_of(read_values(texts[str(judged)], options.choices))
        if _happened_before(judged, texts):
            contradictions[str(judged)] = ONCE_ONLY
    reply: dict[str, Any] = {"readings": readings, "contradictions": contradictions}
    periods: dict[str, list[int]] = task.optional_data("periods")
    if periods:
        names = {number: name for (name, _), number in options.numbers.items()}
        changed = {key: [names[number] for number in own] for key, own in periods.items()}
        reply["periods"] = {key: _periods_told(texts[key], changed, list(options.choices)) for key in readings}
    return reply


def _periods_told(text: str, changed: Mapping[str, Sequence[str]], names: Sequence[str]) -> list[int]:
    """Return the periods in which something changed in all areas of life that the text names; none where it names none."""
    told = named_areas(text, names)
    return [int(number) for number, own in changed.items() if told and told <= set(map(life_area, own))]


def _happened_before(number: int, texts: Mapping[str, str]) -> bool:
    """Return True when an event of the text stands in an earlier one, too."""
    events = load_bank().event_phrases.intersection(split_event(texts[str(number)]))
    return any(events.intersection(split_event(texts[str(earlier)])) for earlier in range(1, number))


def compare_profile(task: PromptTask) -> dict[str, Any]:
    """Name choices that do not fit the person, and those that the person's interests tell.

    It denies nothing for which it would have no choice to put in its place.
    """
    options = NumberedOptions.of(task)
    choices = options.choices
    person = parse_profile(task.text("user_profile"))
    denied: list[dict[str, Any]] = []
    stated: dict[str, str] = {}
    unfit_of = unfit_values(load_bank().values, person)
    for name, unfit in unfit_of.items():
        own = choices.get(name, [])
        replacements = set(load_bank().values[name]) - {*own, *unfit}
        found = [value for value in own if value in unfit]
        for value in found[: len(replacements)]:
            denied.append({"choice": options.numbers[name, value], "because": unfit[value]})
    for name, value in fitting_values(person).items():
        if value in choices.get(name, ()) and value not in unfit_of.get(name, {}):
            stated[name] = value
    return {"denied": denied, "announced": [], "stated": options.numbers_of(stated)}


def judge_choices(task: PromptTask) -> dict[str, list[dict[str, Any]]]:
    """Name choices that stand beside choices of another variable of the bank: these may go together."""
    options = NumberedOptions.of(task)
    failing: list[dict[str, Any]] = []
    for name, own in options.choices.items():
        first = load_bank().values_around(name, own[0])
        for value in own[1:]:
            if first and value not in first and load_bank().resolve_name(name, frozenset({value})):
                failing.append({"choice": options.numbers[name, value], "because": f"it goes together with {own[0]}"})
    return {"failing": failing}


def find_pairs(task: PromptTask) -> dict[str, list[list[int]]]:
    """Name pairs that exclude each other."""
    options = NumberedOptions.of(task)
    return {"exclusive": [options.numbers_of(pair) for pair in exclusive_pairs(options.choices)]}


def judge_profile(task: PromptTask) -> dict[str, list[str]]:
    """Name what the profile contradicts in itself."""
    return {"contradictions": contradictions(parse_profile(task.text("user_profile")))}


def judge_questions(task: PromptTask) -> dict[str, list[int]]:
    """Name the sets of variables that decide each question."""
    choices = NumberedOptions.of(task).choices
    sets: dict[str, list[str]] = task.data("variable_sets")
    decided_by: dict[str, list[int]] = {}
    for number, question in task.data("questions").items():
        decided_by[number] = _deciding_sets(question, sets, choices)
    return decided_by


def _deciding_sets(question: str, sets: Mapping[str, Sequence[str]], choices: Mapping[str, Sequence[str]]) -> list[int]:
    """Return the sets with as many variables of the question's topic as a set can have; the others are its neighbours'."""
    topic = find_topic(question)
    if topic is None:
        return []
    deciding: list[int] = []
    for number, names in sets.items():
        most_choices = max(len(choices[name]) for name in names)
        own = [variable.name for variable in topic.variables if len(variable.choices) >= most_choices]
        shared = [name for name in names if load_bank().resolve_name(name, frozenset(choices[name])) in own]
        if shared and len(shared) == min(len(names), len(own)):
            deciding.append(int(number))
    return deciding


def recover_situations(task: PromptTask) -> dict[str, int]:
    """Name the situation that each answer was written for, 0 where none stands out and 0 is allowed."""
    judged: dict[str, int] = {}
    for case in task.data("cases").values():
        situations = _situations_of(case)
        for number, answer in case["answers"].items():
            judged[number] = _situation(answer, situations, zero=ZERO_ALLOWED in task.system)
    return judged


def _situations_of(case: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {key: dict(zip(case["variables"], row, strict=True)) for key, row in case["situations"].items()}


def _situation(answer: str, situations: Mapping[str, Mapping[str, str]], *, zero: bool) -> int:
    ranked = rank_situations(answer, situations)
    # Where 0 is not allowed a judge has to choose, as the paper's does.
    if zero and len(ranked) > 1 and ranked[0].score - ranked[1].score < MIN_SITUATION_LEAD:
        return NONE_FITS
    return int(ranked[0].key)


@dataclass(frozen=True)
class RankedSituation:
    """A situation by its key, and how much a text speaks for all its values together."""

    key: str
    score: float


def rank_situations(text: str, situations: Mapping[str, Mapping[str, str]]) -> list[RankedSituation]:
    """Rank situations by how much the text speaks for them, best first; equal ones by their keys."""
    values: dict[str, dict[str, None]] = {}
    for assignment in situations.values():
        for name, value in assignment.items():
            values.setdefault(name, {})[value] = None
    scores: dict[str, dict[str, float]] = {}
    for name, known in values.items():
        scores[name] = score_values(text, name=name, values=list(known))
    ranked: list[RankedSituation] = []
    for key, assignment in situations.items():
        total = 0.0
        for name, value in assignment.items():
            total += scores[name][value]
        ranked.append(RankedSituation(key, total))
    return sorted(ranked, key=lambda candidate: (-candidate.score, candidate.key))


def pick_answers(task: PromptTask) -> dict[str, int]:
    """Name the answer that serves each situation best, 0 where none stands out and 0 is allowed."""
    picked: dict[str, int] = {}
    for case in task.data("cases").values():
        for number, situation in _situations_of(case).items():
            picked[number] = _best_answer(situation, case["answers"], zero=ZERO_ALLOWED in task.system)
    return picked


def _best_answer(situation: Mapping[str, str], options: Mapping[str, str], *, zero: bool) -> int:
    shares: dict[str, list[float]] = {}
    for number, text in options.items():
        shares[number] = [log_share(text, name=name, value=value) for name, value in situation.items()]
    best, *others = sorted(shares, key=lambda number: (-sum(shares[number]), options[number]))
    serves = min(shares[best]) >= MIN_LOG_SHARE
    leads = not others or sum(shares[best]) - sum(shares[others[0]]) >= MIN_SITUATION_LEAD
    if zero and not (serves and leads):
        return NONE_FITS
    return int(best)


def guess_blindly(task: PromptTask) -> dict[str, int]:
    """Pick options by a digest of question and options: there is nothing to go on, and the order does not matter."""
    guesses: dict[str, int] = {}
    for number, case in task.data("cases").items():
        guesses[number] = _pick_by_digest(case["options"], question=case.get("question", ""))
    return guesses


def guess_from_profile(task: PromptTask) -> dict[str, int]:
    """Guess the options that speak most for what the profile says of the questions' variables, else blindly."""
    guesses: dict[str, int] = {}
    for number, case in task.data("cases").items():
        guesses[number] = _likeliest(case["question"], case["options"], profile=task.text("user_profile"))
    return guesses


def _likeliest(question: str, options: Mapping[str, str], *, profile: str) -> int:
    topic = find_topic(question)
    known: dict[str, str] = {}
    if topic is not None:
        known = read_values(profile, topic.choices)
    scores: dict[str, float] = {}
    for number, option in options.items():
        total = 0.0
        for name, value in known.items():
            total += score_values(option, name=name, values=[value])[value]
        scores[number] = round(total, 6)  # so that equal evidence is equal, whatever the order of its words
    best = {number: options[number] for number in scores if scores[number] == max(scores.values())}
    return _pick_by_digest(best, question=question)


def _pick_by_digest(options: Mapping[str, str], *, question: str) -> int:
    def digest(number: str) -> str:
        return hashlib.sha256(f"{question}\x1f{options[number]}".encode()).hexdigest()

    return int(min(options, key=digest))
