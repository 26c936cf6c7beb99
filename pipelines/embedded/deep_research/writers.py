"""The function that answers each prompt of deep research."""

from collections.abc import Callable
from typing import Any

from assets.deep_research.fiction import WORLD
from pipelines.embedded.deep_research import manuals
from pipelines.embedded.deep_research.documents import phrase_facts, tell_documents
from pipelines.embedded.memory_items import questions
from pipelines.embedded.task import PromptTask

WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **dict.fromkeys(WORLD.tell_prompts, tell_documents),
    "dr_sources/phrase": phrase_facts,
    "dr_facts/extract": manuals.extract_manual_facts,
    "dr_questions/word": questions.word_research,
    "dr_questions/check": questions.check_research,
}
