"""Memory policies: a better list of kinds of information from feedback, and whether a memory confirms a claim."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.embedded.amemgym.phrases import as_words
from pipelines.embedded.assistant.memory_tasks import any_names
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import find_topic, read_value
from pipelines.embedded.task import PromptTask

MAX_LINES_ADDED = 4  # in one rewriting: a careful editor changes a few things at a time
MAX_CHARACTERS = r"at most\s+(\d+)\s+characters"


def improve(task: PromptTask) -> dict[str, Any]:
    """The section with lines for a few kinds of information that the feedback shows and no line names yet."""
    lines = task.text("current_section").splitlines()
    missing = dict.fromkeys(line for line in _missing_lines(task.data("feedback"), lines) if line not in lines)
    added = list(missing)[:MAX_LINES_ADDED]
    section = _newest_within([*lines, *added], task.number(MAX_CHARACTERS, default=10_000))
    return {"new_types": "\n".join(section), "changes": [f"added {line[2:]}" for line in added]}


def _missing_lines(feedback: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> Iterator[str]:
    """Lines for the exposed variables, then for the topics of wrong answers; without answers, for those of the questions."""
    for summary in feedback:
        for name in summary.get("user_information_updates", {}):
            if not any_names(lines, name):
                yield f"- {as_words(name)}, as it is now"
    for summary in feedback:
        for entry in summary.get("question_answer_history", ()):
            topic = find_topic(entry["question"].partition("\n")[0])
            if topic is not None and entry.get("assistant_response") != entry.get("ground_truth", "?"):
                yield f"- {as_words(topic.topic)}: how the user goes about it"


def _newest_within(lines: Sequence[str], most_characters: int) -> list[str]:
    """The last lines that fit, in order."""
    fitting = list(lines)
    while fitting and len("\n".join(fitting)) > most_characters:
        del fitting[0]
    return fitting


def check_memory(task: PromptTask) -> dict[str, str]:
    """Whether the last line that settles a claim's variable gives it the claimed value."""
    lines = task.text("memory").splitlines()
    return {number: _verdict(claim, lines) for number, claim in task.data("claims").items()}


def _verdict(claim: str, lines: Sequence[str]) -> str:
    name, _, value = claim.partition(": ")
    bank_name = load_bank().resolve_name(name, frozenset({value}))
    values = load_bank().values.get(bank_name or "", (value,))
    readings = [reading for line in lines if (reading := read_value(line, name=name, values=values))]
    return "yes" if readings[-1:] == [value] else "no"
