"""Profile, questions, schema, trajectory and events of the embedded model, asked with the project's real prompts."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pipelines.embedded.bank import CONCEPTS, load_bank
from pipelines.embedded.program import answer
from pipelines.embedded.reader import read
from pipelines.embedded.task import OBJECTION, recognise
from prompts.catalogue import load_prompt, prompt_names

PROFILE = """Name: Dana Whitfield
Age: 41
Gender: female
Marital status: divorced
Education: bachelors (business)
Occupation: office manager
Lives in: Dayton, OH, USA
Hobbies and interests: Vegetable gardening, Running, Photography
Skills and expertise: Scheduling, Budgeting
About: Dana Whitfield keeps a calm office and a lively garden."""
COMMON = {"user_profile": PROFILE, "start_date": "2020-10-01", "language": "English"}
SCHEMA = {
    "vegetable_growing_trouble": ["insect_infestation", "parched_soil", "leaf_mildew"],
    "vegetable_harvest_preference": ["salad_leaves", "cooking_herbs", "root_crops"],
    "home_type": ["small_apartment", "shared_house", "house_with_large_yard"],
    "usual_running_surface": ["paved_streets", "stadium_track", "indoor_treadmill"],
    "physical_condition": list(CONCEPTS["physical_condition"]),
}
STATE = {name: values[1] for name, values in SCHEMA.items()}


def ask(name: str, values: Mapping[str, object], *, objection: str = "", seed: int = 1) -> Any:
    prompt = load_prompt(name).render(**values)
    messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
    if objection:
        content = f"{OBJECTION} {objection}\nAnswer again with the complete, corrected JSON object."
        messages += [{"role": "assistant", "content": "{}"}, {"role": "user", "content": content}]
    text = answer(recognise(messages, schema_name=name.replace("/", "_"), seed=seed))
    return json.loads(text) if text.startswith("{") else text


def draft_questions(*, questions: int = 10, states: int = 2, choices: int = 3, profile: str = PROFILE, seed: int = 1) -> Any:
    sizes = {"num_questions": questions, "num_states_per_question": states, "num_choices_per_state": choices}
    asked = {"user_profile": profile, "start_date": "2020-10-01", "language": "English", "num_total_months": 30}
    return ask("questions/draft", {**asked, **sizes}, seed=seed)["questions"]


def update(**changes: object) -> Any:
    values: dict[str, Any] = {
        "user_profile": PROFILE,
        "start_date": "2020-10-01",
        "state_schema": {name: [v for v in values if v != STATE[name]] for name, values in SCHEMA.items()},
        "current_state": STATE,
        "prior_updates": [],
        "update_counts": dict.fromkeys(SCHEMA, 0),
        "period": {"step": 1, "steps": 10, "from": "2020-10-01", "to": "2021-01-01"},
        "num_changes": 3,
        "max_changes_per_state": 3,
        "due": None,
        "questions": None,
        "answers": None,
    }
    objection = str(changes.pop("objection", ""))
    return ask("state_trajectory/update", {**values, **changes}, objection=objection)


def readings(text: str, names: Sequence[str]) -> dict[str, str | None]:
    return {name: read(text, name=name, values=SCHEMA[name]) for name in names}


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
    topics = {topic.topic for topic in bank.topics if asked & set(topic.questions)}
    assert {"vegetable_garden", "running", "photography"} <= topics
    assert len(topics) == 10
    retired = PROFILE.replace("office manager", "retired").replace("Age: 41", "Age: 77")
    for seed in range(5):
        asked = {question["question"] for question in draft_questions(profile=retired, seed=seed)}
        assert not [topic.topic for topic in bank.topics if asked & set(topic.questions) and topic.fits.employed]


def refined(questions: list[dict[str, Any]], *, objection: str = "") -> dict[str, list[str]]:
    """The drafted types of every variable."""
    values = {"user_profile": PROFILE, "questions": questions, "language": "English"}
    merged: dict[str, list[str]] = {}
    for key, name in ask("state_schema/refine", values, objection=objection).items():
        merged.setdefault(name, []).append(key)
    return merged


def test_refining_gives_canonical_names_and_merges_general_facts() -> None:
    garden, running = load_bank().homes["home_type"], load_bank().homes["usual_running_surface"]
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


def test_the_initial_state_is_legal() -> None:
    schema = {"user_profile": PROFILE, "start_date": "2020-10-01", "num_total_months": 30, "state_schema": SCHEMA}
    state = ask("state_trajectory/initial", schema)
    assert all(state[name] in values for name, values in SCHEMA.items())


def test_updates_are_legal_and_prefer_what_changed_seldom() -> None:
    counts = {**dict.fromkeys(SCHEMA, 0), "home_type": 2, "physical_condition": 2}
    reply = update(update_counts=counts)
    assert len(reply["updated"]) == 3
    assert set(reply["updated"]) == set(SCHEMA) - {"home_type", "physical_condition"}
    assert all(value in SCHEMA[name] and value != STATE[name] for name, value in reply["updated"].items())


def test_a_summary_names_neither_variables_nor_values() -> None:
    reply = update()
    words = [*SCHEMA, *(value for values in SCHEMA.values() for value in values)]
    assert not [word for word in words if word in reply["period_summary"] or word.replace("_", " ") in reply["period_summary"]]


def test_an_objection_to_an_update_leads_to_the_least_changed_variables() -> None:
    counts = {**dict.fromkeys(SCHEMA, 2), "home_type": 0, "physical_condition": 1}
    reply = update(update_counts=counts, num_changes=2, objection="3 variables change; let at least 2 and at most 2 change.")
    assert set(reply["updated"]) == {"home_type", "physical_condition"}


def test_variables_that_are_due_change_first() -> None:
    counts = {**dict.fromkeys(SCHEMA, 0), "home_type": 1}
    reply = update(update_counts=counts, num_changes=3, due={"of": ["home_type", "physical_condition"], "at_least": 2})
    assert {"home_type", "physical_condition"} <= set(reply["updated"])


def test_updates_touch_about_as_many_questions_as_asked() -> None:
    names = list(SCHEMA)
    questions = {"q01": names[:2], "q02": names[1:3], "q03": names[2:4], "q04": names[:1]}
    for wanted in (1, 2, 4):
        reply = update(num_changes=2, questions=questions, answers={"at_least": wanted, "at_most": wanted})
        touched = [name for name, required in questions.items() if set(required) & set(reply["updated"])]
        assert len(touched) == wanted


def test_an_objection_with_a_proposal_is_followed() -> None:
    reply = update(
        objection="1 questions do; 2 to 3 should; for instance, change ['home_type', 'usual_running_surface'] instead."
    )
    assert set(reply["updated"]) == {"home_type", "usual_running_surface"}


def test_a_value_never_had_is_taken_before_an_earlier_one() -> None:
    earlier = {"home_type": STATE["home_type"]}
    offered = {"home_type": ["house_with_large_yard", "small_apartment"]}
    reply = update(state_schema=offered, prior_updates=[earlier], num_changes=1)
    assert reply["updated"] == {"home_type": "house_with_large_yard"}


def events(changed: Sequence[str], *, objection: str = "", seed: int = 1) -> Any:
    changes = {name: {"old": STATE[name], "new": SCHEMA[name][0], "choices": SCHEMA[name]} for name in changed}
    rest = {name: value for name, value in STATE.items() if name not in changed}
    period = {"from": "2020-10-01", "to": "2021-01-01", "summary": "Things changed."}
    values = {"period": period, "state_changes": changes, "unchanged_states": rest, **COMMON}
    return ask("events/elaborate", values, objection=objection, seed=seed)["events"]


def test_events_cause_every_change_once_and_share_only_a_topic() -> None:
    changed = ["vegetable_growing_trouble", "usual_running_surface", "home_type"]
    for seed in range(10):
        told = events(changed, seed=seed)
        assert sorted(name for event in told for name in event["states"]) == sorted(changed)
        assert all(event["states"] in ([event["states"][0]], [changed[0], changed[2]]) for event in told)
        for event in told:
            assert readings(event["event"], event["states"]) == {name: SCHEMA[name][0] for name in event["states"]}
    assert all(len(event["states"]) == 1 for event in events(changed, objection="Every change needs exactly one event."))
