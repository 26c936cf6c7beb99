"""The function that answers each prompt of code questions. Notes are made of wordings that argue about any function."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from assets.code_qa.team.relations import RELATIONS, RULING
from assets.code_qa.team.world import TeamWorld
from pipelines.embedded.code_qa.sentences import CLAUSES, FRAMES
from pipelines.embedded.code_qa.world import KNOWN
from pipelines.embedded.memory_items.documents import (
    DocumentWordings,
    clauses_by_meaning,
    document_writers,
    read_wordings,
)
from pipelines.embedded.memory_items.questions import check_questions, word_in_world
from pipelines.embedded.task import PromptTask


@cache
def note_wordings() -> Mapping[str, DocumentWordings]:
    """Return the wordings by kind of note."""
    return read_wordings(Path(__file__).with_name("notes.yaml"))


WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **document_writers(
        TeamWorld.tell_prompts,
        TeamWorld.phrase_prompt,
        wordings=note_wordings,
        frames=FRAMES.__getitem__,
        clauses=clauses_by_meaning((*RELATIONS, RULING), CLAUSES),
    ),
    "code_questions/word": partial(word_in_world, KNOWN),
    "code_questions/check": partial(check_questions, follow_alone=True),
}
