"""Questions are as many as the recipe says, each with as many types and choices, all different."""

import re
from copy import deepcopy
from typing import Any

import pytest

from assets.amemgym.questions import draft_questions
from assets.amemgym.records.question import QuestionSet
from assets.records.base import ItemFailed
from assets.text.languages import Language
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.scripted_model import Reply, ScriptedModel
from tests.support.small import small_recipe

PROMPT = "questions/draft"
RECIPE = small_recipe(num_questions=2)
INFOS = [{"info_type": "diet", "info_choices": ["vegan", "meat"]}, {"info_type": "goal", "info_choices": ["5 km", "10 km"]}]
GOOD: dict[str, Any] = {
    "questions": [{"question": "What to eat?", "required_info": INFOS}, {"question": "When to run?", "required_info": INFOS}]
}


def drafted(*replies: Reply) -> tuple[QuestionSet, ScriptedModel]:
    model = ScriptedModel({PROMPT: replies})
    return run(draft_questions(scenario.profile(), recipe=RECIPE, model=model)), model


def changed(path: str, value: object) -> dict[str, Any]:
    """The good reply with another value at a dotted path."""
    reply = deepcopy(GOOD)
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    place: Any = reply
    for key in way:
        place = place[key]
    place[last] = value
    return reply


def test_a_good_reply_makes_numbered_questions() -> None:
    record, model = drafted(GOOD)
    assert record.user_id == scenario.USER_ID
    assert [(question.question_id, question.text) for question in record.questions] == [
        ("q01", "What to eat?"),
        ("q02", "When to run?"),
    ]
    assert record.questions[0].required_info[1].info_choices == ("5 km", "10 km")
    assert (len(model.requests), model.requests[0].temperature) == (1, 1.0)


FIRST = "questions.0.required_info"
HOURS = {"info_type": "work_hours", "info_choices": ["8 hours", "12 hours"]}
BAD = {
    "too few questions": (
        "questions",
        GOOD["questions"][:1],
        "questions: List should have at least 2 items after validation, not 1",
    ),
    "too many questions": ("questions", GOOD["questions"] * 2, "questions: List should have at most 2 items"),
    "too few types": (FIRST, INFOS[:1], "questions.0.required_info: List should have at least 2 items"),
    "too many choices": (
        f"{FIRST}.0.info_choices",
        ["a", "b", "c"],
        "required_info.0.info_choices: List should have at most 2 items",
    ),
    "a single choice": (f"{FIRST}.0.info_choices", ["a"], "info_choices: List should have at least 2 items"),
    "equal choices": (f"{FIRST}.0.info_choices", ["Vegan", "vegan"], "choices of 'diet' read the same"),
    "a type called like one of its choices": (f"{FIRST}.0.info_type", "Vegan", "'Vegan' is one of its own choices"),
    "equal types": (f"{FIRST}.1.info_type", "diet", r"requires ['diet'] twice"),
    "equal questions": ("questions.1.question", "what to  EAT?", "questions occur twice"),
    "nearly equal questions": ("questions.1.question", "What to eat now?", "Questions 1 and 2 share nearly all their words"),
    "bare levels": (f"{FIRST}.0.info_choices", ["low", "very_high"], "['low', 'very_high'] of 'diet' are bare levels"),
    "levels of what the type is called": (f"{FIRST}.0.info_choices", ["no_diet", "strong_diet"], "of 'diet' are bare levels"),
    "numbers of what the type counts": (f"{FIRST}.0", HOURS, "['8 hours', '12 hours'] of 'work_hours' are bare levels"),
    "no words": ("questions.1.question", " ", "questions.1.question: String should have at least 1"),
    "an endless name": (f"{FIRST}.0.info_type", "x" * 201, "at most 200 characters"),
}


@pytest.mark.parametrize(("path", "value", "told"), BAD.values(), ids=BAD)
def test_a_reply_that_breaks_a_rule_is_sent_back_with_the_rule(path: str, value: object, told: str) -> None:
    record, model = drafted(changed(path, value), GOOD)
    assert len(record.questions) == 2
    assert told in model.objections(PROMPT)[0]


def test_a_user_whose_questions_never_come_out_right_is_given_up() -> None:
    with pytest.raises(ItemFailed, match="questions/draft: questions: List should have at least 2"):
        drafted(changed("questions", GOOD["questions"][:1]))


def pattern_of_choices(language: Language, *texts: str) -> str | None:
    questions = [{"question": text, "required_info": INFOS} for text in texts]
    model = ScriptedModel({PROMPT: [{"questions": questions}]})
    run(draft_questions(scenario.profile(), recipe=small_recipe(num_questions=2, language=language), model=model))
    schema: dict[str, Any] = dict(model.requests[0].json_schema or {})
    question = schema["properties"]["questions"]["items"]
    return question["properties"]["required_info"]["items"]["properties"]["info_choices"]["items"].get("pattern")


@pytest.mark.parametrize(
    ("choice", "fits"),
    [("every_weekend", True), ("by 3 p.m.", True), ("at_his_sister's", True), ("steep", False), ('the "old" one', False)],
)
def test_servers_that_enforce_schemas_write_english_choices_of_several_words(choice: str, fits: bool) -> None:
    assert bool(re.search(pattern_of_choices("en", "What to eat?", "When to run?") or "", choice)) == fits


def test_choices_of_languages_that_join_words_may_be_one_word() -> None:
    assert pattern_of_choices("de", "Was soll ich essen?", "Wann soll ich laufen?") is None


def test_a_level_beside_facts_may_stand_for_nothing_at_all() -> None:
    _, model = drafted(changed(f"{FIRST}.0.info_choices", ["none", "a_dog"]))
    assert model.objections(PROMPT) == []
