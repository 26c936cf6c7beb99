"""Questions about a repair's sessions in the runner: sessions are written once, and every question is asked of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from assets.code_repair.records import RepairTask
from dataset_card.code_repair import CODE_REPAIR_RELEASE
from dataset_card.release.content import ReleaseContent
from dataset_card.release_store.folder import write_release
from pipelines.errors import EvaluationError
from pipelines.evaluation.answered.document_tasks import DocumentTasks
from pipelines.evaluation.answered.session_questions import SessionsItem, read_session_questions
from pipelines.evaluation.folder import FinishedRun
from pipelines.export.documents import exported_view
from pipelines.export.session_traces import write_release_traces
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import finish, run_of
from tests.evaluation.test_document_tasks import INFO
from tests.support.code_repairs import made_repair, repair_recipe
from tests.support.commands import amemgym_here
from tests.support.research_tasks import EmbeddedModel


def tasks(made: RepairTask) -> DocumentTasks:
    info = replace(INFO, benchmark="code_repair", name="questions:small repairs 0.1.0", users=(made.task_id,))
    return DocumentTasks(info, (SessionsItem(made, made.lengths[0]),))


def evaluated(folder: Path, kind: str) -> FinishedRun:
    data = tasks(made_repair().instance)
    return finish(run_of(folder, EmbeddedModel(), data=data, spec=MemorySpec(name=kind, kind=kind)))


def test_a_memory_of_everything_answers_all_questions_and_one_of_nothing_none(tmp_path: Path) -> None:
    full, none = (evaluated(tmp_path, kind) for kind in ("full-history", "none"))
    asked = [row for row in full.answers if row.kind == "question"]
    assert [row.item.partition("-")[2] for row in asked] == ["decision", "failed_path", "still_so", "convention"]
    assert {row.user_id for row in asked} == {made_repair().instance.task_id}
    assert full.results.metrics["overall"].value == 1
    assert none.results.metrics["overall"].value == 0
    assert none.results.isolated is not None
    assert none.results.isolated.facts.value == 1


def test_each_answer_is_graded_again_by_its_own_key(tmp_path: Path) -> None:
    done = evaluated(tmp_path, "full-history")
    data = tasks(made_repair().instance)
    for row in done.answers:
        assert data.graded(done.manifest, row.model_copy(update={"status": "unscored", "given": ""})) == row


def test_the_sessions_are_written_and_told_once(tmp_path: Path) -> None:
    data = tasks(made_repair().instance)
    documents = len(list(made_repair().instance.lengths[0].documents))
    assert len(list(data.events(()))) == documents
    (page,) = data.page_items(evaluated(tmp_path, "none"))
    assert len(page.questions) == 4


def released(folder: Path, made: RepairTask) -> Path:
    recipe = repair_recipe(variant="small-repairs")
    content = ReleaseContent(form=CODE_REPAIR_RELEASE, recipe=recipe, items=[made], generator="amemgym-synth 0.1.0", prompts={})
    return write_release(content, root=folder, version="0.1.0").folder


def test_a_release_is_read_with_another_name_and_digest_than_its_repairs(tmp_path: Path) -> None:
    data = read_session_questions(released(tmp_path, made_repair().instance), RepairTask)
    assert data.info.name.startswith("questions:small-repairs ")
    assert data.info.users == (made_repair().instance.task_id,)


def test_a_release_without_questions_is_refused_in_a_sentence(tmp_path: Path) -> None:
    folder = released(tmp_path, made_repair().instance.model_copy(update={"questions": ()}))
    with pytest.raises(EvaluationError, match="has no questions beside its tasks; evaluate it without questions:"):
        read_session_questions(folder, RepairTask)


def test_questions_are_exported_and_traced_with_the_sessions_that_they_need(tmp_path: Path) -> None:
    data = tasks(made_repair().instance)
    export = exported_view(data)
    assert len(export.documents) == len(list(data.documents[0].sized.documents))
    asked = {question.id.rpartition("-")[2]: question for question in export.questions}
    assert sorted(asked) == ["convention", "decision", "failed_path", "still_so"]
    assert len(asked["decision"].gold_document_ids) == 1
    assert len(asked["still_so"].gold_document_ids) == 2
    assert {document.id for document in export.documents} >= set(asked["still_so"].gold_document_ids)
    assert write_release_traces(data, tmp_path / "traces")[0].startswith("1 session in")


def test_a_twin_of_questions_alone_is_refused_in_a_sentence(tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, "twin", "questions:repair-demo")
    assert status == 1
    assert "is neither a release folder nor a variant with a release" in output
