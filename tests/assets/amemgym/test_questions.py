"""Questions are as many as the recipe says, each with as many types and choices, all different."""

import re
from copy import deepcopy
from typing import Any

import pytest

from assets.amemgym.questions import AREAS, draft_questions, find_choice_faults
from assets.amemgym.records.question import QuestionSet
from assets.records.base import ItemFailed
from assets.text.languages import Language
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import material
from tests.support.scripted_model import Reply, ScriptedModel
from tests.support.small import small_recipe

PROMPT = "questions/draft"
RECIPE = small_recipe(num_questions=2)
INFOS = [{"info_type": "diet", "info_choices": ["vegan", "meat"]}, {"info_type": "goal", "info_choices": ["5 km", "10 km"]}]
GOOD: dict[str, Any] = {
    "questions": [
        {"question": "What to eat?", "required_info": INFOS},
        {"question": "When to run?", "required_info": deepcopy(INFOS)},
    ]
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


TOPICS = ("What to eat?", "When to run?", "Where do tomatoes belong?", "Which train suits me?", "Whom do I call on Sundays?")


def replied(*texts: str) -> dict[str, Any]:
    return {"questions": [{"question": text, "required_info": INFOS} for text in texts]}


def shares_and_areas(count: int) -> tuple[list[str], list[str]]:
    """How many of so many questions each call writes, and the areas of life that the calls name, in the order of calls."""
    model = ScriptedModel()
    record = run(draft_questions(scenario.profile(), recipe=small_recipe(num_questions=count), model=model))
    assert [question.question_id for question in record.questions] == [f"q{number:02d}" for number in range(1, count + 1)]
    asked = ["\n".join(message.content for message in request.messages) for request in model.asked(PROMPT)]
    return re.findall(r"Write exactly (\d+)", "\n".join(asked)), re.findall(r"Areas of life: (.+)\.", "\n".join(asked))


def test_five_questions_are_written_in_one_call_about_all_of_life() -> None:
    assert shares_and_areas(5) == (["5"], [])


@pytest.mark.parametrize(("count", "shares"), [(6, "3 3"), (11, "3 4 4"), (22, "5 6 5 6")])
def test_each_call_writes_few_questions_about_areas_of_life_of_its_own(count: int, shares: str) -> None:
    found, areas = shares_and_areas(count)
    assert found == shares.split()
    assert len(areas) == len(found)
    assert sorted("; ".join(areas).split("; ")) == sorted(AREAS)


def test_a_question_that_another_call_asks_too_is_drafted_anew() -> None:
    calls = [replied(*TOPICS[:3]), replied(*TOPICS[3:], "What to eat now?")]
    model = ScriptedModel({PROMPT: calls, REDRAFT: [{"q06": NEW}]})
    record = run(draft_questions(scenario.profile(), recipe=small_recipe(num_questions=6), model=model))
    assert [question.text for question in record.questions] == [*TOPICS, NEW["question"]]


FIRST = "questions.0.required_info"
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


REDRAFT = "questions/redraft"
SECOND = "questions.1.required_info.0"
NEW: dict[str, Any] = {
    "question": "Which shoes do I buy?",
    "required_info": [
        {"info_type": "trail", "info_choices": ["forest_path", "town_park"]},
        {"info_type": "goal", "info_choices": ["5 km", "10 km"]},
    ],
}
HOURS = {"info_type": "work_hours", "info_choices": ["8 hours", "12 hours"]}
FAULTY = {
    "equal questions": ("questions.1.question", "what to  EAT?", "shares nearly all its words with 'What to eat?'"),
    "nearly equal questions": ("questions.1.question", "What to eat now?", "shares nearly all its words with 'What to eat?'"),
    "a question that spells a choice": ("questions.1.question", "How do I train for 10 km?", "spells the values ['10 km']"),
    "a bare level": (f"{SECOND}.info_choices", ["tea_only", "very_high"], "'very_high' of 'diet' is a bare level"),
    "a level of what the type is called": (f"{SECOND}.info_choices", ["tea_only", "strong_diet"], "is a bare level"),
    "a number of what the type counts": (SECOND, HOURS, "'12 hours' of 'work_hours' is a bare level"),
    "a negation": (f"{SECOND}.info_choices", ["no_knee_treatment", "wears_a_brace"], "'no_knee_treatment' of 'diet' says that"),
    "what nobody has": (f"{SECOND}.info_choices", ["nobody_yet", "with_a_friend"], "'nobody_yet' of 'diet' says that"),
    "what works": (f"{SECOND}.info_choices", ["home_oven_works", "small_oven"], "'home_oven_works' of 'diet' says that"),
    "what is in order": (
        f"{SECOND}.info_choices",
        ["smoker_in_working_order", "kettle_grill"],
        "says that something is not so",
    ),
    "what is as usual": (f"{SECOND}.info_choices", ["usual_hours", "night_shifts"], "'usual_hours' of 'diet' says that"),
    "what stays the same": (f"{SECOND}.info_choices", ["the same flat", "a new house"], "'the same flat' of 'diet' says that"),
    "a value of the profile": (
        f"{SECOND}.info_choices",
        ["bakes_rye_bread", "bakes_cake"],
        "'bakes_rye_bread' of 'diet' stands in",
    ),
}


def redrafted(reply: dict[str, Any], *replies: Reply) -> tuple[QuestionSet, ScriptedModel]:
    """What is made of a draft and of replies to the request for its second question anew."""
    model = ScriptedModel({PROMPT: [reply], REDRAFT: replies or [{"q02": NEW}]})
    profile = scenario.profile(formatted_str="Name: Ana Ruiz\nAbout: Every Sunday she bakes bread of rye.")
    return run(draft_questions(profile, recipe=RECIPE, model=model)), model


@pytest.mark.parametrize(("path", "value", "told"), FAULTY.values(), ids=FAULTY)
def test_a_question_with_a_fault_is_drafted_anew_and_no_other(path: str, value: object, told: str) -> None:
    record, model = redrafted(changed(path, value))
    assert [question.text for question in record.questions] == ["What to eat?", "Which shoes do I buy?"]
    assert len(model.asked(PROMPT)) == 1
    (request,) = model.asked(REDRAFT)
    refused = material(request, "questions")
    assert list(refused) == ["q02"]
    assert told in " ".join(refused["q02"]["faults"])
    others = {"What to eat?": {"diet": ["vegan", "meat"], "goal": ["5 km", "10 km"]}}
    assert material(request, "other_questions") == others


def found(value: str) -> bool:
    return any(find_choice_faults("habit", [value], profile=scenario.profile(), recipe=RECIPE))


NOT_ABSENT = ["spouse_works_nights", "works_from_home", "usually_alone", "nonstop_travel", "notebook_on_paper", "cannot_decide"]


@pytest.mark.parametrize("value", NOT_ABSENT)
def test_a_value_that_only_looks_like_an_absence_is_let_through(value: str) -> None:
    assert not found(value)


@pytest.mark.parametrize(
    ("language", "value"),
    [("de", "kein_auto"), ("fr", "sans_voiture"), ("es", "sin_coche"), ("ru", "без_машины"), ("nl", "geen_auto")],
)
def test_an_absence_is_found_in_other_languages(language: Language, value: str) -> None:
    recipe = small_recipe(language=language)
    assert any(find_choice_faults("way", [value], profile=scenario.profile(), recipe=recipe))


TAKEN = {"info_type": "Diet", "info_choices": ["fish", "bread"]}
BAD_ANEW = {
    "another question's type with other choices": (TAKEN, "'Diet' stands for information of another question"),
    "a value of absence": ({"info_type": "pet", "info_choices": ["no_pet", "a_cat"]}, "'no_pet' of 'pet' says that"),
}


@pytest.mark.parametrize(("info", "told"), BAD_ANEW.values(), ids=BAD_ANEW)
def test_a_new_question_that_breaks_a_rule_is_sent_back(info: dict[str, Any], told: str) -> None:
    bad = {**NEW, "required_info": [info, NEW["required_info"][1]]}
    record, model = redrafted(changed("questions.1.question", "What to eat now?"), {"q02": bad}, {"q02": NEW})
    assert record.questions[1].text == NEW["question"]
    assert told in model.objections(REDRAFT)[0]


def test_a_new_question_may_share_information_with_its_choices() -> None:
    shared = {**NEW, "required_info": [INFOS[0], NEW["required_info"][0]]}
    record, model = redrafted(changed("questions.1.question", "What to eat now?"), {"q02": shared})
    assert record.questions[1].required_info[0].info_choices == ("vegan", "meat")
    assert model.objections(REDRAFT) == []
