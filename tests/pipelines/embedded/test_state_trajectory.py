"""Initial states, updates and events of the embedded model, asked with the project's real prompts."""

from collections.abc import Mapping
from typing import Any

from tests.pipelines.embedded.embedded_requests import PROFILE, SCHEMA, STATE, ask, events, readings


def update(**changes: object) -> Any:
    values: dict[str, Any] = {
        "user_profile": PROFILE,
        "start_date": "2020-10-01",
        "state_schema": {name: [v for v in values if v != STATE[name]] for name, values in SCHEMA.items()},
        "current_state": STATE,
        "story": {},
        "earlier_values": {name: [] for name in SCHEMA},
        "change_days": dict.fromkeys(SCHEMA, "2020-11-05"),
        "period": {"step": 1, "steps": 10, "from": "2020-10-01", "to": "2021-01-01"},
        "num_changes": 3,
        "max_changes_per_state": 3,
        "exclusive": (),
        "due": None,
        "questions": None,
        "answers": None,
        "language": "English",
    }
    objection = str(changes.pop("objection", ""))
    return ask("state_trajectory/update", {**values, **changes}, objection=objection)


def earlier(counts: Mapping[str, int]) -> dict[str, list[str]]:
    """Earlier values of variables that changed so often."""
    return {name: ["another"] * count for name, count in counts.items()}


def test_the_initial_state_is_legal() -> None:
    schema = {
        "user_profile": PROFILE,
        "start_date": "2020-10-01",
        "num_total_months": 30,
        "state_schema": SCHEMA,
        "exclusive": (),
    }
    state = ask("state_trajectory/initial", schema)
    assert all(state[name] in values for name, values in SCHEMA.items())


def test_updates_are_legal_and_prefer_what_changed_seldom() -> None:
    counts = {**dict.fromkeys(SCHEMA, 0), "home_type": 2, "physical_condition": 2}
    reply = update(earlier_values=earlier(counts))
    assert len(reply["updated"]) == 3
    assert set(reply["updated"]) == set(SCHEMA) - {"home_type", "physical_condition"}
    assert all(value in SCHEMA[name] and value != STATE[name] for name, value in reply["updated"].items())


def test_a_summary_names_neither_variables_nor_values() -> None:
    reply = update()
    words = [*SCHEMA, *(value for values in SCHEMA.values() for value in values)]
    assert not [word for word in words if word in reply["period_summary"] or word.replace("_", " ") in reply["period_summary"]]


def test_what_is_due_to_change_changes_though_another_change_is_blocked() -> None:
    # Money cannot move unless stress does, which would take the place of a variable that is due.
    states = {
        "place_where_savings_are_kept": "everyday_checking_account",
        "monthly_spare_money": "lives_hand_to_mouth",
        "comfort_with_technology": "at_ease_with_apps",
        "everyday_stress_main_source": "money_worries",
    }
    offered = {
        "place_where_savings_are_kept": ["cash_at_home"],
        "monthly_spare_money": ["a_comfortable_amount"],
        "comfort_with_technology": ["manages_with_help"],
        "everyday_stress_main_source": ["endless_clutter"],
    }
    due = ["place_where_savings_are_kept", "comfort_with_technology"]
    reply = update(
        state_schema=offered,
        current_state=states,
        earlier_values=earlier({name: int(name not in due) for name in states}),
        change_days=dict.fromkeys(states, "2020-11-05"),
        exclusive=[{"monthly_spare_money": "a_comfortable_amount", "everyday_stress_main_source": "money_worries"}],
        due={"of": due, "at_least": 2},
        objection=f"At least 2 must change now; for instance, change {[*due, 'monthly_spare_money']} instead.",
    )
    assert set(due) <= reply["updated"].keys()


def test_an_objection_to_an_update_leads_to_the_least_changed_variables() -> None:
    counts = {**dict.fromkeys(SCHEMA, 2), "home_type": 0, "physical_condition": 1}
    reply = update(
        earlier_values=earlier(counts), num_changes=2, objection="3 variables change; let at least 2 and at most 2 change."
    )
    assert set(reply["updated"]) == {"home_type", "physical_condition"}


def test_variables_that_are_due_change_first() -> None:
    counts = {**dict.fromkeys(SCHEMA, 0), "home_type": 1}
    reply = update(
        earlier_values=earlier(counts), num_changes=3, due={"of": ["home_type", "physical_condition"], "at_least": 2}
    )
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
    had = {**earlier(dict.fromkeys(SCHEMA, 0)), "home_type": [STATE["home_type"], "small_apartment"]}
    offered = {"home_type": ["house_with_large_yard", "small_apartment"]}
    reply = update(state_schema=offered, earlier_values=had, num_changes=1)
    assert reply["updated"] == {"home_type": "house_with_large_yard"}


def test_events_cause_every_change_once_and_share_only_a_topic() -> None:
    changed = ["vegetable_growing_trouble", "usual_running_surface", "home_type"]
    for seed in range(10):
        drafted = events(changed, seed=seed)
        assert sorted(name for event in drafted for name in event["states"]) == sorted(changed)
        assert all(event["states"] in ([event["states"][0]], [changed[0], changed[2]]) for event in drafted)
        for event in drafted:
            assert readings(event["event"], event["states"]) == {name: SCHEMA[name][0] for name in event["states"]}
    assert all(len(event["states"]) == 1 for event in events(changed, objection="Every change needs exactly one event."))
