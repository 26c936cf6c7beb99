"""Faults planted into a finished research task: each is caught by the rule that is there for it."""

from importlib.metadata import version
from typing import Any

import pytest

from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.memory_items.ablation import condition_with
from assets.memory_items.documents import ItemDocument, SizedItem, Turn, tokens_of
from assets.memory_items.final_ablation import OWN
from assets.memory_items.tasks import MemoryTask, TaskQuestion
from assets.records.base import ItemFailed, Record
from tests.assets.memory_items.test_ablation import read
from tests.support.applied_rules import apply_rules
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.research_tasks import made_task, small_recipe
from validation.deep_research.benchmark import DEEP_RESEARCH_VALIDATION
from validation.memory_items.report import ConditionCounter


def broken(stage: str, **changed: Record) -> set[str]:
    """The stage's rules that are broken once these stages' records are others."""
    records = dict(made_task().records)
    for name, record in changed.items():
        records[f"dr_{name}"] = {made_task().world.task_id: record}  # pyright: ignore[reportArgumentType]
    outcomes = apply_rules(
        DEEP_RESEARCH_VALIDATION.rules[stage], list(records[stage].values()), recipe=small_recipe(), others=records
    )
    return {outcome.rule.name for outcome in outcomes if not outcome.passed}


def with_documents(sized: SizedItem, change: Any) -> SizedItem:
    """The sized task with every document changed, its length counted anew."""
    turns = tuple(Turn(documents=tuple(change(one) for one in turn.documents)) for turn in sized.turns)
    return sized.model_copy(update={"turns": turns, "tokens": tokens_of(turns)})


def changed_lengths(change: Any) -> Record:
    lengths = made_task().lengths
    return lengths.model_copy(update={"lengths": tuple(with_documents(one, change) for one in lengths.lengths)})


@pytest.mark.parametrize("stage", DEEP_RESEARCH_VALIDATION.rules)
def test_nothing_is_wrong_with_a_task_as_it_was_made(stage: str) -> None:
    assert broken(stage) == set()


def test_a_leaked_answer_in_filler_is_caught() -> None:
    hop = made_task().question.hops[-1]

    def leak(one: ItemDocument) -> ItemDocument:
        return one.model_copy(update={"text": f"{one.text} {hop.subject} has it."}) if one.role == "filler" else one

    assert broken("dr_lengths", lengths=changed_lengths(leak)) >= {"filler_tells_nothing"}


def test_a_missing_fact_is_caught() -> None:
    hop = made_task().question.hops[0]

    def lose(one: ItemDocument) -> ItemDocument:
        return one.model_copy(update={"text": one.text.replace(hop.value, "somebody")})

    assert broken("dr_lengths", lengths=changed_lengths(lose)) >= {"facts_in_text", "own_documents_unchanged"}


def test_a_real_name_that_is_left_in_a_text_is_caught() -> None:
    source = {"kind": "documents", "paths": (f"package:typing-extensions=={version('typing-extensions')}",)}
    rules = DEEP_RESEARCH_VALIDATION.rules["dr_lengths"]
    (rule,) = [rule for rule in rules if rule.name == "packages_renamed"]

    def leak(one: ItemDocument) -> ItemDocument:
        return one.model_copy(update={"title": "About Typing Extensions"})

    recipe = small_recipe(source=source)
    assert not rule.violations(made_task().lengths, recipe=recipe, others={})
    leaked: Any = changed_lengths(leak)
    found = rule.violations(leaked, recipe=recipe, others={})
    assert "tells the real name 'Typing Extensions'" in found[0].message


def test_a_wrong_length_is_caught() -> None:
    def double(one: ItemDocument) -> ItemDocument:
        return one.model_copy(update={"text": one.text + one.text}) if one.role == "filler" else one

    assert broken("dr_lengths", lengths=changed_lengths(double)) == {"lengths_are_met"}


def test_a_second_path_is_caught() -> None:
    task = made_task()
    first, last = task.question.hops[0], task.question.hops[-1]
    shortcut = last.model_copy(update={"fact_id": "shortcut", "subject": first.subject})
    facts = task.facts.model_copy(update={"facts": (*task.facts.facts, shortcut)})
    assert broken("dr_questions", facts=facts) == {"one_path"}


