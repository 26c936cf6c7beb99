"""Writes the replies to `state_schema/*`: canonical names for drafted types, and one choice set for merged ones."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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


def refine(task: PromptTask) -> dict[str, str]:
    """Give drafted types their canonical names; general facts about the person merge across questions."""
    drafted = [
        DraftedInfoType(key, tuple(values), item["question"])
        for item in task.data("questions")
        for key, values in item["required_info"].items()
    ]
    merged: dict[str, list[DraftedInfoType]] = {}
    for info in drafted:
        name = canonical_name(info)
        same_question = any(info.question == other.question for other in merged.get(name, ()))
        merged.setdefault(f"{name}_{info.key}" if same_question else name, []).append(info)
    minimum = MIN_VARIABLES.search(task.objection)
    if minimum:
        merged = _split_variables(merged, at_least=int(minimum[1]))
    return {info.key: name for name, group in merged.items() for info in group}


def canonical_name(info: DraftedInfoType) -> str:
    """The bank's name, else the drafted name made clear with a word of its question."""
    key = KEY_SUFFIX.sub("", info.key)
    return _bank_name(info) or f"{key}_when_{_question_word(info.question, key)}"


def _bank_name(info: DraftedInfoType) -> str | None:
    bank = load_bank()
    values = frozenset(info.values)
    topic = bank.topic_of_question.get(info.question)
    names = [v.name for v in topic.variables if values <= frozenset(v.choices)] if topic else []
    return names[0] if names else bank.resolve_name(info.key, values)


def _question_word(question: str, key: str) -> str:
    """The longest word of the question that the key does not have."""
    words = [word for word in WORD.findall(question.lower()) if stems(word) and word not in key]
    return re.sub(r"\W", "", max(words, key=len, default="asking"))


def _split_variables(merged: Mapping[str, Sequence[DraftedInfoType]], *, at_least: int) -> dict[str, list[DraftedInfoType]]:
    """Split merged variables, each part named after its question, until there are enough."""
    names: dict[str, list[DraftedInfoType]] = {name: list(group) for name, group in merged.items()}
    for name, group in list(names.items()):
        for info in group[1:]:
            if len(names) < at_least:
                names[name].remove(info)
                names.setdefault(f"{name}_when_{_question_word(info.question, name)}", []).append(info)
    return names


def unify(task: PromptTask) -> dict[str, list[str]]:
    """For each variable as many choices as asked: those that most drafts have, in the bank's order."""
    count = task.number(r"exactly (\d+) choices", default=3)
    conflicts: dict[str, list[dict[str, Any]]] = task.data("conflicts")
    denied: dict[str, dict[str, str]] = task.data("denied") if "denied" in task.blocks else {}
    unfit = unfit_values(load_bank().values, parse_profile(task.text("user_profile")))
    return {
        name: _unified(name, items, count, denied=denied.get(name, {}), unfit=unfit.get(name, {}))
        for name, items in conflicts.items()
    }


def _unified(
    name: str, items: list[dict[str, Any]], count: int, *, denied: Collection[str], unfit: Collection[str]
) -> list[str]:
    drafted = Counter(choice for item in items for choice in item["info_choices"])
    bank_name = load_bank().resolve_name(name, frozenset(drafted))
    order = list(load_bank().values[bank_name]) if bank_name else list(drafted)
    fit = [value for value in order if value not in denied]
    chosen = sorted(fit, key=lambda value: (value in unfit, -drafted[value], order.index(value)))[:count]
    return [value for value in order if value in chosen]
