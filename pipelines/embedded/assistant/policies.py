"""Memory policies of the plain assistant: a better list of kinds from feedback, and what a memory bears out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.embedded.amemgym.wording import said
from pipelines.embedded.assistant.assistant import topic_of
from pipelines.embedded.assistant.notes import named_by
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import read
from pipelines.embedded.task import Task

MOST_ADDED = 4  # lines in one rewriting: a careful editor changes a few things at a time
ROOM = re.compile(r"at most\s+(\d+)\s+characters")


def improve(task: Task) -> dict[str, Any]:
    """The section with lines for a few kinds of information that the feedback shows and no line names yet."""
    lines = task.text("current_section").splitlines()
    added = list[str]()
    for line in _missing(task.data("feedback"), lines):
        if line not in (*lines, *added):
            added.append(line)
        if len(added) == MOST_ADDED:
            break
    room = task.number(ROOM.pattern, default=10_000)
    return {"new_types": "\n".join(_fitting([*lines, *added], room)), "changes": [f"added {line[2:]}" for line in added]}


def _missing(feedback: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> Iterator[str]:
    """Lines for what was let be known, then for what wrong answers were about; without answers, for what was asked."""
    for summary in feedback:
        for name in summary.get("user_information_updates", {}):
            if not named_by(lines, name):
                yield f"- {said(name)}, as it is now"
    for summary in feedback:
        for asked in summary.get("question_answer_history", ()):
            topic = topic_of(asked["question"].partition("\n")[0])
            if topic is not None and asked.get("assistant_response") != asked.get("ground_truth", "?"):
                yield f"- {said(topic.topic)}: how the user goes about it"


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """The newest lines that have room, in order."""
    kept = list(lines)
    while kept and len("\n".join(kept)) > room:
        del kept[0]
    return kept


def check_memory(task: Task) -> dict[str, str]:
    """Whether the last line that settles a claim's variable gives it the claimed value."""
    lines = task.text("memory").splitlines()
    return {number: _verdict(claim, lines) for number, claim in task.data("claims").items()}


def _verdict(claim: str, lines: Sequence[str]) -> str:
    name, _, value = claim.partition(": ")
    known = load_bank().known_as(name, frozenset({value}))
    values = load_bank().values.get(known or "", (value,))
    readings = [found for line in lines if (found := read(line, name=name, values=values))]
    return "yes" if readings[-1:] == [value] else "no"
