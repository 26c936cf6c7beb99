"""The function that answers each prompt of code questions. Notes are made of wordings that argue about any function."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from assets.code_qa.team.relations import RELATIONS, RULING
from assets.code_qa.team.world import TeamWorld
from pipelines.embedded.code_qa.sentences import CLAUSES, FRAMES
from pipelines.embedded.memory_items import questions
from pipelines.embedded.memory_items.documents import DocumentWordings, clauses_of, documents_of
from pipelines.embedded.task import PromptTask

NOTES = Path(__file__).with_name("notes.yaml")


@cache
def note_wordings() -> Mapping[str, DocumentWordings]:
    """Return the wordings by kind of note."""
    kinds = yaml.load(NOTES.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return {kind: DocumentWordings.model_validate(wordings) for kind, wordings in kinds.items()}


def tell_notes(task: PromptTask) -> dict[str, Any]:
    """Write as many notes of the kind as asked for, each with some of its frames."""
    kind = task.text("kind")
    return documents_of(task, note_wordings()[kind], frames=FRAMES[kind])


def phrase_decisions(task: PromptTask) -> dict[str, Any]:
    """Write as many clauses for a relation of the team as asked for; where there are fewer, they come again."""
    relation = next(one for one in (*RELATIONS, RULING) if one.meaning == task.text("meaning"))
    return clauses_of(task, [relation.meaning, *CLAUSES[relation.name]])


WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **dict.fromkeys(TeamWorld.tell_prompts, tell_notes),
    "code_documents/phrase": phrase_decisions,
    "code_questions/word": questions.word_about_code,
    "code_questions/check": questions.check_questions,
}
