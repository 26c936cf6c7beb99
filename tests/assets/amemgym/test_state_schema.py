"""Every drafted type becomes part of exactly one variable, and merged ones share one set of choices."""

import re
from typing import Any

import pytest

from assets.amemgym.records.question import Question, QuestionSet, RequiredInfo
from assets.amemgym.records.state import JudgedSchema, StateSchema
from assets.amemgym.state_schema import refine_schema
from assets.llm.ports import ModelRequest
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import ItemFailed
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import by_number, decided_by_all, honest, material
from tests.support.scripted_model import Reply, ScriptedModel
from tests.support.small import small_recipe
from validation.amemgym.state_schema import schema_passed_its_gate

REFINE, UNIFY = "state_schema/refine", "state_schema/unify"
RECIPE = small_recipe(num_questions=2)


def drafted(*types: tuple[str, str], choices: tuple[str, ...] = ("x", "y")) -> QuestionSet:
    """One question for each pair of types; `choices` are those of the first question, later ones have x and y."""
    return QuestionSet(
        user_id=scenario.USER_ID,
        questions=tuple(
            Question(
                question_id=f"q{number + 1:02d}",
                text=f"What about {number}?",
                required_info=tuple(
                    RequiredInfo(info_type=name, info_choices=choices if number == 0 else ("x", "y")) for name in pair
                ),
            )
            for number, pair in enumerate(types)
        ),
    )


PLAIN = drafted(("diet", "goal"), ("food", "time"))
SAME: dict[str, Any] = {"diet": "diet", "goal": "goal", "food": "food", "time": "time"}


def refined(
    *replies: Reply, questions: QuestionSet = PLAIN, recipe: AMemGymRecipe = RECIPE, **unified: Any
) -> tuple[StateSchema, ScriptedModel]:
    model = ScriptedModel({REFINE: replies, **({UNIFY: unified["unify"]} if unified else {})})
    return run(refine_schema(scenario.profile(), questions, recipe=recipe, model=model)), model


def test_types_that_stay_apart_become_variables_under_their_new_names() -> None:
    schema, model = refined({**SAME, "diet": "daily_diet"})
    assert schema.choices == {name: ["x", "y"] for name in ("daily_diet", "goal", "food", "time")}
    assert [question.required_info for question in schema.questions] == [("daily_diet", "goal"), ("food", "time")]
    assert model.asked(UNIFY) == []


def test_a_type_that_is_left_out_keeps_its_name() -> None:
    schema, model = refined({"food": "meals"})
    assert list(schema.choices) == ["diet", "goal", "meals", "time"]
    assert model.objections(REFINE) == []


def test_a_type_that_several_questions_use_is_not_left_out() -> None:
    named = {"diet_q01": "diet", "diet_q02": "diet"}
    schema, model = refined({"diet_q01": "diet"}, named, questions=drafted(("diet", "goal"), ("diet", "time")))
    assert list(schema.choices) == ["diet", "goal", "time"]
    assert "use the names of ['diet_q02']; give each of these types a name" in model.objections(REFINE)[0]


def test_merged_types_become_one_variable_that_both_questions_use() -> None:
    schema, _ = refined({**SAME, "food": "meals", "diet": "meals"})
    assert schema.variables[0].merged_from == ("diet", "food")
    assert [question.required_info for question in schema.questions] == [("meals", "goal"), ("meals", "time")]


def test_a_type_that_several_questions_use_is_offered_once_for_each() -> None:
    questions = drafted(("diet", "goal"), ("diet", "time"))
    schema, model = refined({"diet_q01": "diet", "diet_q02": "diet", "goal": "goal", "time": "time"}, questions=questions)
    assert [question.required_info for question in schema.questions] == [("diet", "goal"), ("diet", "time")]
    offered = [list(question["required_info"]) for question in material(model.requests[0], "questions")]
    assert offered == [["diet_q01", "goal"], ["diet_q02", "time"]]


