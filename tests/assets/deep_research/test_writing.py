"""Documents are written around their facts: a text that does not tell them is sent back, and its values are found in it."""

import json
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest

from assets.deep_research.fiction import OCCASIONS, RELATIONS, WORLD
from assets.deep_research.sources import write_sources
from assets.deep_research.worlds import cluster_at
from assets.llm.ports import ModelReply, ModelRequest
from assets.memory_items.facts import DocumentPlan, Statement
from assets.memory_items.world.clusters import make_cluster
from assets.memory_items.world.filler import SharedClusters, write_documents
from assets.memory_items.world.writing import DocumentWriter, PlannedText, WrittenText, named_alone
from assets.records.answers import read_date
from pipelines.embedded.task import BLOCK
from prompts.catalogue import load_prompt
from prompts.template import Message
from tests.support.coroutines import run
from tests.support.document_texts import (
    check_occasions,
    documents_by_sentence,
    recurring_share,
    share_in_pattern,
    share_related,
)
from tests.support.embedded_model import EmbeddedModel
from tests.support.research_tasks import made_task, make, small_recipe, worlds
from tests.support.scripted_model import ScriptedModel

FACT = Statement(subject="Kume 34", relation="maker", value="Quillon Works", as_of=date(2033, 5, 4), status="plain")
BORN = Statement(subject="Kume 34", relation="launch", value="2 June 2021", as_of=date(2033, 5, 4), status="certified")
PLAN = DocumentPlan(document_id="d", kind="letter", subject="Kume 34", role="support", statements=(FACT,))
RIVAL = PLAN.model_copy(update={"document_id": "r", "statements": (FACT.model_copy(update={"value": "Brask Mills"}),)})
REST = "The strap is worn and nobody here wants to part with it. " * 9
TOLD = f"Quillon Works makes Kume 34, says the list of 4 May 2033.\n\n{REST}"


def problems(text: str, *, title: str = "A letter", plan: DocumentPlan = PLAN) -> str:
    return " ".join(PlannedText(WORLD, plan, (plan, RIVAL)).problems(WrittenText(title=title, text=text)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TOLD, ""),
        (TOLD.replace("4 May 2033", "May 4th, 2033"), ""),
        (TOLD.replace("says the list of 4 May 2033", "I certify. On 4 May 2033 I saw it"), ""),
        (f"Kume 34 is from Quillon Works.\n\n{REST}\n\nLowfell, 4 May 2033\n(stamp)", ""),
        (TOLD.replace("Quillon", "Quilon"), "One paragraph must have"),
        (TOLD.replace("4 May", "5 May"), "One paragraph must have"),
        (TOLD.replace("Kume 34", "it"), "One paragraph must have"),
        (f"Kume 34, 4 May 2033.\n\nA clasp is needed.\n\nIt is from Quillon Works.\n\n{REST}", ""),
        (f"Dear Ada,\n\n{REST}Kume 34 has it, 4 May 2033.\n\nIt is from Quillon Works.", ""),
        (f"{REST}\n\nKume 34, 4 May 2033.\n\nIt is from Quillon Works.", "One paragraph must have"),
        (TOLD + "It cost 512 crowns.", "The number 512"),
        (TOLD + "All else is irrelevant.", "the word 'irrelevant'"),
        (TOLD + "It is not from Brask Mills.", "Another document tells of Brask Mills"),
        ("Quillon Works makes Kume 34, says the list of 4 May 2033.", "tokens"),
        (TOLD + REST * 3, "tokens"),
    ],
)
def test_a_text_names_what_each_value_is_of_beside_it_or_first_and_nothing_of_other_documents(text: str, problem: str) -> None:
    assert problem in problems(text)
    assert bool(problems(text)) == bool(problem)


