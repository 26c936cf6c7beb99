"""Each variant gets an answer of its own, and each period's golden choice is the one of its state."""

import json
import re
from collections import Counter
from datetime import date
from statistics import fmean

import pytest
from dateutil.relativedelta import relativedelta
from hypothesis import given
from hypothesis import strategies as st

from assets.amemgym.answers.stage import write_answers
from assets.amemgym.answers.variants import lived_variants, variants_of
from assets.llm.ports import ModelRequest
from assets.text.text_checks import TextInContext, faults
from prompts.catalogue import load_prompt
from tests.assets.amemgym.answer_sets import DRAFT, FIRST_QUESTION, REFINE, of_first, written
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import decoded, honest, material
from tests.support.scenario import CHOICES, DIET
from tests.support.scripted_model import ScriptedModel
from tests.support.small import START, excluding, schema_of, small_recipe, trajectory_of


def test_the_golden_choice_of_every_period_is_the_one_of_its_state() -> None:
    record, _ = written()
    assert [answers.question_id for answers in record.questions] == ["q01", "q02"]
    for question, answers in zip(scenario.schema().questions, record.questions, strict=True):
        states = {choice.choice_id: choice.state for choice in answers.choices}
        assert [states[golden] for golden in answers.golden] == lived_variants(question, scenario.trajectory())


def test_each_answer_belongs_to_its_variant() -> None:
    record, _ = written()
    for question, answers in zip(scenario.schema().questions, record.questions, strict=True):
        for choice in answers.choices:
            assert decoded(choice.answer) == dict(zip(question.required_info, choice.state, strict=True))


def test_lived_variants_come_first_and_random_ones_fill_up_to_the_minimum() -> None:
    recipe = scenario.recipe(min_variants_per_question=4)
    variants = variants_of(FIRST_QUESTION, scenario.schema(), scenario.trajectory(), recipe=recipe)
    assert [variant.type for variant in variants] == ["experience", "experience", "random", "random"]
    assert [variant.values for variant in variants][:2] == [
        ("eats everything", "first 5 km"),
        ("vegetarian", "half-marathon (21,1 km)"),
    ]
    record, _ = written(minimum=4)
    assert sorted(choice.type for choice in record.questions[0].choices) == ["experience", "experience", "random", "random"]


@pytest.mark.parametrize(("states", "most", "sizes"), [(2, 7.5, {6, 9}), (2, 9, {9}), (3, 8, {8})])
def test_with_balanced_options_every_value_of_a_life_stands_in_as_many_options_as_another(
    states: int, most: float, sizes: set[int]
) -> None:
    schema = schema_of({f"v{number}": "xyz" for number in range(4 * states)}, per_question=states)
    recipe = small_recipe(num_questions=4, num_choices_per_state=3, num_states_per_question=states, balanced_options=most)
    trajectory = trajectory_of([dict.fromkeys(schema.choices, "x")], ends=[START])
    found = [variants_of(question, schema, trajectory, recipe=recipe) for question in schema.questions]
    assert {len(variants) for variants in found} == sizes
    assert fmean(map(len, found)) <= most
    for variants in found:
        for position in range(states):
            counts = Counter(variant.values[position] for variant in variants)
            assert len(set(counts.values())) == 1 < len(counts)


def test_a_variant_that_nobody_can_live_is_offered_only_where_there_is_no_other() -> None:
    plain = schema_of({"a": ["x", "y"], "b": ["x", "y"]})
    schema = excluding(plain, {"a": "y", "b": "x"})
    for seed in range(8):
        few, all_ = (
            variants_of(
                schema.questions[0],
                schema,
                trajectory_of([{"a": "x", "b": "x"}], ends=[START]),
                recipe=small_recipe(min_variants_per_question=count, seed=seed),
            )
            for count in (3, 4)
        )
        assert {variant.values for variant in few} == {("x", "x"), ("x", "y"), ("y", "y")}
        assert [variant.values for variant in all_][-1] == ("y", "x")


@given(
    path=st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), min_size=1, max_size=8),
    minimum=st.integers(2, 9),
    seed=st.integers(0, 2**63 - 1),
)
def test_variants_are_distinct_and_cover_what_was_lived(path: list[tuple[str, str]], minimum: int, seed: int) -> None:
    schema = schema_of({"a": "xyz", "b": "xyz"})
    ends = [START + relativedelta(months=index) for index in range(len(path))]
    trajectory = trajectory_of([dict(zip("ab", values, strict=True)) for values in path], ends=ends)
    recipe = small_recipe(num_choices_per_state=3, min_variants_per_question=minimum, seed=seed)
    variants = variants_of(schema.questions[0], schema, trajectory, recipe=recipe)
    values = [variant.values for variant in variants]
    assert len(set(values)) == len(values) == max(minimum, len(set(path)))
    assert {variant.values for variant in variants if variant.type == "experience"} == set(path)


