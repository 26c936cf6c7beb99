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

GREETINGS = ("Hello, this is {customer}.", "Good day, my name is {customer}.", "Hello {company}, {customer} here.")
WISHES = ("I would like to {wants}.", "Please arrange for me to {wants}.", "Could somebody help me to {wants}?")
STATED = ("As to {label}: {value}.", "For {label} I want this: {value}.")
SETTLED = ("All else is as we settled it.", "The rest you know from earlier.", "For everything else what we agreed on holds.")
ASKED = ("And tell me {label} that we agreed on.", "I forgot {label}, please remind me.", "Which was {label} again?")
CLOSES = ("Thank you.", "Many thanks in advance.", "That is all for now.")


def pattern_of(frame: str) -> re.Pattern[str]:
    """Return the pattern of a frame, with a group for each of its slots, none of which goes beyond a sentence."""
    parts = re.split(r"\{(\w+)\}", frame)
    words = [f"(?P<{part}>[^.:?]+?)" if number % 2 else re.escape(part) for number, part in enumerate(parts)]
    return re.compile("".join(words))


GREETING_PATTERNS = tuple(map(pattern_of, GREETINGS))
WISH_PATTERNS = tuple(map(pattern_of, WISHES))
STATED_PATTERNS = tuple(map(pattern_of, STATED))


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
            found = pattern_of(spec.wants).fullmatch(self.wants)
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
        rng.choice(GREETINGS).format(customer=task.text("customer"), company=task.text("company")),
        rng.choice(WISHES).format(wants=task.text("wants")),
    ]
    for label, value in task.optional_data("stated").items():
        lines.append(rng.choice(STATED).format(label=label, value=value))
    lines += [rng.choice(SETTLED), rng.choice(ASKED).format(label=task.text("asks"))]
    return {"request": " ".join([*lines, rng.choice(CLOSES)])}


def read_request(text: str) -> ReadRequest | None:
    """Return what a request asks; None where its words do not say."""
    customer = _first(GREETING_PATTERNS, text, "customer")
    wants = _first(WISH_PATTERNS, text, "wants")
    if not customer or not wants:
        return None
    stated: dict[str, str] = {}
    for pattern in STATED_PATTERNS:
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
