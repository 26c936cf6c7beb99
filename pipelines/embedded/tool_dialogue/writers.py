"""The function that answers each prompt of tool dialogues; sessions are composed by a grammar."""

from collections.abc import Callable
from typing import Any

from assets.tool_dialogue.desk import ServiceDesk
from pipelines.embedded.memory_items import questions
from pipelines.embedded.task import PromptTask
from pipelines.embedded.tool_dialogue.acting import act
from pipelines.embedded.tool_dialogue.requests import check_request, word_request
from pipelines.embedded.tool_dialogue.world import SPEECH

WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **questions.WRITERS,
    ServiceDesk.write_prompt: SPEECH.compose,
    "evaluation/act": act,
    "td_requests/word": word_request,
    "td_requests/check": check_request,
}