def test_a_type_that_is_called_like_anothers_key_stays_apart_from_it() -> None:
    questions = drafted(("diet", "goal"), ("diet", "diet_q01"))
    schema, model = refined(honest, questions=questions)
    assert len(schema.variables) == 4
    assert model.objections(REFINE) == []


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown type": ({**SAME, "mood": "mood"}, "mood: Extra inputs are not permitted"),
    "types of one question merged": (
        {**SAME, "diet": "all", "goal": "all"},
        "['diet', 'goal'] all became 'all', but two of them belong to the same question",
    ),
    "name that is a choice": ({**SAME, "diet": "x"}, "'x' is a choice of 'diet'"),
    "name that is a choice in other writing": ({**SAME, "diet": "_X"}, "'_X' is a choice of 'diet'"),
    "names that read the same": (
        {**SAME, "diet": "Eating habits", "food": "eating_habit"},
        "The names ['Eating habits', 'eating_habit'] read the same",
    ),
    "variable without a name": ({**SAME, "time": " "}, "time: String should have at least 1 character"),
}


@pytest.mark.parametrize(("reply", "told"), BAD.values(), ids=BAD)
def test_a_reply_that_loses_or_confuses_types_is_sent_back(reply: dict[str, Any], told: str) -> None:
    schema, model = refined(reply, SAME)
    assert list(schema.choices) == list(SAME)
    assert told in model.objections(REFINE)[0]


def test_names_that_never_do_give_way_to_the_drafted_ones() -> None:
    schema, model = refined({"diet": "x", "goal": "food", "food": "meals", "time": "meals"})
    assert [question.required_info for question in schema.questions] == [("diet", "food"), ("meals", "time")]
    assert len(model.asked(REFINE)) == RECIPE.gates.max_reasks + 1


def test_so_many_merges_that_no_room_for_changes_is_left_are_sent_back() -> None:
    recipe = small_recipe(num_questions=2, num_changes_per_period=4, num_periods=2, max_changes_per_state=2)
    schema, model = refined({"diet": "a", "food": "a", "goal": "b", "time": "b"}, SAME, recipe=recipe)
    assert len(schema.variables) == 4
    assert "2 variables are too few for the changes to come; keep at least 3 apart" in model.objections(REFINE)[0]


CONFLICT = drafted(("diet", "goal"), ("food", "time"), choices=("vegan", "meat"))
MERGED = {**SAME, "diet": "meals", "food": "meals"}


def test_merged_types_whose_choices_differ_get_one_common_set() -> None:
    schema, model = refined(MERGED, questions=CONFLICT, unify=[{"meals": ["plants", " meat "]}])
    assert schema.choices == {"meals": ["plants", "meat"], "goal": ["vegan", "meat"], "time": ["x", "y"]}
    assert material(model.asked(UNIFY)[0], "conflicts") == {
        "meals": [
            {"question": "What about 0?", "info_choices": ["vegan", "meat"]},
            {"question": "What about 1?", "info_choices": ["x", "y"]},
        ]
    }


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"meals": ["plants"]}, "meals: List should have at least 2 items"),
        ({"meals": ["plants", "meat", "fish"]}, "meals: List should have at most 2 items"),
        ({"meals": ["Meat", "meat"]}, "The choices of 'meals' must differ"),
        ({"meals": ["meat", " "]}, "meals.1: String should have at least 1 character"),
        ({"meals": ["meat", "x" * 201]}, "meals.1: String should have at most 80 characters"),
        ({}, "meals: Field required"),
        ({"meals": ["a", "b"], "goal": ["a", "b"]}, "goal: Extra inputs are not permitted"),
    ],
    ids=["too few", "too many", "equal", "empty", "endless", "left out", "without conflict"],
)
def test_a_common_set_that_breaks_a_rule_is_sent_back(reply: Reply, told: str) -> None:
    schema, model = refined(MERGED, questions=CONFLICT, unify=[reply, {"meals": ["plants", "meat"]}])
    assert schema.choices["meals"] == ["plants", "meat"]
    assert told in model.objections(UNIFY)[0]


def test_a_user_whose_types_are_never_mapped_is_given_up() -> None:
    with pytest.raises(ItemFailed, match="state_schema/refine: mood: Extra inputs are not permitted"):
        refined({**SAME, "mood": "mood"})


TOLD, CHOICES, PAIRS = "state_schema/check_told", "state_schema/check_choices", "state_schema/check_pairs"
ITSELF, QUESTIONS, REDRAFT = "state_schema/check_profile", "state_schema/check_questions", "questions/redraft"
BECAUSE = "He is allergic to it."


