"""The function that answers each prompt of code questions. Notes are made of sentences that suit any subject."""

from collections.abc import Callable
from typing import Any

from assets.code_qa.team.relations import RELATIONS
from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.code_qa.sentences import AFTER, CLAUSES, ENDINGS, FRAMES, MIDDLES, OPENINGS, TITLES
from pipelines.embedded.memory_items import questions
from pipelines.embedded.memory_items.documents import STATEMENTS, DocumentWords, write_documents, write_statements
from pipelines.embedded.memory_items.reading import answer_by_reading
from pipelines.embedded.task import PromptTask

NOTES = DocumentWords("notes", OPENINGS, TITLES, MIDDLES, ENDINGS, fewest_middles=7, most_middles=11)


def tell_notes(task: PromptTask) -> dict[str, Any]:
    """Write notes of an invented team."""
    return write_documents(task, NOTES, _place_statements)


def _place_statements(middles: list[str], rng: SeededRandom) -> None:
    position = 1 + rng.integer_below(len(middles) - 2)
    middles[position:position] = [STATEMENTS, rng.choice(AFTER)]


def phrase_decisions(task: PromptTask) -> dict[str, Any]:
    """Write sentences for a relation of the team."""
    return write_statements(task, RELATIONS, CLAUSES, FRAMES)


def recover_facts(task: PromptTask) -> dict[str, str]:
    """Return what the note states of what is wanted; what it leaves open is missing."""
    found: dict[str, str] = {}
    for number, wanted in task.data("wanted").items():
        value = answer_by_reading([task.text("note")], f"What is {wanted}?")
        if value is not None:
            found[number] = value
    return found


WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    "code_documents/tell": tell_notes,
    "code_documents/phrase": phrase_decisions,
    "code_documents/recover": recover_facts,
    "code_questions/word": questions.word_about_code,
    "code_questions/check": questions.check_questions,
}
