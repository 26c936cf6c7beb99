"""The function that answers each prompt of code questions; notes are composed by a grammar."""

from collections.abc import Callable
from functools import partial
from typing import Any

from assets.code_qa.team.world import TeamWorld
from pipelines.embedded.code_qa.world import KNOWN, SPEECH
from pipelines.embedded.memory_items import questions
from pipelines.embedded.task import PromptTask

WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **questions.WRITERS,
    TeamWorld.write_prompt: SPEECH.compose,
    "code_questions/word": partial(questions.word_in_world, KNOWN),
}
