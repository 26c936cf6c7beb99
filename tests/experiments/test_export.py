"""A release as documents and questions, and the way to and from harnesses that ingest before they ask."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from assets.user_facts.records import FactUser
from pipelines.errors import EvaluationError
from pipelines.evaluation.answered.document_tasks import DocumentItem, DocumentTasks
from pipelines.evaluation.answered.fact_tasks import told_events
from pipelines.evaluation.folder import read_table
from pipelines.export.documents import export_tasks
from pipelines.export.rows import ExportedDocument, ExportedQuestion
from pipelines.export.session_traces import write_release_traces
from pipelines.recorded_sessions.sessions import read_sessions
from tests.evaluation.scripted_evaluation import tasks
from tests.evaluation.test_acted_tasks import tasks as tool_tasks
from tests.evaluation.test_document_tasks import INFO, documents
from tests.evaluation.test_fact_tasks import tasks as fact_tasks
from tests.support.code_questions import made_question


def test_questions_name_the_documents_that_told_their_values_and_none_from_later(tmp_path: Path) -> None:
    export = export_tasks(tasks("ada"), tmp_path)
    assert (len(export.documents), len(export.questions)) == (4, 6)
    documents = {one.id: one for one in read_table(tmp_path / "documents.parquet", kind=ExportedDocument)}
    questions = read_table(tmp_path / "questions.parquet", kind=ExportedQuestion)

    for one in questions:
        assert one.gold_option is not None
        assert one.options[one.gold_option] == one.gold_answer
        assert one.gold_document_ids
        assert all(documents[key].period <= one.period for key in one.gold_document_ids)
    lines = (tmp_path / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [ExportedQuestion.model_validate_json(line).id for line in lines] == [one.id for one in questions]
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "off-policy" in page
    assert all(f"`{name}`" in page for name in ExportedDocument.model_fields)


def test_an_export_replaces_an_earlier_one_and_touches_no_folder_with_other_files(tmp_path: Path) -> None:
    export_tasks(tasks("ada"), tmp_path / "export")
    export_tasks(tasks("ada"), tmp_path / "export")
    for there in ({"README.md": "mine"}, {"README.md": "a release", "manifest.json": "{}"}):
        folder = tmp_path / str(len(there))
        folder.mkdir()
        for name, text in there.items():
            (folder / name).write_text(text, encoding="utf-8")
        with pytest.raises(EvaluationError, match="holds files of no export, such as "):
            export_tasks(tasks("ada"), folder)
        assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == there


def test_tasks_over_documents_are_exported_by_turn_with_the_documents_that_hold_their_facts(tmp_path: Path) -> None:
    data = documents()
    export = export_tasks(data, tmp_path / "export")
    [item] = data.documents
    [question] = read_table(tmp_path / "export" / "questions.parquet", kind=ExportedQuestion)
    found = {one.id: one for one in read_table(tmp_path / "export" / "documents.parquet", kind=ExportedDocument)}

    assert len(export.documents) == len(found) == len(list(item.sized.documents))
    assert [one.period for one in found.values()] == sorted(one.period for one in found.values())
    for fact, name in zip(item.facts, question.gold_document_ids, strict=True):
        assert fact.partition("\n")[2].strip() in found[name].text
    assert (question.gold_answer, question.gold_option) == (item.task.answer.value, None)
    assert "as they leave the window" in (tmp_path / "export" / "README.md").read_text(encoding="utf-8")


def test_code_stands_with_its_question_and_is_no_document(tmp_path: Path) -> None:
    task = made_question().instance
    data = DocumentTasks(INFO, (DocumentItem(task, task.lengths[0], "English"),))
    export_tasks(data, tmp_path / "export")
    [question] = read_table(tmp_path / "export" / "questions.parquet", kind=ExportedQuestion)
    texts = [one.text for one in read_table(tmp_path / "export" / "documents.parquet", kind=ExportedDocument)]

    assert question.shown
    assert not set(question.shown) & set(texts)


def test_questions_on_facts_that_end_come_after_the_last_session_and_no_place_tells_the_answer(tmp_path: Path) -> None:
    data = fact_tasks()
    export = export_tasks(data, tmp_path / "export")
    [user] = data.lives
    assert [one.text for one in export.documents] == [text for _, text in said_by(user)]
    assert len(export.questions) == len(user.questions)
    assert len({one.gold_option for one in export.questions}) > 1
    known = {one.id for one in export.documents}
    assert all(set(one.gold_document_ids) <= known for one in export.questions)
    traces = write_release_traces(data, tmp_path / "traces")
    [session] = read_sessions(tmp_path / "traces")
    assert traces
    assert [(step.at.replace(tzinfo=None) if step.at else None, step.text) for step in session.steps] == said_by(user)


def said_by(user: FactUser) -> list[tuple[datetime | None, str]]:
    """What a user said and passed on, with its time."""
    return [(session.at, event.text) for session in user.sessions for event in told_events(session)]


def test_what_cannot_be_exported_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"because its tasks are acted; give --as traces or verifiers\.$"):
        export_tasks(tool_tasks(), tmp_path / "export")
    world = DocumentTasks(replace(INFO, benchmark="tau2", name="tau2 mock"), ())
    with pytest.raises(EvaluationError, match="tau2 mock is a world of others, which cannot be exported"):
        export_tasks(world, tmp_path / "export")
    with pytest.raises(EvaluationError, match="tau2 mock has no sessions"):
        write_release_traces(world, tmp_path / "traces")
