"""The calls of a dialogue, and what its agent recalled, as the messages show them."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from assets.llm.actions import RECALL, RESULT_OF, RESULT_OF_RECALL
from assets.worlds.tools import Call
from pipelines.embedded.task import PromptTask, PromptTurn

NAMES_RECALL = re.compile(rf'"name": ?"{RECALL}"')


def calls_made(turns: Iterable[PromptTurn]) -> Iterator[tuple[Call, str]]:
    """Yield the calls in the dialogue with what each gave back, as the messages show them."""
    asked: Call | None = None
    for turn in turns:
        if turn.role == "assistant":
            try:
                action = json.loads(turn.content)
            except ValueError:
                continue  # what was said in words
            arguments = {argument["name"]: argument["value"] for argument in action.get("arguments") or ()}
            asked = Call(tool=action["tool"], arguments=arguments) if action.get("tool") else None
        elif asked is not None and turn.content.startswith(RESULT_OF):
            yield asked, turn.content.partition("\n")[2]
            asked = None


def recall_once(query: str, task: PromptTask) -> dict[str, Any] | None:
    """Return the call that searches the memory, where the agent has such a tool and has not asked it this yet."""
    has_tool = any(NAMES_RECALL.search(turn.content) for turn in task.turns if turn.role != "assistant")
    if not has_tool or any(turn.role == "assistant" and query in turn.content for turn in task.turns):
        return None
    return {"action": "call", "tool": RECALL, "arguments": [{"name": "query", "value": query}], "text": None}


def recalled_texts(task: PromptTask) -> str:
    """Return what a memory gave: the texts in the instructions, and the results of searches."""
    found = [text for text in task.user_texts if text.startswith(RESULT_OF_RECALL)]
    return "\n".join([task.system, *found])
