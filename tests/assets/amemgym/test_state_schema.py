"""Every drafted type becomes part of exactly one variable, and merged ones share one set of choices."""

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
from tests.support.honest_replies import by_number, honest, material, nothing_against_schema
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
    "type left out": ({name: SAME[name] for name in ("diet", "goal", "food")}, "time: Field required"),
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
    with pytest.raises(ItemFailed, match="state_schema/refine: time: Field required"):
        refined({name: SAME[name] for name in ("diet", "goal", "food")})


JUDGE, REWORD = "state_schema/check", "state_schema/reword"


def finding(**found: Any) -> Reply:
    """An honest verdict but for what is given, choices by variable. `undecided`: numbers of questions that no set decides."""
    undecided: list[str] = found.pop("undecided", [])
    denied, exclusive, stated = found.pop("denied", {}), found.pop("exclusive", ()), found.pop("stated", {})

    def answer(request: ModelRequest) -> object:
        verdict: dict[str, Any] = {**nothing_against_schema(request), **found}
        for number in undecided:
            verdict["decided_by"][number] = []
        because = "He is allergic to it."
        verdict["denied"] = [{"choice": number, "because": because} for number in by_number(request, denied)]
        verdict["exclusive"] = [by_number(request, pair) for pair in exclusive]
        verdict["stated"] = by_number(request, stated)
        return verdict

    return answer


NOTHING = finding()
DENIED = finding(denied={"diet": "x"})


def judged(
    *verdicts: Reply, unify: list[Reply] | None = None, reword: list[Reply] | None = None, **gates: Any
) -> tuple[JudgedSchema, ScriptedModel]:
    replies = {JUDGE: verdicts, UNIFY: unify or [{"diet": ["y", "z"]}], REWORD: reword or [{"q02": "Which sport?"}]}
    model = ScriptedModel({REFINE: [SAME], **replies})
    one_vote = {"votes": 1, "votes_needed": 1, "max_refinements": 1, "max_redrafts": 0, "max_reasks": 1}
    recipe = small_recipe(num_questions=2, gates={**one_vote, **gates})
    return run(refine_schema(scenario.profile(), PLAIN, recipe=recipe, model=model)), model


def test_a_choice_that_the_profile_denies_gets_another_in_its_place() -> None:
    schema, model = judged(DENIED, NOTHING)
    assert schema.choices == {"diet": ["y", "z"], "goal": ["x", "y"], "food": ["x", "y"], "time": ["x", "y"]}
    assert material(model.asked(UNIFY)[0], "denied") == {"diet": {"x": "He is allergic to it."}}
    assert material(model.asked(UNIFY)[0], "conflicts") == {"diet": [{"question": "What about 0?", "info_choices": ["x", "y"]}]}
    assert [(vote.reading, vote.accepted) for vote in schema.gate_records] == [
        ({"diet": "x: He is allergic to it."}, False),
        ({}, True),
    ]


def test_a_denied_choice_that_stays_is_sent_back_to_the_writer() -> None:
    _, model = judged(DENIED, NOTHING, unify=[{"diet": [" X", "y"]}, {"diet": ["y", "z"]}])
    assert "The profile denies ['x'] of 'diet'" in model.objections(UNIFY)[0]


def test_a_user_whose_profile_always_denies_something_is_given_up() -> None:
    with pytest.raises(ItemFailed, match="No draft of schema passed the schema gate in 2 readings"):
        judged(DENIED, finding(denied={"goal": "x"}))


def test_states_that_any_judge_finds_to_exclude_each_other_are_kept_with_the_schema() -> None:
    pairs = [{"diet": "x", "time": "y"}, {"goal": "x", "food": "y"}]
    verdicts = [finding(exclusive=[pair]) for pair in pairs]
    schema, _ = judged(*verdicts, votes=2, votes_needed=2)
    assert list(schema.exclusive) == pairs
    assert schema.excluded({"diet": "x", "goal": "y", "time": "y"}) == [pairs[0]]


def test_a_question_that_its_variables_do_not_decide_is_worded_anew_and_read_again() -> None:
    schema, model = judged(finding(undecided=["2"]), NOTHING)
    assert [question.text for question in schema.questions] == ["What about 0?", "Which sport?"]
    shown = {"q02": {"question": "What about 1?", "variables": {"food": ["x", "y"], "time": ["x", "y"]}}}
    assert material(model.asked(REWORD)[0], "questions") == shown
    assert [list(material(request, "questions").values()) for request in model.asked(JUDGE)] == [
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
        return {**nothing_against_schema(request), "decided_by": {"1": [of_food], "2": [of_diet]}}

    with pytest.raises(ItemFailed) as given_up:
        judged(swapped, reword=[{"q01": "Which meal?", "q02": "Which sport?"}])
    assert {tuple(vote.reading) for vote in given_up.value.gate_records} == {("q01", "q02")}


def test_new_words_that_repeat_another_question_are_sent_back() -> None:
    _, model = judged(finding(undecided=["2"]), NOTHING, reword=[{"q02": "What about 0?"}, {"q02": "Which sport?"}])
    assert "Questions 1 and 2 share nearly all their words" in model.objections(REWORD)[0]


def test_a_user_whose_profile_contradicts_itself_is_given_up_and_nothing_is_written() -> None:
    model = ScriptedModel({REFINE: [SAME], JUDGE: [finding(profile=["She is 41 and 78."])]})
    with pytest.raises(ItemFailed, match="She is 41 and 78"):
        run(refine_schema(scenario.profile(), PLAIN, recipe=RECIPE, model=model))
    assert (model.asked(REWORD), model.asked(UNIFY)) == ([], [])


def test_what_all_votes_take_from_the_profile_is_kept_unless_it_excludes_itself() -> None:
    first = finding(stated={"diet": "x", "goal": "x", "time": "y"})
    second = finding(stated={"diet": "x", "food": "y", "time": "y"})
    schema, _ = judged(first, second, votes=2, votes_needed=2)
    assert schema.stated == {"diet": "x", "time": "y"}
    impossible = finding(stated={"diet": "x", "goal": "x"}, exclusive=[{"diet": "x", "goal": "x"}])
    schema, _ = judged(impossible)
    assert schema.stated == {}


def test_nobody_judges_the_choices_where_the_recipe_wants_none() -> None:
    schema, model = judged(NOTHING, consistency=False)
    assert (model.asked(JUDGE), schema.gate_records) == ([], ())
