"""The function that answers each prompt of deep research; documents are composed by a grammar."""

from collections.abc import Callable
from functools import partial
from typing import Any

from assets.deep_research.fiction import WORLD
from pipelines.embedded.deep_research import manuals
from pipelines.embedded.deep_research.world import KNOWN, SPEECH
from pipelines.embedded.memory_items import questions
from pipelines.embedded.task import PromptTask

WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **questions.WRITERS,
    WORLD.write_prompt: SPEECH.compose,
    "dr_facts/extract": manuals.extract_manual_facts,
    "dr_questions/word": partial(questions.word_in_world, KNOWN),
}
