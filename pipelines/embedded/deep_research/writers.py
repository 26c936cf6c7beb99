"""The function that answers each prompt of deep research. Documents are made of sentences that suit any subject."""

from collections.abc import Callable
from typing import Any

from assets.deep_research.fiction import RELATIONS
from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.deep_research import manuals
from pipelines.embedded.deep_research.sentences import CLAUSES, ENDINGS, FRAMES, MIDDLES, OPENINGS, TITLES
from pipelines.embedded.memory_items import questions
from pipelines.embedded.memory_items.documents import STATEMENTS, DocumentWords, write_documents, write_statements
from pipelines.embedded.task import PromptTask

DOCUMENTS = DocumentWords("documents", OPENINGS, TITLES, MIDDLES, ENDINGS, fewest_middles=9, most_middles=12)
AFTER_STATEMENTS = "So it is with {subject} as with much else that has been around for a while."


def tell_documents(task: PromptTask) -> dict[str, Any]:
    """Write documents of an invented world."""
    return write_documents(task, DOCUMENTS, _place_statements)


def _place_statements(middles: list[str], rng: SeededRandom) -> None:
    position = 2 + rng.integer_below(len(middles) - 3)
    middles[position:position] = [STATEMENTS, AFTER_STATEMENTS]


def phrase_facts(task: PromptTask) -> dict[str, Any]:
    """Write sentences for a relation of the invented world."""
    return write_statements(task, RELATIONS, CLAUSES, FRAMES)


WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    "dr_sources/tell": tell_documents,
    "dr_sources/phrase": phrase_facts,
    "dr_facts/extract": manuals.extract_manual_facts,
    "dr_questions/word": questions.word_research,
    "dr_questions/check": questions.check_questions,
}
