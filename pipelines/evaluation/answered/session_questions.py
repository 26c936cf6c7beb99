"""Questions about the sessions of code repairs for the runner: a memory is written once, and then asked each of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from assets.code_repair.questions import tasks_of_questions
from assets.code_repair.records import RepairTask
from dataset_card.release.digests import canonical_digest
from pipelines.errors import EvaluationError
from pipelines.evaluation.answered.document_tasks import ASK, DocumentItem, DocumentTasks, release_items
from pipelines.evaluation.sources import QUESTIONS


@dataclass(frozen=True)
class SessionsItem(DocumentItem):
    """The sessions of a repair at one of its lengths, with all that is asked about them."""

    task: RepairTask

    @cached_property
    def questions(self) -> "Sequence[DocumentItem]":  # pyright: ignore[reportIncompatibleMethodOverride]
        found: list[DocumentItem] = []
        for task in tasks_of_questions(self.task):
            sized = next(one for one in task.lengths if one.target_tokens == self.sized.target_tokens)
            found.append(SessionQuestionItem(task, sized, self.task.task_id))
        return found


@dataclass(frozen=True)
class SessionQuestionItem(DocumentItem):
    """One of these questions. `repair`: the repair whose sessions it is about."""

    repair: str = ""

    @property
    def cluster(self) -> str:
        return self.repair


def read_session_questions(folder: Path, record: type[RepairTask]) -> DocumentTasks:
    """Return the questions of a verified release. Raises EvaluationError for one without any."""
    tasks = release_items(folder, record, item=SessionsItem, tasks=DocumentTasks, ask=ASK)
    asked = [item for item in tasks.documents if item.questions]
    if not asked:
        raise EvaluationError(f"{folder} has no questions beside its tasks; evaluate it without {QUESTIONS}")
    info = replace(
        tasks.info,
        name=f"{QUESTIONS}{tasks.info.name}",
        digest=canonical_digest([tasks.info.digest, QUESTIONS]),
        users=tuple(dict.fromkeys(item.cluster for item in asked)),
    )
    return replace(tasks, info=info, documents=tuple(asked))
