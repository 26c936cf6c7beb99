"""The function that answers each prompt of tool dialogues."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from assets.tool_dialogue.desk import ServiceDesk
from assets.tool_dialogue.domains import WHO, WHO_CLAUSES, all_domains
from pipelines.embedded.memory_items.documents import DocumentWordings, document_writers, read_wordings
from pipelines.embedded.task import PromptTask
from pipelines.embedded.tool_dialogue.acting import act
from pipelines.embedded.tool_dialogue.requests import check_request, word_request
from pipelines.embedded.tool_dialogue.sentences import FRAMES


@cache
def session_wordings() -> Mapping[str, DocumentWordings]:
    """Return the wordings by kind of session."""
    return read_wordings(Path(__file__).with_name("sessions.yaml"))


MATTERS = [matter for domain in all_domains().values() for matter in domain.matters.values()]
WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **document_writers(
        [ServiceDesk.tell_prompt],
        ServiceDesk.phrase_prompt,
        wordings=session_wordings,
        frames=FRAMES.__getitem__,
        clauses={WHO.meaning: WHO_CLAUSES, **{matter.meaning: matter.clauses for matter in MATTERS}},
    ),
    "evaluation/act": act,
    "td_requests/word": word_request,
    "td_requests/check": check_request,
}