def test_a_superseded_value_as_key_is_caught() -> None:
    task = made_task()
    counts = {fact.fact_id for fact in task.question.hops}
    (superseded,) = (one.document_id for one in task.sources.documents if one.role == "superseded")
    asked = {(hop.subject, hop.relation): number for number, hop in enumerate(task.question.hops)}
    (wrong,) = (
        fact
        for fact in task.facts.facts
        if fact.document_id == superseded and (fact.subject, fact.relation) in asked and fact.fact_id not in counts
    )
    hops = list(task.question.hops)
    hops[asked[wrong.subject, wrong.relation]] = wrong
    question = task.question.model_copy(
        update={"hops": tuple(hops), "answer": task.question.answer.model_copy(update={"value": hops[-1].value})}
    )
    assert "one_path" in broken("dr_questions", questions=question)


def test_a_label_word_in_a_title_is_caught() -> None:
    sources = made_task().sources
    first = sources.filler[0].model_copy(update={"title": f"{sources.filler[0].title} (unrelated)"})
    labelled = sources.model_copy(update={"filler": (first, *sources.filler[1:])})
    assert broken("dr_sources", sources=labelled) == {"no_label_words"}


def test_a_fact_in_view_at_the_end_is_caught() -> None:
    lengths = made_task().lengths
    (sized,) = lengths.lengths
    last = next(turn for turn in sized.turns if any(one.facts for one in turn.documents))
    moved = sized.model_copy(update={"turns": (*(turn for turn in sized.turns if turn != last), last)})
    assert broken("dr_lengths", lengths=lengths.model_copy(update={"lengths": (moved,)})) == {"facts_left_the_window"}


@pytest.mark.parametrize("change", ["text", "title", "question", "answer"])
def test_a_byte_changed_after_the_certificate_voids_it(change: str) -> None:
    task = made_task().instance
    if change in ("text", "title"):
        longest = max((one for sized in task.lengths for one in sized.documents), key=lambda one: len(one.text))

        def touch(one: ItemDocument) -> ItemDocument:
            return one.model_copy(update={change: getattr(one, change) + "."}) if one == longest else one

        other = task.model_copy(update={"lengths": tuple(with_documents(one, touch) for one in task.lengths)})
    elif change == "question":
        other = task.model_copy(update={"question": f"{task.question} "})
    else:
        other = task.model_copy(update={"answer": task.answer.model_copy(update={"value": "something else"})})
    assert broken("dr_instances", instances=other) == {"instances_are_certified"}


def test_a_certificate_with_an_error_or_without_a_condition_is_none() -> None:
    task = made_task()
    (certified,) = task.ablation.certificates
    erred = certified.outcomes[0].model_copy(update={"outcome": "error", "errors": 1})
    for outcomes in ((erred, *certified.outcomes[1:]), certified.outcomes[1:]):
        void = task.ablation.model_copy(update={"certificates": (certified.model_copy(update={"outcomes": outcomes}),)})
        assert broken("dr_ablation", ablation=void) == {"certificates_hold"}
        with pytest.raises(ItemFailed, match="not certified"):
            run(DEEP_RESEARCH.final.make(task.question, task.lengths, void, recipe=small_recipe(), model=EmbeddedModel()))


def test_a_released_task_has_a_certificate_for_each_length() -> None:
    fields = made_task().instance.model_dump()
    with pytest.raises(ValueError, match="Each length has a certificate"):
        MemoryTask.model_validate({**fields, "certificates": ()})
    assert isinstance(made_task().question, TaskQuestion)


def test_two_tasks_that_ask_the_same_are_caught() -> None:
    task = made_task().instance
    other = task.model_copy(update={"task_id": "another"})
    (outcome,) = (
        one
        for one in apply_rules(DEEP_RESEARCH_VALIDATION.rules["dr_instances"], [task, other], recipe=small_recipe())
        if one.rule.name == "questions_differ"
    )
    assert [violation.item_id for violation in outcome.violations] == ["another"]


def test_the_report_says_that_all_but_filler_has_to_be_answered_rightly() -> None:
    counter = ConditionCounter()
    counter.add("one", read(condition_with(OWN, (), "right"), [{"answer": "7"}] * 2).gate_records)
    assert [(line.condition, line.expected) for line in counter.lines()] == [(OWN, "right")]
