"""Requests of customers: worded for an errand, and read back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.tool_dialogue.domain import Domain
from assets.tool_dialogue.domains import all_domains
from assets.tool_dialogue.errands import Errand
from assets.tool_dialogue.requests import FOR_WHOM
from pipelines.embedded.task import PromptTask
from pipelines.embedded.tool_dialogue import sentences


@dataclass(frozen=True)
class ReadRequest:
    """A request as it was understood: who asks, for what, and which matters it states."""

    customer: str
    wants: str
    stated: Mapping[str, str]

    def errand(self, domain: Domain) -> Errand | None:
        """Return the errand of this company that it is; None where it is none."""
        matters = {matter.label: name for name, matter in domain.matters.items()}
        for name, spec in domain.errands.items():
            found = sentences.pattern_of(spec.wants).fullmatch(self.wants)
            if found:
                stated = {matters[label]: value for label, value in self.stated.items() if label in matters}
                return Errand(
                    domain=domain.name,
                    name=name,
                    customer=self.customer,
                    person=found["person"],
                    item=found["item"],
                    stated=stated,
                    settled=tuple(matter for matter in domain.matters_of(spec) if matter not in stated),
                )
        return None


def word_request(task: PromptTask) -> dict[str, Any]:
    """Word a request: greeting, wish, what is stated, what is left to earlier sessions, what is asked."""
    rng = task.rng("request")
    lines = [
        rng.choice(sentences.GREETINGS).format(customer=task.text("customer"), company=task.text("company")),
        rng.choice(sentences.WISHES).format(wants=task.text("wants")),
    ]
    for label, value in task.optional_data("stated").items():
        lines.append(rng.choice(sentences.STATED).format(label=label, value=value))
    lines += [rng.choice(sentences.SETTLED), rng.choice(sentences.ASKED).format(label=task.text("asks"))]
    return {"request": " ".join([*lines, rng.choice(sentences.CLOSES)])}


def read_request(text: str) -> ReadRequest | None:
    """Return what a request asks; None where its words do not say."""
    customer = _first(sentences.GREETING_PATTERNS, text, "customer")
    wants = _first(sentences.WISH_PATTERNS, text, "wants")
    if not customer or not wants:
        return None
    stated: dict[str, str] = {}
    for pattern in sentences.STATED_PATTERNS:
        for match in pattern.finditer(text):
            stated[match["label"]] = match["value"]
    return ReadRequest(customer, wants, stated)


def _first(patterns: Sequence[re.Pattern[str]], text: str, group: str) -> str:
    for pattern in patterns:
        match = pattern.search(text)
        if match:
            return match[group]
    return ""


def check_request(task: PromptTask) -> dict[str, str]:
    """Say of each matter what the request tells, and for whom it is."""
    read = read_request(task.text("request"))
    errands = [read.errand(domain) for domain in all_domains().values()] if read else []
    found: dict[str, str] = {}
    for number, label in task.data("matters").items():
        if read and label in read.stated:
            found[number] = read.stated[label]
        for errand in filter(None, errands):
            if label == FOR_WHOM:
                found[number] = errand.person
    return found
