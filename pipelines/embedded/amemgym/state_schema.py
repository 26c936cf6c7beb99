"""Writes the replies to `state_schema/*`: canonical names for drafted types, and one choice set for merged ones."""

import re
from collections import Counter
from dataclasses import dataclass

from assets.amemgym.questions import is_told
from pipelines.embedded.amemgym.plausibility import parse_profile, unfit_values
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import WORD, stems
from pipelines.embedded.task import PromptTask

KEY_SUFFIX = re.compile(r"_q\d+$")
MIN_VARIABLES = re.compile(r"keep at least (\d+) apart")


@dataclass(frozen=True)
class DraftedInfoType:
    """One drafted info type: its key, its values, and the question that it comes with."""

    key: str
    values: tuple[str, ...]
    question: str


def name_variables(task: PromptTask) -> dict[str, str]:
    """Give drafted types that have another their canonical names; general facts about the person merge across questions."""
    drafted: list[DraftedInfoType] = []
    for item in task.data("questions"):
        for key, values in item["required_info"].items():
            drafted.append(DraftedInfoType(key, tuple(values), item["question"]))
    merged: dict[str, list[DraftedInfoType]] = {}
    for info in drafted:
        name = canonical_name(info)
        same_question = any(info.question == other.question for other in merged.get(name, ()))
        if same_question:
            name = f"{name}_{info.key}"
        merged.setdefault(name, []).append(info)
    minimum = MIN_VARIABLES.search(task.objection)
    if minimum:
        _split_variables(merged, at_least=int(minimum[1]))
    names: dict[str, str] = {}
    for name, group in merged.items():
        names.update((info.key, name) for info in group if info.key != name)
    return names


def canonical_name(info: DraftedInfoType) -> str:
    """Return the bank's name, else the drafted name made clear with a word of its question."""
    key = KEY_SUFFIX.sub("", info.key)
    return _bank_name(info) or f"{key}_when_{_question_word(info.question, key)}"


def _bank_name(info: DraftedInfoType) -> str | None:
    bank = load_bank()
    values = frozenset(info.values)
    topic = bank.topic_of_question.get(info.question)
    for variable in topic.variables if topic else ():
        if values <= frozenset(variable.choices):
            return variable.name
    return bank.resolve_name(info.key, values)


def _question_word(question: str, key: str) -> str:
    """Return the longest word of the question that the key does not have."""
    words = [word for word in WORD.findall(question.lower()) if stems(word) and word not in key]
    return re.sub(r"\W", "", max(words, key=len, default="asking"))


def _split_variables(merged: dict[str, list[DraftedInfoType]], *, at_least: int) -> None:
    """Split merged variables, each part named after its question, until there are enough."""
    for name, group in list(merged.items()):
        for info in group[1:]:
            if len(merged) < at_least:
                group.remove(info)
                merged.setdefault(f"{name}_when_{_question_word(info.question, name)}", []).append(info)


def unify_choices(task: PromptTask) -> dict[str, list[str]]:
    """Choose for each variable as many choices as asked: those that most drafts have, in the bank's order."""
    count = task.number(r"exactly (\d+) choices", default=3)
    profile = task.text("user_profile")
    unfit = unfit_values(load_bank().values, parse_profile(profile))
    unified: dict[str, list[str]] = {}
    for name, items in task.data("conflicts").items():
        drafted: Counter[str] = Counter()
        for item in items:
            drafted.update(item["info_choices"])
        bank_name = load_bank().resolve_name(name, frozenset(drafted))
        order = list(load_bank().values[bank_name]) if bank_name else list(drafted)
        avoided = {value for value in order if value in unfit.get(name, {}) or is_told(value, profile, language="en")}
        chosen = sorted(order, key=lambda value, avoided=avoided, drafted=drafted: (value in avoided, -drafted[value]))
        unified[name] = sorted(chosen[:count], key=order.index)
    return unified
