"""Questions about a team's sessions in the runner, as those of any benchmark of documents."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.evaluation.answered.document_tasks import DocumentItem, DocumentTasks
from pipelines.evaluation.verifying.graded import GradedQuestions
from pipelines.memories.contract import MemorySpec
from tests.assets.code_qa.test_session_questions import FORMS, task_of
from tests.evaluation.scripted_evaluation import finish, run_of
from tests.evaluation.test_document_tasks import INFO
from tests.support.embedded_model import EmbeddedModel


@pytest.mark.slow  # the sessions' code is run in processes
def test_a_memory_of_everything_answers_every_form_and_one_of_nothing_none(tmp_path: Path) -> None:
    tasks = [task_of(form) for form in FORMS]
    info = replace(INFO, benchmark="session_questions", users=tuple(task.task_id for task in tasks))
    data = DocumentTasks(info, tuple(DocumentItem(task, task.lengths[0], "English") for task in tasks))
    full, none = (
        finish(run_of(tmp_path, EmbeddedModel(), data=data, spec=MemorySpec(name=kind, kind=kind)))
        for kind in ("full-history", "none")
    )
    assert full.results.metrics["overall"].value == 1
    assert none.results.metrics["overall"].value == 0
    assert none.results.isolated is not None
    assert none.results.isolated.facts.value == 1
    questions = GradedQuestions(data.timelines(full.manifest))
    for row in full.answers:
        assert questions.grade(row.model_copy(update={"status": "unscored", "given": ""})) == row
