"""Writes the replies to `state_schema/*`: canonical names for drafted types, and one choice set for merged ones."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import WORD, stems
from pipelines.embedded.task import Task

KEY_SUFFIX = re.compile(r"_q\d+$")
FEWEST = re.compile(r"keep at least (\d+) apart")


@dataclass(frozen=True)
class Drafted:
    """One drafted type: its key, its values, and the question that it comes with."""

    key: str
    values: tuple[str, ...]
    question: str


def refine(task: Task) -> dict[str, str]:
    """Give drafted types their canonical names; general facts about the person merge across questions."""
    drafted = [
        Drafted(key, tuple(values), item["question"])
        for item in task.data("questions")
        for key, values in item["required_info"].items()
    ]
    merged: dict[str, list[Drafted]] = {}
    for one in drafted:
        group = merged.setdefault(canonical(one), [])
        apart = any(one.question == other.question for other in group)
        (merged.setdefault(f"{canonical(one)}_{one.key}", []) if apart else group).append(one)
    fewest = FEWEST.search(task.objection)
    if fewest:
        merged = _kept_apart(merged, least=int(fewest[1]))
    return {one.key: name for name, group in merged.items() for one in group}


def canonical(one: Drafted) -> str:
    """The bank's name, else the drafted name made clear with a word of its question."""
    key = KEY_SUFFIX.sub("", one.key)
    return _bank_name(one) or f"{key}_when_{_subject(one.question, key)}"


def _bank_name(one: Drafted) -> str | None:
    bank = load_bank()
    values = frozenset(one.values)
    asked = [topic for topic in bank.topics if one.question in topic.questions]
    here = [v.name for topic in asked for v in topic.variables if values <= frozenset(v.choices)]
    return here[0] if here else bank.known_as(one.key, values)


def _subject(question: str, key: str) -> str:
    words = [word for word in WORD.findall(question.lower()) if stems(word) and word not in key]
    return re.sub(r"\W", "", max(words, key=len, default="asking"))


def _kept_apart(merged: Mapping[str, Sequence[Drafted]], *, least: int) -> dict[str, list[Drafted]]:
    """Split merged variables, each part named after its question, until there are enough."""
    names: dict[str, list[Drafted]] = {name: list(group) for name, group in merged.items()}
    for name, group in list(names.items()):
        for one in group[1:]:
            if len(names) < least:
                names[name].remove(one)
                names.setdefault(f"{name}_when_{_subject(one.question, name)}", []).append(one)
    return names


def unify(task: Task) -> dict[str, list[str]]:
    """For each variable as many choices as asked: the bank's in their order, the most drafted ones first in line."""
    count = task.number(r"exactly (\d+) choices", default=3)
    conflicts: dict[str, list[dict[str, Any]]] = task.data("conflicts")
    return {name: _unified(name, items, count) for name, items in conflicts.items()}


def _unified(name: str, items: list[dict[str, Any]], count: int) -> list[str]:
    drafted = Counter(choice for item in items for choice in item["info_choices"])
    known = load_bank().known_as(name, frozenset(drafted))
    order = list(load_bank().values[known]) if known else list(drafted)
    kept = sorted(order, key=lambda value: (-drafted[value], order.index(value)))[:count]
    return [value for value in order if value in kept]
