"""Faults planted into a finished question about code: each is caught by the rule that is there for it."""

from collections.abc import Callable
from typing import Any

import pytest

from assets.code_qa.pipeline import CODE_QA
from assets.code_qa.team.calls import keep_tellable, patches_of
from assets.code_qa.team.relations import OUTCOME, WRONG_RESULT
from assets.memory_items.documents import ItemDocument, Turn, tokens_of
from assets.memory_items.facts import Statement
from assets.records.base import ItemFailed, Record
from tests.support.applied_rules import apply_rules
from tests.support.code_questions import code_recipe, made_question
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from validation.code_qa.benchmark import CODE_QA_VALIDATION


def broken(stage: str, **changed: Record) -> set[str]:
    """The stage's rules that are broken once these stages' records are others."""
    made = made_question()
    records = dict(made.records)
    for name, record in changed.items():
        records[f"code_{name}"] = {made.sources.task_id: record}  # pyright: ignore[reportArgumentType]
    outcomes = apply_rules(CODE_QA_VALIDATION.rules[stage], list(records[stage].values()), recipe=code_recipe(), others=records)
    return {outcome.rule.name for outcome in outcomes if not outcome.passed}


def with_statement(change: Callable[[Statement], Statement]) -> Record:
    """The decisions with the first statement of the first plan changed."""
    decisions = made_question().decisions
    plan, *rest = decisions.plans
    first, *others = plan.statements
    changed = plan.model_copy(update={"statements": (change(first), *others)})
    return decisions.model_copy(update={"plans": (changed, *rest)})


def changed_lengths(change: Any) -> Record:
    lengths = made_question().lengths
    sized = lengths.lengths[0]
    turns = tuple(Turn(documents=tuple(change(one) for one in turn.documents)) for turn in sized.turns)
    return lengths.model_copy(update={"lengths": (sized.model_copy(update={"turns": turns, "tokens": tokens_of(turns)}),)})


@pytest.mark.parametrize("stage", CODE_QA_VALIDATION.rules)
def test_nothing_is_wrong_with_a_question_as_it_was_made(stage: str) -> None:
    assert broken(stage) == set()


def test_a_result_that_no_call_had_is_caught_in_plan_note_question_and_release() -> None:
    """A false fact: the note says what the function would return if one place of it were changed."""
    made = made_question()
    hop = made.question.hops[-1]
    assert hop.relation == OUTCOME
    false = hop.model_copy(update={"value": "'never returned'"})
    planned = with_statement(
        lambda one: Statement(**{**one.model_dump(), **false.model_dump(include={"subject", "relation", "value"})})
    )
    assert broken("code_decisions", decisions=planned) == {"planned_results_are_true"}
    question = made.question.model_copy(update={"hops": (*made.question.hops[:-1], false)})
    assert broken("code_questions", questions=question) >= {"asked_results_are_true", "answer_follows"}
    called = next(one for one in made.instance.behaviours if one.call == hop.subject)
    other = called.model_copy(
        update={"result": called.result.model_copy(update={"text": "'never returned'"}), "near_misses": ()}
    )
    released = tuple(other if one == called else one for one in made.instance.behaviours)
    instance = made.instance.model_copy(update={"behaviours": released})
    assert broken("code_instances", instances=instance) == {"behaviours_are_released"}


def test_a_result_that_no_patch_gives_is_caught() -> None:
    made = made_question()
    patch = next(iter(patches_of(keep_tellable(made.behaviours.behaviours)).values()))

    def told_of_patch(value: str) -> set[str]:
        fields = {"subject": patch.name, "relation": WRONG_RESULT, "value": value}
        return broken("code_decisions", decisions=with_statement(lambda one: one.model_copy(update=fields)))

    assert "planned_results_are_true" not in told_of_patch(patch.miss.result.text)
    assert "planned_results_are_true" in told_of_patch(patch.behaviour.result.text)


def test_a_fact_that_no_document_holds_is_caught() -> None:
    hop = made_question().question.hops[0]

    def lose(one: ItemDocument) -> ItemDocument:
        return one.model_copy(update={"text": one.text.replace(hop.value, "something else")})

    assert "facts_in_text" in broken("code_lengths", lengths=changed_lengths(lose))


@pytest.mark.parametrize("stands", ["concatenate", "conjunction"])
def test_a_decision_that_stands_in_the_code_is_caught(stands: str) -> None:
    """By the name of a function, and by that of an argument."""
    planned = with_statement(lambda one: one.model_copy(update={"value": stands, "relation": "wrapper"}))
    assert "decisions_not_in_code" in broken("code_decisions", decisions=planned)


