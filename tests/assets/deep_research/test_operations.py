"""Questions that work something out: every fact is needed, readers come to the same answer, and every rule holds for them."""

from typing import get_args

import pytest

from assets.memory_items.facts import Fact, Status
from assets.memory_items.operations import AskedFacts
from assets.memory_items.tasks import operation_at
from assets.recipe.document_tasks import FEWEST_FACTS, AskedOperation, Operation
from assets.records.answers import AnswerKind, is_right
from tests.support.applied_rules import apply_rules
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.research_tasks import make, small_recipe, worlds
from validation.deep_research.benchmark import DEEP_RESEARCH_VALIDATION
from validation.memory_items.arrival import ArrivalCounter


def fact(
    subject: str, relation: str, value: str, *, kind: AnswerKind = "number", status: Status = "plain", day: str = "2031-01-01"
) -> Fact:
    return Fact.model_validate(
        {
            "fact_id": f"{subject}-{relation}-{value}",
            "document_id": f"document on {subject}, {value}",
            "subject": subject,
            "relation": relation,
            "value": value,
            "phrase": f"the {relation} of {{x}}",
            "kind": kind,
            "start": 0,
            "end": 1,
            "as_of": day,
            "status": status,
        }
    )


TOLD_TWICE = ("weigh", "count", "since_when", "still_so")
FLOORS = [fact("A", "floor", "500"), fact("B", "floor", "200"), fact("C", "floor", "900")]
SEATS = [fact(firm, "seat", "Town", kind="name") for firm in "ABC"]
EMPLOYER = fact("P", "employer", "A", kind="name")
WEIGHED = [
    fact("A", "floor", "510", status="certified", day="2031-02-01"),
    fact("A", "floor", "480", status="unconfirmed", day="2031-04-01"),
]
BESIDE = [
    fact("A", "floor", "300", day="2031-03-01"),
    fact("A", "floor", "600", status="unconfirmed", day="2031-01-01"),
    fact("D", "floor", "700"),
    fact("D", "seat", "Elsewhere", kind="name"),
]


@pytest.mark.parametrize(
    ("operation", "hops", "starts", "answer"),
    [
        ("sum", FLOORS, ("A", "B", "C"), "1600"),
        ("sum", [EMPLOYER, FLOORS[0], FLOORS[1]], ("P", "B"), "700"),
        ("difference", FLOORS[:2], ("A", "B"), "300"),
        (
            "difference",
            [fact("E", "end", "2031-03-01", kind="date"), fact("F", "end", "2031-02-01", kind="date")],
            ("E", "F"),
            "28",
        ),
        ("order", FLOORS, ("A", "B", "C"), "B, A, C"),
        ("order", [EMPLOYER, *FLOORS], ("P", "B", "C"), "B, A, C"),
        ("count", SEATS, ("Town",), "3"),
        ("count", [fact("P", "hometown", "Town", kind="name"), *SEATS[:2]], ("P",), "2"),
        ("most", [*FLOORS, fact("C", "director", "Q", kind="name")], ("A", "B", "C"), "Q"),
        ("weigh", WEIGHED, ("A",), "30"),
        ("weigh", [EMPLOYER, *WEIGHED], ("P",), "30"),
        ("which_of_two", FLOORS[:2], ("A", "B"), "A"),
        ("which_of_two", [EMPLOYER, FLOORS[0], FLOORS[2]], ("P", "C"), "C"),
        ("since_when", [EMPLOYER, WEIGHED[0]], ("P",), "2031-02-01"),
        ("still_so", [EMPLOYER, WEIGHED[0]], ("P",), "yes"),
        ("still_so", [EMPLOYER, WEIGHED[0], BESIDE[0]], ("P",), "no"),
    ],
)
def test_an_answer_is_worked_out_and_takes_every_fact(
    operation: Operation, hops: list[Fact], starts: tuple[str, ...], answer: str
) -> None:
    beside = [one for one in BESIDE if one not in hops] if operation in TOLD_TWICE else BESIDE[2:]
    asked = AskedFacts(operation, hops)
    assert (asked.starts, asked.answer([*hops, *beside])) == (starts, answer)
    assert list(asked.problems([*hops, *beside])) == []
    for left_out in hops:
        assert asked.answer([one for one in (*hops, *beside) if one != left_out]) != answer


def test_what_would_be_right_without_a_fact_is_told() -> None:
    """A loser that another document keeps below the winner is not needed."""
    hops = [*FLOORS, fact("C", "director", "Q", kind="name")]
    facts = [*hops, fact("B", "floor", "250", status="unconfirmed")]
    assert list(AskedFacts("most", hops).problems(facts)) == ["the answer is reached without hop 2"]


def test_two_that_are_equal_have_no_order() -> None:
    assert AskedFacts("order", [FLOORS[0], fact("D", "floor", "500")]).answer([FLOORS[0], fact("D", "floor", "500")]) is None


@pytest.mark.parametrize("operation", get_args(AskedOperation))
def test_a_task_of_every_operation_is_made_certified_and_breaks_no_rule(operation: AskedOperation) -> None:
    recipe = small_recipe(min_hops=4, max_hops=4, lengths=(6000,), operations=(operation,))
    task = run(make(worlds(recipe)[0], recipe=recipe, model=EmbeddedModel()))
    records = task.records
    broken: list[str] = []
    for stage, rules in DEEP_RESEARCH_VALIDATION.rules.items():
        outcomes = apply_rules(rules, list(records[stage].values()), recipe=recipe, others=records)
        broken += [outcome.rule.name for outcome in outcomes if not outcome.passed]
    assert broken == []
    assert (task.instance.operation, len(task.instance.hops)) == (operation, 4)
    assert task.question.answer.near_misses
    assert not [one for one in task.question.answer.near_misses if is_right(task.question.answer, one)]
    left_out = [one for one in task.ablation.certificates[0].outcomes if one.condition.startswith("without hop")]
    assert [one.right for one in left_out] == [0] * 4


def test_a_wrong_key_of_something_worked_out_is_caught() -> None:
    recipe = small_recipe(operations=("sum",))
    task = run(make(worlds(recipe)[0], recipe=recipe, model=EmbeddedModel()))
    wrong = task.question.answer.near_misses[0]
    question = task.question.model_copy(update={"answer": task.question.answer.model_copy(update={"value": wrong})})
    outcomes = apply_rules(DEEP_RESEARCH_VALIDATION.rules["dr_questions"], [question], recipe=recipe, others=task.records)
    assert [one.rule.name for one in outcomes if not one.passed] == ["answer_follows"]


def test_whether_arrival_tells_is_measured_by_what_is_worked_out() -> None:
    recipe = small_recipe(operations=("weigh",))
    task = run(make(worlds(recipe)[0], recipe=recipe, model=EmbeddedModel()))
    counter = ArrivalCounter()
    counter.add(task.instance, task.facts.facts)
    assert [line.tasks for line in counter.lines()] == [1, 1]


def test_every_operation_is_asked_equally_often_of_tasks_with_as_many_facts() -> None:
    recipe = small_recipe(min_hops=2, max_hops=3, operations=get_args(AskedOperation))
    asked = [operation_at(position, recipe) for position in range(4 * 7 * 2)]
    assert set(asked) == set(get_args(AskedOperation))
    assert asked.count("order") == 4
    assert asked.count("sum") == 4 + 7


def test_a_recipe_whose_operations_take_more_facts_than_it_allows_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="none of them takes 2 facts, which min_hops allows; add follow, or raise min_hops"):
        small_recipe(operations=("order",))
    assert {one for one, fewest in FEWEST_FACTS.items() if fewest > 2} == {"order", "count", "most"}
