"""Questions about sessions in each form: their keys, what a reader makes of them, and the rules that hold."""

from typing import get_args

import pytest

from assets.code_qa.records.questions import PackageTask
from assets.code_qa.session_questions.questions import read_session_question
from assets.memory_items.final_ablation import uncertified_lengths
from assets.memory_items.tasks import TaskDocuments, TaskQuestion
from assets.recipe.document_tasks import Operation, SessionOperation
from assets.records.answers import is_right
from assets.text.words import spells
from pipelines.embedded.memory_items.reading import answer_by_reading
from tests.support.applied_rules import apply_rules
from tests.support.session_questions import made_session, session_recipe
from validation.code_qa.benchmark import SESSION_QUESTIONS_VALIDATION

pytestmark = pytest.mark.slow  # code of packages is run

RULES = SESSION_QUESTIONS_VALIDATION.rules
FORMS: tuple[Operation, ...] = get_args(SessionOperation)


def question_of(form: Operation, answer: str = "") -> TaskQuestion:
    question = made_session(form, answer)["sq_questions"]
    assert isinstance(question, TaskQuestion)
    return question


def task_of(form: Operation, answer: str = "") -> PackageTask:
    task = made_session(form, answer)["sq_instances"]
    assert isinstance(task, PackageTask)
    return task


def test_a_decision_is_the_rule_that_counts_and_its_failed_path_the_one_that_does_not() -> None:
    sessions = made_session("failed_path")["sq_sessions"]
    assert isinstance(sessions, TaskDocuments)
    question = question_of("failed_path")
    about = [fact for fact in sessions.facts if (fact.subject, fact.relation) == (question.hops[0].value, "ruling")]
    loses, counts = sorted(about, key=lambda fact: fact.weight)
    assert question.answer.value == loses.value
    assert counts.value in question.answer.near_misses
    assert loses.value.partition(" == ")[0] == counts.value.partition(" == ")[0]
    decision = question_of("decision")
    assert decision.answer.value == decision.hops[1].value


def test_the_earlier_of_two_rules_still_counts_or_does_not() -> None:
    for answer, facts in (("yes", 2), ("no", 3)):
        question = question_of("still_so", answer)
        asked = read_session_question(question.question)
        assert asked is not None
        assert asked.ticket == question.hops[0].full_phrase
        assert len(question.hops) == facts
        assert sorted(question.answer.options) == ["no", "yes"]


@pytest.mark.parametrize("form", FORMS)
def test_a_question_names_what_leads_to_its_sessions_and_no_session_that_is_asked_about(form: Operation) -> None:
    task = task_of(form)
    leading, *asked = task.hops
    texts = {document.document_id: document.text_with_title for document in task.documents}
    assert not any(spells(texts[fact.document_id], leading.subject) for fact in asked)


@pytest.mark.parametrize("form", FORMS)
def test_a_reader_of_everything_finds_the_key_and_one_without_a_needed_session_does_not(form: Operation) -> None:
    task = task_of(form)
    documents = list(task.lengths[-1].documents)
    assert is_right(task.answer, answer_by_reading([document.text_with_title for document in documents], task.question))
    for fact in task.hops:
        left = [document.text_with_title for document in documents if document.document_id != fact.document_id]
        assert not is_right(task.answer, answer_by_reading(left, task.question))
    assert answer_by_reading([], task.question) is None


@pytest.mark.parametrize("form", FORMS)
def test_every_condition_of_a_certificate_was_read_on_the_final_bytes(form: Operation) -> None:
    task = task_of(form)
    (certificate,) = task.certificates
    right = {one.condition: (one.right, one.readings) for one in certificate.outcomes}
    assert right["facts"] == right["everything"] == (2, 2)
    assert right["none"] == right["without hop 1"] == right["filler only"] == right["last turn only"] == (0, 2)
    assert list(uncertified_lengths(task)) == []
    changed = task.model_copy(update={"question": f"{task.question} Please."})
    assert len(list(uncertified_lengths(changed))) == 1


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_wrong_with_a_question_as_it_was_made(form: Operation) -> None:
    made = made_session(form)
    others = {stage: {record.item_id: record} for stage, record in made.items()}
    broken: list[str] = []
    for stage, record in made.items():
        outcomes = apply_rules(RULES[stage], [record], recipe=session_recipe(), others=others)
        broken += [outcome.rule.name for outcome in outcomes if not outcome.passed]
    assert broken == []


@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_key_breaks_a_rule(form: Operation) -> None:
    question = question_of(form)
    value = {"yes": "no", "no": "yes"}.get(question.answer.value, "something else")
    wrong = question.model_copy(update={"answer": question.answer.model_copy(update={"value": value})})
    others = {stage: {record.item_id: record} for stage, record in made_session(form).items()}
    outcomes = apply_rules(RULES["sq_questions"], [wrong], recipe=session_recipe(), others=others)
    assert [outcome.rule.name for outcome in outcomes if not outcome.passed] == ["answer_follows"]