def test_a_superseded_decision_as_key_is_caught() -> None:
    made = made_question()
    counts = {fact.fact_id for fact in made.question.hops}
    superseded = {one.document_id for one in made.documents.documents if one.role == "superseded"}
    asked = {(hop.subject, hop.relation): number for number, hop in enumerate(made.question.hops)}
    wrong = next(
        fact
        for fact in made.documents.facts
        if fact.document_id in superseded and (fact.subject, fact.relation) in asked and fact.fact_id not in counts
    )
    hops = list(made.question.hops)
    hops[asked[wrong.subject, wrong.relation]] = wrong
    question = made.question.model_copy(update={"hops": tuple(hops)})
    assert "one_path" in broken("code_questions", questions=question)


def test_an_answer_in_the_question_or_in_the_code_that_is_shown_is_caught() -> None:
    made = made_question()
    hop = made.question.hops[-1]
    leaking = made.question.model_copy(update={"question": f"Is it {hop.value}, {made.question.starts[0]}?"})
    assert broken("code_questions", questions=leaking) == {"tells_start_alone"}
    service = made.question.starts[0]
    code = made.question.code[0].model_copy(update={"text": f"# {made.question.hops[0].value} is what {service} calls"})
    telling = made.question.model_copy(update={"code": (code, *made.question.code[1:])})
    assert "code_is_the_packages" in broken("code_questions", questions=telling)


def test_an_outcome_that_can_be_worked_out_from_the_code_that_is_shown_is_caught() -> None:
    made = made_question()
    function = made.question.hops[-1].subject.partition("(")[0]
    whole = made.sources.symbol(function).source
    code: list[ItemDocument] = []
    for one in made.question.code:
        code.append(one.model_copy(update={"text": whole}) if one.document_id == f"code-{function}" else one)
    showing = made.question.model_copy(update={"code": tuple(code)})
    assert "outcomes_are_not_shown" in broken("code_questions", questions=showing)


def test_an_answer_in_filler_is_caught() -> None:
    hop = made_question().question.hops[-1]

    def leak(one: ItemDocument) -> ItemDocument:
        return one.model_copy(update={"text": f"{one.text} It ends in {hop.value}."}) if one.role == "filler" else one

    assert "filler_tells_nothing" in broken("code_lengths", lengths=changed_lengths(leak))


def test_a_title_that_tells_what_a_note_is_about_is_caught() -> None:
    documents = made_question().documents
    first = documents.documents[0]
    titled = first.model_copy(update={"title": f"{first.title}: {first.statements[0].statement.subject}"})
    telling = documents.model_copy(update={"documents": (titled, *documents.documents[1:])})
    assert broken("code_documents", documents=telling) == {"notes_are_dated"}


def test_a_result_that_equals_a_part_of_the_day_is_not_in_the_title() -> None:
    documents = made_question().documents
    first = documents.documents[0]
    placed = first.statements[0]
    year = str(max(one.statement.as_of for one in first.statements).year)
    assert year in first.title
    of_the_year = placed.model_copy(update={"statement": placed.statement.model_copy(update={"value": year})})
    told = first.model_copy(update={"statements": (of_the_year, *first.statements[1:])})
    telling = documents.model_copy(update={"documents": (told, *documents.documents[1:])})
    assert "notes_are_dated" not in broken("code_documents", documents=telling)


def test_a_fact_that_no_reader_found_is_caught() -> None:
    documents = made_question().documents
    lost = documents.gate_records[0].model_copy(update={"accepted": False})
    unread = documents.model_copy(update={"gate_records": (lost, *documents.gate_records[1:])})
    assert broken("code_documents", documents=unread) == {"facts_were_found_again"}


def test_code_that_is_changed_after_the_certificate_voids_it() -> None:
    made = made_question()
    code = made.instance.code[0].model_copy(update={"text": made.instance.code[0].text + "\n"})
    other = made.instance.model_copy(update={"code": (code, *made.instance.code[1:])})
    assert broken("code_instances", instances=other) == {"instances_are_certified"}
    question = made.question.model_copy(update={"code": other.code})
    with pytest.raises(ItemFailed, match="not certified"):
        run(
            CODE_QA.final.make(
                question,
                made.lengths,
                made.ablation,
                made.sources,
                made.behaviours,
                recipe=code_recipe(),
                model=EmbeddedModel(),
            )
        )
