"""Questions about the sessions of a repair: their keys, what a reader makes of them, and the rules that hold."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from assets.code_repair.questions import session_questions, tasks_of_questions
from assets.code_repair.records import SessionQuestion
from assets.memory_items.final_ablation import stated
from assets.records.answers import is_right
from pipelines.embedded.memory_items.reading import answer_by_reading
from tests.support.applied_rules import apply_rules
from tests.support.code_repairs import made_repair, repair_recipe
from validation.code_repair.benchmark import CODE_REPAIR_VALIDATION

FORMS = ("decision", "failed_path", "still_so", "convention")


def questions() -> Mapping[str, SessionQuestion]:
    return {asked.form: asked for asked in made_repair().instance.questions}


def test_each_form_is_asked_once() -> None:
    assert tuple(questions()) == FORMS


def test_a_decision_and_its_failed_path_are_the_same_call_with_other_results() -> None:
    decision, failed = questions()["decision"].answer, questions()["failed_path"].answer
    assert decision.near_misses == (failed.value,)
    assert failed.near_misses == (decision.value,)
    assert decision.value.partition(" == ")[0] == failed.value.partition(" == ")[0]


@pytest.mark.parametrize("form", FORMS)
def test_a_reader_of_everything_finds_the_key_and_one_without_a_needed_session_does_not(form: str) -> None:
    asked = questions()[form]
    documents = list(made_repair().instance.lengths[-1].documents)
    assert is_right(asked.answer, answer_by_reading([document.perceived for document in documents], asked.question))
    counts = asked.hops[0].document_id
    left = [document.perceived for document in documents if document.document_id != counts]
    assert not is_right(asked.answer, answer_by_reading(left, asked.question))
    assert answer_by_reading([], asked.question) is None


def test_each_question_is_a_task_whose_support_tells_its_facts() -> None:
    for task, asked in zip(tasks_of_questions(made_repair().instance), questions().values(), strict=True):
        assert task.task_id == f"{made_repair().instance.task_id}-{asked.form}"
        documents = list(task.lengths[0].documents)
        support = {document.document_id for document in documents if document.role == "support"}
        assert support == {fact.document_id for fact in asked.hops}
        for fact in asked.hops:
            assert re.sub(r"\s", "", fact.subject) in re.sub(r"\s", "", stated(fact, documents).text)


def test_what_is_in_view_at_the_end_is_not_asked_for() -> None:
    made = made_repair()
    (sized,) = made.lengths.lengths
    documents = tuple(sized.documents)
    all_in_view = sized.model_copy(update={"turns": (sized.turns[0].model_copy(update={"documents": documents}),)})
    lengths = made.lengths.model_copy(update={"lengths": (all_in_view,)})
    assert session_questions(made.sessions, lengths, recipe=repair_recipe()) == ()


@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_key_breaks_a_rule(form: str) -> None:
    made = made_repair()
    wrong: list[SessionQuestion] = []
    for asked in made.instance.questions:
        value = {"yes": "no", "no": "yes"}.get(asked.answer.value, "something else")
        answer = asked.answer.model_copy(update={"value": value if asked.form == form else asked.answer.value})
        wrong.append(asked.model_copy(update={"answer": answer}))
    spoiled = replace(made, instance=made.instance.model_copy(update={"questions": tuple(wrong)}))
    outcomes = apply_rules(
        CODE_REPAIR_VALIDATION.rules["cr_instances"], [spoiled.instance], recipe=repair_recipe(), others=spoiled.records
    )
    assert [outcome.rule.name for outcome in outcomes if not outcome.passed] == ["session_keys_follow"]