def with_reasons(key: str, values: dict[str, str]) -> Reply:
    """A judge's reply that names these values under the key, choices by variable."""

    def answer(request: ModelRequest) -> object:
        rows = [{"choice": number, "because": BECAUSE} for number in by_number(request, values)]
        whole: dict[str, list[object]] = {}
        if request.labels.prompt == TOLD:
            whole = {"denied": [], "announced": [], "stated": []}
        return {**whole, key: rows}

    return answer


def stating(values: dict[str, str]) -> Reply:
    return lambda request: {"denied": [], "announced": [], "stated": by_number(request, values)}


def excluding(*pairs: dict[str, str]) -> Reply:
    return lambda request: {"exclusive": [by_number(request, pair) for pair in pairs]}


def undecided(number: str) -> Reply:
    return lambda request: {**decided_by_all(request), number: []}


def anew(question: str, *infos: tuple[str, tuple[str, str]]) -> dict[str, object]:
    rows = [{"info_type": name, "info_choices": list(choices)} for name, choices in infos]
    return {"question": question, "required_info": rows}


DENIED = with_reasons("denied", {"diet": "x"})
FISH = anew("Which fish?", ("fish", ("trout", "eel")), ("goal", ("x", "y")))
SPORT = anew("Which sport?", ("club", ("rowing", "judo")), ("time", ("x", "y")))


def judged(replies: dict[str, list[Reply]], **gates: Any) -> tuple[JudgedSchema, ScriptedModel]:
    model = ScriptedModel({REFINE: [SAME], **replies})
    one_vote = {"votes": 1, "votes_needed": 1, "max_refinements": 1, "max_redrafts": 0, "max_reasks": 1}
    recipe = small_recipe(num_questions=2, gates={**one_vote, **gates})
    return run(refine_schema(scenario.profile(), PLAIN, recipe=recipe, model=model)), model


FAILING: dict[str, tuple[str, Reply]] = {
    "denied": (TOLD, DENIED),
    "announced": (TOLD, with_reasons("announced", {"diet": "x"})),
    "failing beside the others": (CHOICES, with_reasons("failing", {"diet": "x"})),
}


@pytest.mark.parametrize(("judge", "verdict"), FAILING.values(), ids=FAILING)
def test_a_question_whose_choice_fails_is_drafted_anew_and_no_other(judge: str, verdict: Reply) -> None:
    schema, model = judged({judge: [verdict, honest], REDRAFT: [{"q01": FISH}]})
    assert schema.choices == {"fish": ["trout", "eel"], "goal": ["x", "y"], "food": ["x", "y"], "time": ["x", "y"]}
    assert [question.text for question in schema.questions] == ["Which fish?", "What about 1?"]
    assert [variable.merged_from for variable in schema.variables] == [("diet",), ("goal",), ("food",), ("time",)]
    (request,) = model.asked(REDRAFT)
    assert material(request, "questions") == {
        "q01": {
            "question": "What about 0?",
            "required_info": {"diet": ["x", "y"], "goal": ["x", "y"]},
            "faults": [f"'x' of 'diet': {BECAUSE}"],
        }
    }
    assert material(request, "other_questions") == {"What about 1?": {"food": ["x", "y"], "time": ["x", "y"]}}
    assert [(vote.reading, vote.accepted) for vote in schema.gate_records] == [({"diet": f"x: {BECAUSE}"}, False), ({}, True)]


def test_questions_that_share_a_choice_that_fails_are_drafted_anew_together() -> None:
    merged = {**SAME, "diet": "meals", "food": "meals"}
    replies = {TOLD: [with_reasons("denied", {"meals": "x"}), honest], REDRAFT: [{"q01": FISH, "q02": SPORT}]}
    model = ScriptedModel({REFINE: [merged], **replies})
    recipe = small_recipe(num_questions=2, gates={"votes": 1, "votes_needed": 1})
    schema = run(refine_schema(scenario.profile(), PLAIN, recipe=recipe, model=model))
    assert {variable.name: variable.merged_from for variable in schema.variables} == {
        "fish": ("diet",),
        "goal": ("goal",),
        "club": ("food",),
        "time": ("time",),
    }


