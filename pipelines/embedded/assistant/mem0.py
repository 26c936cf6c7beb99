"""Answers the prompt by which the library Mem0 (mem0ai 2) asks for what is worth keeping: the user's statements, as they stand.

The prompt is the library's own, not one of ours; it is known by its headings.
"""

import json
import re

from pipelines.embedded.assistant.notes import statements
from pipelines.embedded.task import Task

PART = re.compile(r"^## (?P<title>[A-Z][A-Za-z ]+)\n(?P<body>.*?)(?=^## |^# Output:|\Z)", re.MULTILINE | re.DOTALL)


def parts(task: Task) -> dict[str, str]:
    """The parts of the prompt by their headings; of repeated ones the last."""
    first = task.user_texts[0] if task.user_texts else ""
    return {match["title"]: match["body"].strip() for match in PART.finditer(first)}


def is_extraction(task: Task) -> bool:
    """Whether Mem0 asks."""
    return {"Existing Memories", "New Messages", "Observation Date"} <= parts(task).keys()


def extract(task: Task) -> dict[str, list[dict[str, str]]]:
    """Every statement of the user that is not a memory yet; Mem0 only ever adds."""
    found = parts(task)
    known = {memory["text"] for memory in json.loads(found["Existing Memories"])}
    new = [statement for statement in dict.fromkeys(statements(found["New Messages"])) if statement not in known]
    return {"memory": [{"id": str(place), "text": text, "attributed_to": "user"} for place, text in enumerate(new)]}