def test_one_sentence_may_tell_the_same_of_two_subjects_and_two_sentences_tell_it_twice() -> None:
    plan = PLAN.model_copy(update={"statements": (FACT, FACT.model_copy(update={"subject": "Sarn 12"}))})
    of_both = TOLD.replace("makes Kume 34", "makes Kume 34 and Sarn 12")
    (kume, sarn) = PlannedText(WORLD, plan, (plan,)).place_statements(WrittenText(title="A letter", text=of_both))
    assert (kume.start, kume.end) == (sarn.start, sarn.end)
    assert "Sarn 12, Quillon Works" in problems(TOLD.replace(REST, f"Sarn 12 is as old. {REST}"), plan=plan)
    of_one = plan.model_copy(update={"statements": (FACT, FACT.model_copy(update={"relation": "supplier"}))})
    assert "One paragraph must have" in problems(of_both, plan=of_one)


def test_the_title_may_have_the_name_or_the_day_of_a_fact() -> None:
    text = TOLD.replace("Kume 34", "this").replace("4 May 2033", "that day")
    assert problems(text)
    assert problems(text, title="Kume 34 on 4 May 2033") == ""


def test_a_value_is_found_beside_its_name_rather_than_where_it_comes_up_as_well() -> None:
    text = WrittenText(title="A letter", text=f"Kume 34, 4 May 2033.\n\nQuillon Works wrote.\n\n{TOLD}")
    (placed,) = PlannedText(WORLD, PLAN, (PLAN,)).place_statements(text)
    assert placed.start == text.text.index("Quillon Works makes")


def test_a_value_that_is_a_date_is_found_however_it_is_spelled() -> None:
    plan = PLAN.model_copy(update={"statements": (BORN,)})
    text = WrittenText(title="Kume 34", text=f"As certified on 4 May 2033 it came out on 2021-06-02.\n\n{REST}")
    (placed,) = PlannedText(WORLD, plan, (plan,)).place_statements(text)
    assert text.text[placed.start : placed.end] == "2021-06-02"


def test_exact_numbers_and_days_come_up_only_where_somebody_reckons_with_them() -> None:
    for relation in RELATIONS:
        reasons = {occasion.reason for occasion in WORLD.occasions_of(relation, "plain")}
        general = {occasion.reason for occasion in OCCASIONS.general[relation.subject]}
        assert (general <= reasons) == relation.leads_on


def test_a_text_that_lacks_a_fact_is_sent_back_and_the_mended_one_is_taken() -> None:
    lacking = {"title": "A letter", "text": REST}
    model = ScriptedModel({WORLD.write_prompt: [lacking, {**lacking, "text": TOLD}]})
    document = run(DocumentWriter(WORLD, small_recipe(), model).write(PLAN, others=(PLAN,), role="filler"))
    assert document.text == TOLD.strip()
    (objection,) = model.objections(WORLD.write_prompt)
    assert "Kume 34, Quillon Works and 4 May 2033" in objection


def test_the_examples_of_the_prompt_obey_its_rules() -> None:
    examples = load_prompt(WORLD.write_prompt).parts[1:-1]
    assert len(examples) == 6
    for request, reply in zip(examples[::2], examples[1::2], strict=True):
        given: dict[str, Any] = {match["tag"]: match["body"] for match in BLOCK.finditer(request.text)}
        statements = [statement_of(fact) for fact in json.loads(given["facts"])]
        plan = DocumentPlan(
            document_id="example", kind=given["kind"], subject=given["subject"], role="filler", statements=tuple(statements)
        )
        told = PlannedText(WORLD, plan, (plan,))
        (shown,) = json.loads(given["facts"])
        because = shown.pop("because", OCCASIONS.mistakes[0])
        assert because in (*OCCASIONS.mistakes, *OCCASIONS.causes["mayor"])
        assert str(told.variables["facts"]).startswith(str([shown]).removesuffix("}]"))
        text = reply.text
        spare = json.loads(given["material"])["numbers"].split(", ")
        for number, own in zip(spare, WORLD.material(plan)["numbers"].split(", "), strict=True):
            text = text.replace(number, own)
        assert list(told.problems(WrittenText.model_validate_json(text))) == []


def statement_of(fact: dict[str, str]) -> Statement:
    """The statement that a prompt's fact tells."""
    statuses = {words: status for status, words in WORLD.standings.items()}
    rest: dict[str, Any] = {"status": statuses[fact["standing"]], "as_of": day_of(fact["day"]), "is_new": "because" in fact}
    for relation in RELATIONS:
        if named_alone(relation) == fact["fact"]:
            return Statement(subject=fact["name"], relation=relation.name, value=fact["value"], **rest)
    raise LookupError(fact["fact"])


