"""The embedded model reads stories and schemas, and tells events and summaries anew."""

from collections.abc import Sequence
from typing import Any

import pytest

from assets.text.words import spells
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import read_value
from tests.pipelines.embedded.embedded_requests import COMMON, OF_MESSAGES, PROFILE, SCHEMA, STATE, ask, by_number, events

PERIOD = {"from": "2020-10-01", "to": "2021-01-01"}
TROUBLE = {
    "vegetable_growing_trouble": {
        "day": "2020-11-05",
        "old": "parched_soil",
        "new": "leaf_mildew",
        "choices": SCHEMA["vegetable_growing_trouble"],
    }
}


def read(*texts: str, judged: list[int], changes: Sequence[str] = ()) -> Any:
    """The judge's reply, readings by variable. `changes`: by period, a variable that takes its first choice."""
    shown = {str(number): f"2020-11-05, Thursday: {text}" for number, text in enumerate(texts, start=1)}
    choices, told = by_number(SCHEMA)
    periods = {str(number): [int(choices[name][0].split()[0])] for number, name in enumerate(changes, start=1)}
    values: dict[str, object] = {"user_profile": PROFILE, "state_choices": choices, "texts": shown, "judged": judged}
    values |= {"periods": periods, "reworded": False}
    reply = ask("state_trajectory/check", values)
    readings = {text: dict(told[one] for one in own) for text, own in reply["readings"].items()}
    return {**reply, "readings": readings}


def test_a_story_is_read_text_by_text() -> None:
    (event,) = events(["usual_running_surface"])
    reply = read("Nothing much happened.", event["event"], judged=[1, 2])
    assert reply == {
        "readings": {"1": {}, "2": {"usual_running_surface": "paved_streets"}},
        "contradictions": {},
    }


def test_a_summary_sums_up_the_periods_that_change_all_that_it_names() -> None:
    texts = ["Things moved in running.", "Things moved in health and running.", "The weather was fine."]
    reply = read(*texts, judged=[1, 2, 3], changes=["vegetable_growing_trouble", "usual_running_surface", "physical_condition"])
    assert reply["periods"] == {"1": [2], "2": [], "3": []}


def test_an_event_that_has_happened_before_contradicts_the_story() -> None:
    (event,) = events(["usual_running_surface"])
    reply = read(event["event"], event["event"], judged=[1, 2])
    assert list(reply["contradictions"]) == ["2"]


@pytest.mark.parametrize("seed", range(5))
def test_an_event_is_told_in_other_words_that_tell_nothing_else(seed: int) -> None:
    (event,) = events(["vegetable_growing_trouble"])
    rest = {name: value for name, value in STATE.items() if name not in TROUBLE}
    values = {**COMMON, "period": PERIOD, "state_changes": TROUBLE, "unchanged_states": rest, "event": event["event"]}
    values |= {"story": {}, "earlier_events": []}
    told = ask("events/refine", {**values, "reading": {"home_type": "shared_house"}}, seed=seed)["event"]
    assert told != event["event"]
    found = {name: read_value(told, name=name, values=choices) for name, choices in SCHEMA.items()}
    assert found == {**dict.fromkeys(SCHEMA), "vegetable_growing_trouble": "leaf_mildew"}


def test_a_summary_told_anew_is_another_one_and_says_nothing_of_what_was_read() -> None:
    values = {"user_profile": PROFILE, "period": PERIOD, "state_changes": TROUBLE, "story": {}, "language": "English"}
    refused = "Several things shifted over these months, above all in the vegetable garden."
    told = ask("state_trajectory/retell", {**values, "summary": refused, "reading": {"home_type": "shared_house"}})
    assert told["period_summary"] != refused
    assert read_value(told["period_summary"], name="home_type", values=load_bank().values["home_type"]) is None


def test_the_pairs_of_a_schema_that_exclude_each_other_are_named() -> None:
    schema = {"home_type": SCHEMA["home_type"], "usual_birdwatching_spot": ["own_garden_feeder", "city_park_pond"]}
    choices, told = by_number(schema)
    (pair,) = ask("state_schema/check_pairs", {"state_choices": choices, "reworded": False})["exclusive"]
    assert dict(map(told.__getitem__, pair)) == {"home_type": "small_apartment", "usual_birdwatching_spot": "own_garden_feeder"}


def test_a_first_state_holds_no_values_that_exclude_each_other() -> None:
    pair = {"home_type": "shared_house", "physical_condition": "in_top_form"}
    values = {"user_profile": PROFILE, "start_date": "2020-10-01", "num_total_months": 30, "state_schema": SCHEMA}
    for seed in range(20):
        state = ask("state_trajectory/initial", {**values, "exclusive": [pair]}, seed=seed)
        assert not pair.items() <= state.items()


def test_an_event_that_spells_a_value_of_another_variable_is_not_told_in_a_query() -> None:
    variable = "home_bread_baking_appliance"
    event = "Rented a kitchen with just two gas burners, and flip every flat round over the flame now"
    change = {variable: {"old": "full_size_oven", "new": "stovetop_skillet"}}
    values = {
        **OF_MESSAGES,
        "state_schema": {variable: load_bank().values[variable]},
        "other_states": {"camping_cooking_method": "open_fire"},
        "period": PERIOD,
        "context": [{"background": event, "state_transition": change}],
    }
    for seed in range(10):
        (query,) = ask("session_queries/update", values, seed=seed)["queries"]
        assert not spells(query, "gas_burner")
