"""Memories on questions about code: the code is in sight with the question, and never written."""

from dataclasses import replace
from pathlib import Path

from pipelines.evaluation.answered.document_tasks import DocumentItem, DocumentTasks
from tests.evaluation.test_document_tasks import INFO, evaluated, rights
from tests.support.code_questions import made_question


def code_tasks() -> DocumentTasks:
    task = made_question().instance
    info = replace(INFO, benchmark="code_qa", name="small code 0.1.0", users=(task.task_id,))
    return DocumentTasks(info, (DocumentItem(task, task.lengths[0], "English"),))


def test_the_code_is_in_sight_and_no_memory_receives_it() -> None:
    (item,) = code_tasks().documents
    shown = [message.content for message in item.readable.task.window]
    assert shown == [one.text_with_title for one in made_question().instance.code]
    assert not any(one in event.text for one in shown for event in item.events)


def test_the_code_alone_answers_nothing_and_the_facts_do(tmp_path: Path) -> None:
    none = evaluated(tmp_path, "none", data=code_tasks())
    assert rights(none) == [False, False, True, True]