def test_each_judge_is_asked_one_thing() -> None:
    _, model = judged({})
    shown = {
        TOLD: {"user_profile", "state_choices"},
        CHOICES: {"state_choices"},
        PAIRS: {"state_choices"},
        ITSELF: {"user_profile"},
        QUESTIONS: {"questions", "state_choices", "variable_sets"},
    }
    for prompt, tags in shown.items():
        (request,) = model.asked(prompt)
        assert set(re.findall(r"^<(\w+)>$", request.messages[-1].content, re.MULTILINE)) == tags


def test_a_user_whose_profile_always_denies_something_is_given_up() -> None:
    again = anew("Which fish?", ("diet", ("x", "z")), ("goal", ("x", "y")))
    with pytest.raises(ItemFailed, match="No draft of schema passed the schema gate in 2 readings"):
        judged({TOLD: [DENIED, DENIED], REDRAFT: [{"q01": again}]})


def test_states_that_any_judge_finds_to_exclude_each_other_are_kept_with_the_schema() -> None:
    pairs = [{"diet": "x", "time": "y"}, {"goal": "x", "food": "y"}]
    schema, _ = judged({PAIRS: [excluding(pair) for pair in pairs]}, votes=2, votes_needed=2)
    assert list(schema.exclusive) == pairs
    assert schema.excluded({"diet": "x", "goal": "y", "time": "y"}) == [pairs[0]]


def test_a_question_that_its_variables_do_not_decide_is_drafted_anew_and_read_again() -> None:
    schema, model = judged({QUESTIONS: [undecided("2"), honest], REDRAFT: [{"q02": SPORT}]})
    assert [question.text for question in schema.questions] == ["What about 0?", "Which sport?"]
    assert [question.required_info for question in schema.questions] == [("diet", "goal"), ("club", "time")]
    (request,) = model.asked(REDRAFT)
    assert material(request, "questions")["q02"]["faults"] == [
        "A reader found no advice that depends on all of its information."
    ]
    assert [list(material(request, "questions").values()) for request in model.asked(QUESTIONS)] == [
        ["What about 0?", "What about 1?"],
        ["What about 0?", "Which sport?"],
    ]
    recipe = small_recipe(gates={"votes": 1, "votes_needed": 1})
    assert not any(schema_passed_its_gate(schema, recipe))
    planted = schema.questions[0].model_copy(update={"text": "Is the sky blue?"})
    assert any(schema_passed_its_gate(schema.model_copy(update={"questions": (planted, schema.questions[1])}), recipe))


def test_a_question_that_another_sets_variables_decide_is_refused() -> None:
    def swapped(request: ModelRequest) -> object:
        """The first question hinges on what the second needs, and the other way round."""
        of_diet, of_food = (1, 2) if "diet" in material(request, "variable_sets")["1"] else (2, 1)
        return {"1": [of_food], "2": [of_diet]}

    with pytest.raises(ItemFailed) as given_up:
        judged({QUESTIONS: [swapped]}, max_refinements=0)
    assert {tuple(vote.reading) for vote in given_up.value.gate_records} == {("q01", "q02")}


def test_a_user_whose_profile_contradicts_itself_is_given_up_and_nothing_is_written() -> None:
    model = ScriptedModel({REFINE: [SAME], ITSELF: [{"contradictions": ["She is 41 and 78."]}]})
    with pytest.raises(ItemFailed, match="She is 41 and 78"):
        run(refine_schema(scenario.profile(), PLAIN, recipe=RECIPE, model=model))
    assert (model.asked(REDRAFT), model.asked(UNIFY)) == ([], [])


def test_what_all_votes_take_from_the_profile_is_kept_unless_it_excludes_itself() -> None:
    votes = [stating({"diet": "x", "goal": "x", "time": "y"}), stating({"diet": "x", "food": "y", "time": "y"})]
    schema, _ = judged({TOLD: votes}, votes=2, votes_needed=2)
    assert schema.stated == {"diet": "x", "time": "y"}
    impossible = {"diet": "x", "goal": "x"}
    schema, _ = judged({TOLD: [stating(impossible)], PAIRS: [excluding(impossible)]})
    assert schema.stated == {}


def test_nobody_judges_the_choices_where_the_recipe_wants_none() -> None:
    schema, model = judged({}, consistency=False)
    assert (model.asked(TOLD), schema.gate_records) == ([], ())