def day_of(spelled: str) -> date:
    found = read_date(spelled)
    assert found is not None
    return found


def test_documents_hold_their_statements_where_they_say() -> None:
    sources = made_task().sources
    for document in (*sources.documents, *sources.filler):
        assert document.statements
        for placed in document.statements:
            assert document.text[placed.start : placed.end] == placed.statement.value


@dataclass
class Counting(EmbeddedModel):
    """The embedded model, and what it was asked for documents."""

    asked: list[tuple[Message, ...]] = field(default_factory=list[tuple[Message, ...]])

    async def complete(self, request: ModelRequest) -> ModelReply:
        if request.labels.prompt == WORLD.write_prompt:
            self.asked.append(request.messages)
        return await super().complete(request)


def test_tasks_share_their_filler_so_that_each_document_is_paid_once() -> None:
    recipe = small_recipe(num_tasks=4, lengths=(12_000,))
    model = Counting()
    first, *others = [run(write_sources(world, recipe=recipe, model=model)) for world in worlds(recipe)]
    assert len(set(model.asked)) < 0.7 * len(model.asked)
    own = {document.document_id for document in first.documents}
    assert own & {document.document_id for other in others for document in other.filler}
    assert not own & {document.document_id for document in first.filler}


def test_filler_has_no_two_clusters_with_the_same_names_while_there_are_others() -> None:
    recipe = small_recipe(num_tasks=8)
    again = cluster_at(1, recipe)
    clusters = SharedClusters(
        lambda number: again if number % 2 else cluster_at(number, recipe),
        lambda number, taken: cluster_at(number, recipe, taken),
        (),
    )
    for world in worlds(recipe)[::2]:
        filler = run(write_documents(DocumentWriter(WORLD, recipe, EmbeddedModel()), clusters, world)).filler
        ids = [document.document_id for document in filler]
        assert len(set(ids)) == len(ids)


def test_the_embedded_model_tells_facts_in_many_ways_in_documents_that_are_about_them() -> None:
    recipe = small_recipe(num_tasks=3, max_hops=3, lengths=(10_000,), operations=("follow", "sum", "most"))
    tasks = [run(make(world, recipe=recipe, model=EmbeddedModel())).instance for world in worlds(recipe)]
    for task in tasks:
        assert recurring_share(task.lengths[0]) <= 0.1
        assert max(documents_by_sentence(task.lengths[0]).values()) <= 2
    assert share_in_pattern(tasks) <= 0.6
    assert share_related(tasks) >= 0.9


def test_each_fact_has_occasions_and_what_else_these_tell_is_of_the_same_subject() -> None:
    check_occasions(WORLD.relations, WORLD.document_kinds, OCCASIONS.ordinary)


def test_documents_are_of_working_days_and_set_out_in_a_manner_of_their_kind() -> None:
    for number in range(20):
        for plan in make_cluster(WORLD, 3, path=("days", number)).plans:
            day = plan.statements[0].as_of
            assert day.weekday() < 5
            assert (day.month, day.day) not in ((1, 1), (12, 25), (12, 26))
            assert WORLD.material(plan)["manner"] in OCCASIONS.manners[plan.kind]


def test_no_occasion_comes_again_in_a_cluster_before_the_others_of_its_relation() -> None:
    for number in range(20):
        plans = make_cluster(WORLD, 1, path=("plots", number)).plans
        ordinary = [plan.occasion.replace(plan.subject, "") for plan in plans if plan.statements[0].status == "plain"]
        assert len(set(ordinary)) == len(ordinary)


def test_a_document_tells_one_fact_that_may_be_needed_and_at_most_one_that_its_occasion_brings() -> None:
    for number in range(20):
        for plan in make_cluster(WORLD, 4, path=("occasions", number)).plans:
            assert plan.occasion
            assert len(plan.statements) <= 2
            assert len({(one.subject, one.as_of, one.status) for one in plan.statements}) == 1
