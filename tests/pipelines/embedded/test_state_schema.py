"""Profile, questions and schema of the embedded model, asked with the project's real prompts."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from assets.llm.structured_output import numbered
from pipelines.embedded.bank import load_bank
from pipelines.embedded.task import recognise
from prompts.catalogue import load_prompt, prompt_names
from tests.pipelines.embedded.bank_rules import CONCEPTS
from tests.pipelines.embedded.embedded_requests import PROFILE, ask, by_number


def draft_questions(*, questions: int = 10, states: int = 2, choices: int = 3, profile: str = PROFILE, seed: int = 1) -> Any:
    sizes = {"num_questions": questions, "num_states_per_question": states, "num_choices_per_state": choices}
    asked = {"user_profile": profile, "start_date": "2020-10-01", "language": "English", "num_total_months": 30}
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
    reply = ask("user_profiles/complete", {"basic_profile": basic, "complementary_info": info, "language": "English"})
    assert reply["name"] == "Dana Whitfield"
    assert reply["profile"].count("Dana Whitfield") == 1
    assert "near St. Marys by a Welsh baker" in reply["profile"]
    assert len(reply["profile"].split()) < 120


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
    unified = ask("state_schema/unify", {**values, "conflicts": conflicts, "denied": {}, "num_choices_per_state": 3})
    assert set(home[1:3]) < set(unified["home_type"]) < set(home)
    assert unified["hat"] == ["a", "b", "c"]


def judged(
    schema: dict[str, list[str]],
    *,
    profile: str = PROFILE,
    questions: Sequence[str] = (),
    sets: Sequence[Sequence[str]] = ((),),
) -> Any:
    """What the judge says of the schema; questions and sets have numbers from 1, and choices stand with their variables."""
    choices, told = by_number(schema)
    values = {
        "user_profile": profile,
        "state_choices": choices,
        "questions": numbered(questions),
        "variable_sets": numbered(sets),
        "reworded": False,
    }
    reply = ask("state_schema/check", values)
    denied = [(*told[one["choice"]], one["because"]) for one in reply["denied"]]
    return {**reply, "denied": denied, "stated": dict(told[number] for number in reply["stated"])}


def test_a_question_hinges_on_the_variables_of_its_topic_and_on_no_others() -> None:
    garden, running = (load_bank().topics_with[name][0] for name in ("vegetable_growing_trouble", "usual_running_surface"))
    sets = [[variable.name for variable in topic.variables[:2]] for topic in (running, garden)]
    schema = {name: list(load_bank().values[name])[:3] for own in sets for name in own}
    questions = [garden.questions[0], running.framed("What would you have me try next with {title}?"), "Is the sky blue?"]
    reply = judged(schema, questions=questions, sets=sets)
    assert reply["decided_by"] == {"1": [2], "2": [1], "3": []}
    undecided = {"q01": {"question": "Is the sky blue?", "variables": {name: schema[name] for name in sets[1]}}}
    values = {"user_profile": PROFILE, "questions": undecided, "language": "English"}
    reworded = ask("state_schema/reword", values)["q01"]
    assert judged(schema, questions=[reworded], sets=sets)["decided_by"] == {"1": [2]}


@pytest.mark.parametrize(
    ("paragraph", "told"),
    [
        ("At 78, Dana keeps bees.", "the text says at 78"),
        ("Dana, a 17-year-old, keeps bees.", "the text says 17-year-old"),
        ("He keeps bees, and his sister helps him.", "the gender is female"),
        ("At 41, she keeps bees, and her brother helps when he can.", ""),
    ],
)
def test_a_profile_is_read_against_its_own_age_and_gender(paragraph: str, told: str) -> None:
    found = judged({}, profile=f"{PROFILE} {paragraph}")["profile"]
    assert [told in one for one in found] == [True] * bool(told)


def test_a_hobby_states_what_it_is_about() -> None:
    schema = {"main_handcraft_technique": list(load_bank().values["main_handcraft_technique"])}
    knits = PROFILE.replace("Photography", "Knitting and crochet")
    assert [judged(schema, profile=one)["stated"] for one in (PROFILE, knits)] == [
        {},
        {"main_handcraft_technique": "knitting_with_needles"},
    ]


def test_the_sea_is_denied_to_people_far_from_it_and_another_choice_takes_its_place() -> None:
    water = list(load_bank().values["usual_swimming_place"])
    drafted = [value for value in water if value != "slow_river"]

    def denied(choices: list[str], *, profile: str = PROFILE) -> Any:
        return judged({"usual_swimming_place": choices}, profile=profile)["denied"]

    ((one,), others) = denied(drafted), [denied(drafted, profile=PROFILE.replace("Dayton, OH", "Salem, OR")), denied(water)]
    assert one[:2] == ("usual_swimming_place", "ocean_beach")
    assert others == [[], []]
    conflicts = {"usual_swimming_place": [{"question": "?", "info_choices": drafted}]}
    values = {"user_profile": PROFILE, "start_date": "2020-10-01", "num_total_months": 30, "language": "English"}
    refused = {"usual_swimming_place": {"ocean_beach": one[2]}}
    unified = ask("state_schema/unify", {**values, "conflicts": conflicts, "denied": refused, "num_choices_per_state": 3})
    assert set(unified["usual_swimming_place"]) == set(water) - {"ocean_beach"}
