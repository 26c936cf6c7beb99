"""The function that answers each prompt of tool dialogues."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from assets.tool_dialogue.desk import ServiceDesk
from assets.tool_dialogue.domains import all_domains
from pipelines.embedded.memory_items.documents import DocumentWordings, clauses_of, documents_of
from pipelines.embedded.task import PromptTask
from pipelines.embedded.tool_dialogue.requests import check_request, word_request
from pipelines.embedded.tool_dialogue.sentences import FRAMES

SESSIONS = Path(__file__).with_name("sessions.yaml")


@cache
def session_wordings() -> Mapping[str, DocumentWordings]:
    """Return the wordings by kind of session."""
    kinds = yaml.load(SESSIONS.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return {kind: DocumentWordings.model_validate(wordings) for kind, wordings in kinds.items()}


def session_records(task: PromptTask) -> dict[str, Any]:
    """Write as many records of sessions of the kind as asked for, each with some of its frames."""
    kind = task.text("kind")
    return documents_of(task, session_wordings()[kind], frames=FRAMES[kind])


def phrase_matters(task: PromptTask) -> dict[str, Any]:
    """Write as many clauses for a settled matter as asked for; where there are fewer, they come again."""
    meaning = task.text("meaning")
    for domain in all_domains().values():
        for matter in domain.matters.values():
            if matter.meaning == meaning:
                return clauses_of(task, [meaning, *matter.clauses])
    return clauses_of(task, [meaning])


WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    ServiceDesk.tell_prompt: session_records,
    ServiceDesk.phrase_prompt: phrase_matters,
    "td_requests/word": word_request,
    "td_requests/check": check_request,
}
