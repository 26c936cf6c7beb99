"""The calls of a dialogue, as its messages show them."""

import json
from collections.abc import Iterable, Iterator

from assets.tool_dialogue.company import Call
from pipelines.agents.actions import RESULT_OF
from pipelines.embedded.task import PromptTurn


def calls_made(turns: Iterable[PromptTurn]) -> Iterator[tuple[Call, str]]:
    """Yield the calls in the dialogue with what each gave back, as the messages show them."""
    asked: Call | None = None
    for turn in turns:
        if turn.role == "assistant":
            try:
                action = json.loads(turn.content)
            except ValueError:
                continue  # what was said in words
            arguments = {one["name"]: one["value"] for one in action.get("arguments") or ()}
            asked = Call(tool=action["tool"], arguments=arguments) if action.get("tool") else None
        elif asked is not None and turn.content.startswith(RESULT_OF):
            yield asked, turn.content.partition("\n")[2]
            asked = None
