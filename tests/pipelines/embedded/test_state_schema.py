"""Profile, questions and schema of the embedded model, asked with the project's real prompts."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from assets.amemgym.questions import AREAS, MOST_CALLS
from assets.amemgym.records.persona import Cast
from assets.amemgym.user_profiles import cast_problems
from assets.llm.structured_output import numbered
from assets.text.words import spells
from pipelines.embedded.amemgym.questions import TOPICS_BY_AREA
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import find_topic
from pipelines.embedded.task import recognise
from prompts.catalogue import load_prompt, prompt_names
from tests.pipelines.embedded.bank_rules import CONCEPTS
from tests.pipelines.embedded.embedded_requests import COMMON, PROFILE, ask, by_number


def draft_questions(
    *, questions: int = 10, states: int = 2, choices: int = 3, profile: str = PROFILE, areas: str = "", seed: int = 1
) -> Any:
    sizes = {"num_questions": questions, "num_states_per_question": states, "num_choices_per_state": choices}
    asked = {"user_profile": profile, "start_date": "2020-10-01", "language": "English", "num_total_months": 30, "areas": areas}
    return ask("questions/draft", {**asked, **sizes}, seed=seed)["questions"]


def test_every_prompt_has_its_writer_and_is_known_by_its_opening_too() -> None:
    for name in prompt_names():
        system = re.sub(r"\{[%{].*?[%}]\}", "", load_prompt(name).system)
        assert recognise([{"role": "system", "content": system}], schema_name=None, seed=0).name == name
    assert recognise([{"role": "user", "content": "Hello"}], schema_name=None, seed=0).name == "chat"


def test_the_profile_has_the_name_as_spelled_and_whole_sentences_of_news() -> None:
    info = (
        "Dana Whitfield, an office manager in Dayton, never forgets a birthday. She naps on Sundays.\n"
        "When traveling, Dana Whitfield packs a kettle and one good book. Dana Whitfield's photographs hang in the hallway.\n"
        "Raised near St. Marys by a Welsh baker, Dana Whitfield still whistles while kneading."
    )
    basic = "\n".join(PROFILE.splitlines()[1:-1])
    values = {"basic_profile": basic, "complementary_info": info, "language": "English"}
    reply = ask("user_profiles/complete", {**values, "cast": False})
    assert reply.keys() == {"name", "profile"}
    assert reply["name"] == "Dana Whitfield"
    assert reply["profile"].count("Dana Whitfield") == 1
    assert "near St. Marys by a Welsh baker" in reply["profile"]
    assert len(reply["profile"].split()) < 120


@pytest.mark.parametrize("status", ["married", "divorced"])
@pytest.mark.parametrize("seed", range(5))
def test_a_cast_agrees_with_the_profile_and_speaks_of_nothing_that_the_bank_tracks(status: str, seed: int) -> None:
    basic = "\n".join(PROFILE.splitlines()[1:-1]).replace("divorced", status)
    info = "Dana Whitfield, an office manager in Dayton, walks the dog with her wife."
    values = {"basic_profile": basic, "complementary_info": info, "language": "English", "cast": True}
    cast = Cast.model_validate(ask("user_profiles/complete", values, seed=seed)["cast"])
    assert cast_problems(cast, name="Dana Whitfield", marital_status=status) == []
    assert [person.relation for person in cast.people].count("wife") == (status == "married")
    assert cast.animals == ()
    assert [value for values in load_bank().values.values() for value in values if spells("\n".join(cast.lines), value)] == []


@pytest.mark.parametrize(
    ("questions", "states", "choices"), [(10, 2, 3), (10, 3, 3), (4, 2, 3), (6, 4, 4), (60, 2, 2), (1, 1, 3)]
)
def test_questions_come_in_the_numbers_asked(questions: int, states: int, choices: int) -> None:
    drafted = draft_questions(questions=questions, states=states, choices=choices)
    assert len({question["question"] for question in drafted}) == questions
    for question in drafted:
        infos = question["required_info"]
        assert len({info["info_type"] for info in infos}) == states
        assert all(len(set(info["info_choices"])) == choices for info in infos)


def test_questions_suit_the_person() -> None:
    bank = load_bank()
    asked = {question["question"] for question in draft_questions()}
    topics = {topic.topic for topic in bank.topics if asked & set(topic.phrasings)}
    assert {"vegetable_garden", "running", "photography"} <= topics
    assert len(topics) == 10
    retired = PROFILE.replace("office manager", "retired").replace("Age: 41", "Age: 77")
    for seed in range(5):
        asked = {question["question"] for question in draft_questions(profile=retired, seed=seed)}
        assert not [topic.topic for topic in bank.topics if asked & set(topic.phrasings) and topic.fits.employed]


@pytest.mark.parametrize(
    ("areas", "topics"),
    [
        ("money and what to buy; learning and plans", {"household_budgeting", "saving_for_a_goal", "online_courses"}),
        ("nature and journeys", {"birdwatching", "camping", "photography"}),
    ],
)
def test_questions_on_some_areas_of_life_are_about_these(areas: str, topics: set[str]) -> None:
    asked = [question["question"] for question in draft_questions(questions=5, areas=areas)]
    found = [topic for topic in map(find_topic, asked) if topic is not None]
    assert {topic.topic for topic in found} == topics
    assert len(found) == 5


@pytest.mark.parametrize("call", range(MOST_CALLS))
def test_each_of_the_calls_for_a_hundred_questions_is_answered_in_full(call: int) -> None:
    drafted = draft_questions(questions=25, areas="; ".join(AREAS[call::MOST_CALLS]))
    assert len({question["question"] for question in drafted}) == 25


def test_every_topic_is_of_one_area_of_life() -> None:
    topics = [name for names in TOPICS_BY_AREA.values() for name in names]
    assert sorted(topics) == sorted(topic.topic for topic in load_bank().topics)
    assert tuple(TOPICS_BY_AREA) == AREAS


def refined(questions: list[dict[str, Any]], *, objection: str = "") -> dict[str, list[str]]:
    """The drafted types of every variable."""
    values = {"user_profile": PROFILE, "questions": questions, "language": "English"}
    merged: dict[str, list[str]] = {}
    for key, name in ask("state_schema/refine", values, objection=objection).items():
        merged.setdefault(name, []).append(key)
    return merged


def test_refining_gives_canonical_names_and_merges_general_facts() -> None:
    garden, running = load_bank().topics_with["home_type"], load_bank().topics_with["usual_running_surface"]
    plants = next(topic for topic in garden if topic.topic == "houseplant_care")
    beds = next(topic for topic in garden if topic.topic == "vegetable_garden")
    home = list(CONCEPTS["home_type"])
    questions = [
        {"question": plants.questions[0], "required_info": {"place": home[:3]}},
        {"question": beds.questions[1], "required_info": {"home": home[1:], "trouble": ["leaf_mildew", "parched_soil"]}},
        {"question": running[0].questions[0], "required_info": {"surface": ["stadium_track", "paved_streets"]}},
        {"question": "Which hat should I wear to the fair?", "required_info": {"size_q04": ["tiny", "huge"]}},
    ]
    names = refined(questions)
    assert names["home_type"] == ["place", "home"]
    assert names["vegetable_growing_trouble"] == ["trouble"]
    assert names["usual_running_surface"] == ["surface"]
    assert [keys for name, keys in names.items() if name.startswith("size_when_")] == [["size_q04"]]
    apart = refined(questions, objection="4 variables are too few for the changes to come; keep at least 5 apart.")
    assert len(apart) == 5
    assert sorted(key for keys in apart.values() for key in keys) == ["home", "place", "size_q04", "surface", "trouble"]


def test_unifying_gives_exactly_the_number_of_choices_asked() -> None:
    home = list(CONCEPTS["home_type"])
    conflicts = {
        "home_type": [{"question": "?", "info_choices": home[:3]}, {"question": "?", "info_choices": home[1:]}],
        "hat": [{"question": "?", "info_choices": ["a", "b", "c"]}, {"question": "?", "info_choices": ["b", "c", "d"]}],
    }
    values = {"user_profile": PROFILE, "start_date": "2020-10-01", "num_total_months": 30, "language": "English"}
    unified = ask("state_schema/unify", {**values, "conflicts": conflicts, "num_choices_per_state": 3})
    assert set(home[1:3]) < set(unified["home_type"]) < set(home)
    assert unified["hat"] == ["a", "b", "c"]


def decided_by(schema: dict[str, list[str]], questions: Sequence[str], sets: Sequence[Sequence[str]]) -> Any:
    """The sets that the judge says decide each question; both have numbers from 1."""
    choices, _ = by_number(schema)
    values = {"questions": numbered(questions), "variable_sets": numbered(sets), "state_choices": choices, "reworded": False}
    return ask("state_schema/check_questions", values)


def told(schema: dict[str, list[str]], *, profile: str = PROFILE) -> Any:
    """What the judge says that the profile tells of the choices, which stand with their variables."""
    choices, meaning = by_number(schema)
    reply = ask("state_schema/check_told", {"user_profile": profile, "state_choices": choices, "reworded": False})
    denied = [(*meaning[one["choice"]], one["because"]) for one in reply["denied"]]
    return {**reply, "denied": denied, "stated": dict(meaning[number] for number in reply["stated"])}


def redrafted(refused: dict[str, Any], others: dict[str, Any]) -> Any:
    sizes = {"num_states_per_question": 2, "num_choices_per_state": 3, "num_total_months": 30}
    return ask("questions/redraft", {**COMMON, **sizes, "questions": refused, "other_questions": others})


def test_a_question_hinges_on_the_variables_of_its_topic_and_on_no_others() -> None:
    garden, running = (load_bank().topics_with[name][0] for name in ("vegetable_growing_trouble", "usual_running_surface"))
    sets = [[variable.name for variable in topic.variables[:2]] for topic in (running, garden)]
    schema = {name: list(load_bank().values[name])[:3] for own in sets for name in own}
    questions = [garden.questions[0], running.fill_frame("What would you have me try next with {title}?"), "Is the sky blue?"]
    assert decided_by(schema, questions, sets) == {"1": [2], "2": [1], "3": []}


def test_a_question_drafted_anew_is_about_another_topic_and_hinges_on_its_variables() -> None:
    first, second = draft_questions(questions=2)
    infos = {info["info_type"]: info["info_choices"] for info in first["required_info"]}
    refused = {"question": first["question"], "required_info": infos, "faults": ["Nobody mentions it."]}
    others = {second["question"]: {info["info_type"]: info["info_choices"] for info in second["required_info"]}}
    new = redrafted({"q01": refused}, others)["q01"]
    topics = [load_bank().topic_of_question[text].topic for text in (first["question"], second["question"], new["question"])]
    assert len(set(topics)) == 3
    schema = {info["info_type"]: info["info_choices"] for info in new["required_info"]}
    assert [len(choices) for choices in schema.values()] == [3, 3]
    assert decided_by(schema, [new["question"]], [list(schema)]) == {"1": [1]}


def test_information_that_other_questions_need_keeps_its_choices_in_a_new_question() -> None:
    known = {name: list(values)[1:] for name, values in CONCEPTS.items()}
    refused: dict[str, Any] = {
        f"q{number:02d}": {"question": f"Why {number}?", "required_info": {}, "faults": []} for number in range(9)
    }
    drafted = redrafted(refused, {"What now?": known}).values()
    shared = [info for new in drafted for info in new["required_info"] if info["info_type"] in known]
    assert shared
    assert [info["info_choices"] for info in shared] == [known[info["info_type"]] for info in shared]


def test_no_choice_is_drafted_whose_words_stand_in_the_profile() -> None:
    surface = list(load_bank().values["usual_running_surface"])
    told_first = PROFILE.replace("a lively garden", f"runs her miles on {surface[0].replace('_', ' ')}")
    for seed in range(10):
        for question in draft_questions(profile=told_first, seed=seed):
            assert not any(surface[0] in info["info_choices"] for info in question["required_info"])


def test_choices_of_two_variables_under_one_name_are_found_to_go_together() -> None:
    bread, camp = list(load_bank().values["main_bread_flour"]), list(load_bank().values["camping_shelter"])
    choices, meaning = by_number({"main_bread_flour": bread, "camping_shelter": [*camp[:2], bread[0]]})
    failing = ask("state_schema/check_choices", {"state_choices": choices, "reworded": False})["failing"]
    assert [meaning[one["choice"]] for one in failing] == [("camping_shelter", bread[0])]


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("At 78, Dana keeps bees.", "the text says at 78"),
        ("Dana, a 17-year-old, keeps bees.", "the text says 17-year-old"),
        ("He keeps bees, and his sister helps him.", "the gender is female"),
        ("At 41, she keeps bees, and her brother helps when he can.", ""),
    ],
)
def test_a_profile_is_read_against_its_own_age_and_gender(paragraph: str, expected: str) -> None:
    values = {"user_profile": f"{PROFILE} {paragraph}", "reworded": False}
    found = ask("state_schema/check_profile", values)["contradictions"]
    assert [expected in one for one in found] == [True] * bool(expected)


def test_a_hobby_states_what_it_is_about() -> None:
    schema = {"main_handcraft_technique": list(load_bank().values["main_handcraft_technique"])}
    knits = PROFILE.replace("Photography", "Knitting and crochet")
    assert [told(schema, profile=one)["stated"] for one in (PROFILE, knits)] == [
        {},
        {"main_handcraft_technique": "knitting_with_needles"},
    ]


def test_the_sea_is_denied_to_people_far_from_it_where_there_is_another_choice() -> None:
    water = list(load_bank().values["usual_swimming_place"])
    drafted = [value for value in water if value != "slow_river"]

    def denied(choices: list[str], *, profile: str = PROFILE) -> Any:
        return told({"usual_swimming_place": choices}, profile=profile)["denied"]

    assert [one[:2] for one in denied(drafted)] == [("usual_swimming_place", "ocean_beach")]
    assert denied(drafted, profile=PROFILE.replace("Dayton, OH", "Salem, OR")) == []
    assert denied(water) == []
