"""Session queries and follow-ups of the embedded model, asked with the project's real prompts."""

import re
from collections.abc import Sequence
from typing import Any

from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import read_value
from tests.pipelines.embedded.embedded_requests import (
    COMMON,
    OF_MESSAGES,
    SCHEMA,
    STATE,
    ask,
    events,
    initial_queries,
    readings,
)

PERIOD = {"from": "2020-10-01", "to": "2021-01-01"}


def judge(query: str, names: Sequence[str]) -> Any:
    options = {name: list(reversed(SCHEMA[name])) for name in names}
    values = {"messages": {"1": query}, "state_choices": options, "cannot_tell": True, "reworded": False}
    (reading,) = ask("session_queries/check_exposure", values)["readings"]
    return reading["tells"]


def test_initial_queries_reveal_every_variable_once_and_ask_for_something() -> None:
    for seed in range(10):
        queries = initial_queries(seed=seed)
        exposed = [pair for query in queries for pair in query["exposed_states"].items()]
        assert sorted(exposed) == sorted(STATE.items())
        assert all(1 <= len(query["exposed_states"]) <= 3 and "?" in query["query"] for query in queries)


def test_a_part_of_the_state_is_revealed_by_a_single_query() -> None:
    part = {name: STATE[name] for name in ("vegetable_growing_trouble", "home_type")}
    assert [query["exposed_states"] for query in initial_queries(part)] == [part]


def test_an_update_query_puts_the_event_into_the_first_person_or_tells_how_things_are_since() -> None:
    event = events(["usual_running_surface"])[0]["event"]
    change = {"usual_running_surface": {"old": "stadium_track", "new": "paved_streets"}}
    context = [{"background": event, "state_transition": change}]
    values = {**OF_MESSAGES, "state_schema": SCHEMA, "other_states": {}, "period": PERIOD, "context": context}
    queries = [ask("session_queries/update", values, seed=seed)["queries"][0] for seed in range(20)]
    assert 5 <= sum(event[1:] in query for query in queries) <= 15
    assert {judge(query, list(change)).get("usual_running_surface") for query in queries} <= {"paved_streets", None}
    assert all(f"I {event[0].lower()}" in query for query in queries if event[1:] in query)
    foreign = [{"background": "Her brother gave her a pair of shoes.", "state_transition": change}]
    query = ask("session_queries/update", {**values, "context": foreign})["queries"][0]
    assert "brother" not in query


def test_a_value_that_comes_back_in_a_later_period_meets_another_request() -> None:
    change = {"usual_running_surface": {"old": "stadium_track", "new": "paved_streets"}}
    values = {
        **OF_MESSAGES,
        "state_schema": SCHEMA,
        "other_states": {},
        "context": [{"background": "x", "state_transition": change}],
    }
    periods = [PERIOD, {"from": "2021-01-01", "to": "2021-04-01"}, {"from": "2021-04-01", "to": "2021-07-01"}]
    queries = [ask("session_queries/update", {**values, "period": period})["queries"][0] for period in periods]
    topic = load_bank().topics_with["usual_running_surface"][0]
    assert len({request for request in topic.requests if any(request[1:] in query for query in queries)}) == len(periods)


def test_queries_read_like_one_message() -> None:
    queries = [query["query"] for seed in range(40) for query in initial_queries(seed=seed)]
    assert all(query[0].isupper() and query[-1] in ".?" for query in queries)
    assert not [query for query in queries if re.search(r"\.\.|,,|  |\?\?|: [A-Z](?!['m ])|\. [a-z]|\bi\b|[{}]", query)]
    lengths = [len(query["query"].split()) for query in initial_queries() if len(query["exposed_states"]) == 1]
    assert all(12 <= length <= 36 for length in lengths)


def test_most_drafts_are_read_as_meant_but_not_all_and_refining_mends_most_of_the_rest() -> None:
    drafts = [query for seed in range(150) for query in initial_queries(seed=seed)]
    missed = [query for query in drafts if judge(query["query"], list(query["exposed_states"])) != query["exposed_states"]]
    assert 0.02 < len(missed) / len(drafts) < 0.15
    mended = 0
    for query in missed:
        exposed = query["exposed_states"]
        reading = {name: value or "could not tell" for name, value in readings(query["query"], list(exposed)).items()}
        choices = {name: SCHEMA[name] for name in exposed}
        values = {
            "query": query["query"],
            "exposed_states": exposed,
            "state_choices": choices,
            "reading": reading,
            "leaked": {},
            "other_states": {},
        }
        text = ask("session_queries/refine", {**values, "language": "English"})["query"]
        mended += judge(text, list(exposed)) == exposed
    assert mended / len(missed) > 0.7


def test_a_judge_that_may_not_pass_takes_the_closest_value() -> None:
    options = {"home_type": SCHEMA["home_type"]}
    values = {"messages": {"1": "My place is nice."}, "state_choices": options, "cannot_tell": False, "reworded": False}
    (reading,) = ask("session_queries/check_exposure", values)["readings"]
    assert reading["tells"]["home_type"] in SCHEMA["home_type"]
    assert judge("My place is nice.", ["home_type"]) == {}


def test_a_query_that_leaked_is_refined_without_the_leak() -> None:
    exposed = {"vegetable_growing_trouble": STATE["vegetable_growing_trouble"]}
    choices = {name: SCHEMA[name] for name in ("vegetable_growing_trouble", "home_type")}
    leak = load_bank().topics_with["home_type"][0].variable("home_type")
    assert leak is not None
    query = f"My soil is dust by noon. {leak.choices['shared_house'].cues[0]} Which crops cope best?"
    values = {"query": query, "exposed_states": exposed, "state_choices": choices, "reading": exposed, "language": "English"}
    values["other_states"] = {}
    for seed in range(10):
        text = ask("session_queries/refine", {**values, "leaked": {"home_type": "shared_house"}}, seed=seed)["query"]
        assert read_value(text, name="home_type", values=SCHEMA["home_type"]) is None


def test_a_variable_that_the_bank_does_not_know_is_served_all_the_same() -> None:
    schema = {"hat {size} <b>": ["very tiny hats", "huge straw hats"], "evenings": ["choir singing", "chess club"]}
    state = {name: choices[0] for name, choices in schema.items()}
    told = {"state_schema": schema, "initial_state": state, "other_states": dict[str, str](), "words": [30], "whole": False}
    values = {**OF_MESSAGES, **told}
    queries = ask("session_queries/initial", values)["queries"]
    assert sorted(name for query in queries for name in query["exposed_states"]) == sorted(schema)
    info = {"question": "Which hat?", "required_info": schema, "language": "English"}
    variants = {"variant_1": state, "variant_2": {**state, "evenings": "chess club"}}
    assert len(set(ask("answers/draft", {**info, "variants": variants}).values())) == 2


def test_a_follow_up_moves_on_without_repeating_itself() -> None:
    values = {**COMMON, "current_date": "2021-01-01", "query": "Hi", "state_schema": SCHEMA}
    first = ask("evaluation/follow_up", {**values, "context": "assistant: Sow lettuce."})
    again = ask("evaluation/follow_up", {**values, "context": f"assistant: Sow lettuce.\nuser: {first}"})
    assert first != again
    settled = {name: read_value(first, name=name, values=choices) for name, choices in SCHEMA.items()}
    assert set(settled.values()) == {None}