def test_options_are_shown_in_an_order_of_the_seed_and_named_by_it() -> None:
    record, _ = written(minimum=4)
    assert [choice.choice_id for choice in record.questions[0].choices] == ["q01-c1", "q01-c2", "q01-c3", "q01-c4"]
    places = {written_place(seed) for seed in range(8)}
    assert len(places) > 1


def written_place(seed: int) -> str:
    """Where the initial state's answer stands."""
    made = write_answers(scenario.schema(), scenario.trajectory(), recipe=scenario.recipe(seed=seed), model=ScriptedModel())
    return run(made).questions[0].golden[0]


MORE = "Run more often before you eat, on roads that you know well, and rest in between for a day or"
BAD = {
    "equal answers": (
        {"variant_1": "Run more.", "variant_2": " run  MORE."},
        "say nearly the same, 'run MORE.', although diet is",
    ),
    "blank answer": ({"variant_1": "Run.", "variant_2": " "}, "variant_2: String should have at least 1"),
    "no answer": ({"variant_1": "Run.", "variant_2": ""}, "variant_2: String should have at least 1"),
    "left out": ({"variant_1": "Run."}, "variant_2: Field required"),
    "too many": (
        {"variant_1": "Run.", "variant_2": "Rest.", "variant_3": "Eat."},
        "variant_3: Extra inputs are not permitted",
    ),
}


def test_an_answer_that_stays_like_another_is_written_by_itself() -> None:
    def same_for_all(request: ModelRequest) -> object:
        first, *_ = dict[str, str](honest(request)).values()  # pyright: ignore[reportArgumentType, reportCallIssue]
        return dict.fromkeys(material(request, "variants"), first)

    record, model = written({DRAFT: [same_for_all]})
    for choice in record.questions[0].choices:
        assert decoded(choice.answer) == dict(zip(FIRST_QUESTION.required_info, choice.state, strict=True))
    assert [len(material(request, "variants")) for request in model.asked(DRAFT)].count(1) == 3


def test_an_answer_written_by_itself_is_shown_no_other_situation() -> None:
    def same_for_all(request: ModelRequest) -> object:
        return (
            dict.fromkeys(material(request, "variants"), "Run.") if len(material(request, "variants")) > 1 else honest(request)
        )

    _, model = written({DRAFT: [same_for_all]})
    alone = [request for request in model.asked(DRAFT) if len(material(request, "variants")) == 1]
    assert alone
    for request in alone:
        info, (row,) = material(request, "required_info"), material(request, "variants").values()
        assert list(info.values()) == [[value] for value in row]


@pytest.mark.parametrize(("reply", "told"), BAD.values(), ids=BAD)
def test_answers_that_do_not_serve_each_variant_are_sent_back(reply: dict[str, str], told: str) -> None:
    record, model = written({DRAFT: [of_first(reply, honest)]})
    assert len(record.questions[0].choices) == 2
    assert [told in objection for objection in model.objections(DRAFT)] == [True]


def test_answers_that_stay_equal_are_told_apart_by_the_gate() -> None:
    def equal(request: ModelRequest) -> object:
        return dict(zip(reversed(material(request, "variants")), (f"{MORE.upper()}  NOW.", f"{MORE} now."), strict=False))

    record, model = written({DRAFT: [of_first(equal)]})
    assert len({choice.answer for choice in record.questions[0].choices}) == 2
    assert len(model.objections(DRAFT)) == 1
    assert len(model.asked(REFINE)) == 2


def test_chosen_dates_do_not_matter_to_the_choices() -> None:
    moved = trajectory_of(
        scenario.STATES, ends=[date(1999, 1, 1), date(1999, 2, 1), date(1999, 3, 1)], user_id=scenario.USER_ID
    )
    made = write_answers(scenario.schema(), moved, recipe=scenario.recipe(), model=ScriptedModel())
    same = write_answers(scenario.schema(), scenario.trajectory(), recipe=scenario.recipe(), model=ScriptedModel())
    assert run(made).questions == run(same).questions


def test_choices_are_those_of_the_schema() -> None:
    record, _ = written(minimum=9)
    assert {choice.state[0] for choice in record.questions[0].choices} == set(CHOICES[DIET])


@pytest.mark.parametrize(("name", "given"), [(DRAFT, "question"), (REFINE, "reading"), (REFINE, "chosen")])
def test_the_examples_of_the_prompts_obey_the_rules_that_they_illustrate(name: str, given: str) -> None:
    prompt = load_prompt(name)
    values = {variable: {"any": "value"} if variable == given else {} for variable in prompt.variables}
    _, *turns, _ = prompt.render(**values).messages
    for asked, replied in zip(turns[::2], turns[1::2], strict=True):
        (data,) = re.findall(r"<(?:variants|matched_state)>\n(.*)\n", asked.content)
        states = list(json.loads(data).values())
        for state, answer in zip([states] if name == REFINE else states, json.loads(replied.content).values(), strict=True):
            assert 40 <= len(answer.split()) <= 60
            assert list(faults(TextInContext("answer", answer, "en", own=state))) == []
