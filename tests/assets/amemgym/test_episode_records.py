"""A trajectory or an episode whose parts contradict each other cannot be built."""

from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.state import StateTrajectory, StateUpdate
from tests.assets.records.defects import Defect
from tests.support import scenario
from tests.support.scenario import CHOICES, DIET, EVENINGS, GOAL, varied


def test_the_scenario_is_a_right_episode() -> None:
    episode = scenario.episode()
    assert Episode.model_validate_json(episode.model_dump_json()) == episode
    assert [period.update_counts for period in episode.periods] == [
        {DIET: 0, GOAL: 0, EVENINGS: 0},
        {DIET: 1, GOAL: 1, EVENINGS: 0},
        {DIET: 1, GOAL: 1, EVENINGS: 1},
    ]


# Episode


def period_of(index: int, **changes: Any) -> Episode:
    periods = list(scenario.episode().periods)
    periods[index] = varied(periods[index], **changes)
    return scenario.episode(periods=periods)


def session_of(period: int, **changes: Any) -> Episode:
    first, *others = scenario.episode().periods[period].sessions
    return period_of(period, sessions=(varied(first, **changes), *others))


def state_of(period: int, **values: str) -> Episode:
    return period_of(period, state={**scenario.episode().periods[period].state, **values})


def question_of(**changes: Any) -> Episode:
    first, *others = scenario.episode().questions
    return scenario.episode(questions=(varied(first, **changes), *others))


def reversed_state() -> Episode:
    return period_of(1, state=dict(reversed(scenario.episode().periods[1].state.items())))


def without_option(choice_id: str) -> Episode:
    return question_of(answer_choices=[c for c in scenario.episode().questions[0].answer_choices if c.choice_id != choice_id])


def doubled_option() -> Episode:
    choices = scenario.episode().questions[0].answer_choices
    return question_of(answer_choices=[*choices, varied(choices[0], choice_id="q01-c4")])


EPISODE_DEFECTS: dict[str, tuple[Defect, str]] = {
    "value is no choice": (lambda: state_of(1, **{DIET: "pescatarian"}), "Period 1 sets 'diet' to 'pescatarian'"),
    "variable is unknown": (lambda: state_of(1, mood="fine"), "state of period 1 does not assign exactly"),
    "variables are in another order": (reversed_state, "state of period 1 does not assign exactly"),
    "update is not exposed": (lambda: period_of(2, sessions=()), r"sessions of period 2 .* \['evenings \{free\}'\]"),
    "wrong value is exposed": (
        lambda: session_of(2, exposed_states={EVENINGS: CHOICES[EVENINGS][2]}),
        "sessions of period 2 do not expose exactly",
    ),
    "unchanged variable is exposed": (
        lambda: session_of(2, exposed_states={EVENINGS: "Tue | Thu", DIET: "vegetarian"}),
        r"sessions of period 2 .* \['diet'\]",
    ),
    "initial state is not wholly exposed": (
        lambda: session_of(0, exposed_states={DIET: "eats everything"}),
        r"sessions of period 0 .* \['training_goal'\]",
    ),
    "golden option is another": (lambda: question_of(golden=("q01-c1", "q01-c1", "q01-c3")), "In period 1, question q01"),
    "no option matches": (lambda: without_option("q01-c3"), r"In period 1, .* match the state are \[\]"),
    "two options match": (doubled_option, r"In period 0, .* \['q01-c1', 'q01-c4'\]"),
    "golden option is missing": (lambda: question_of(golden=("q01-c1", "q01-c3")), "q01 has 2 golden choices for 3 periods"),
    "golden option is too many": (lambda: question_of(golden=("q01-c1", *["q01-c3"] * 3)), "q01 has 4 golden choices for 3"),
    "state does not follow from updates": (lambda: state_of(2, **{EVENINGS: "{none}"}), "state of period 2 does not follow"),
    "periods do not chain": (lambda: period_of(1, period_start=date(2020, 9, 1)), "Period 1 does not begin where"),
    "profile of another user": (lambda: scenario.episode(user_profile=scenario.profile(user_id="v")), "belongs to user 'v'"),
    "schema of another user": (lambda: scenario.episode(state_schema=scenario.schema(user_id="v")), "belongs to user 'v'"),
    "question needs an unknown variable": (lambda: question_of(required_info=(DIET, "mood")), r"q01 .* \['mood'\]"),
}


@pytest.mark.parametrize(("build", "told"), EPISODE_DEFECTS.values(), ids=EPISODE_DEFECTS)
def test_an_episode_that_contradicts_itself_cannot_be_built(build: Defect, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        build()


# StateTrajectory


def trajectory_with(place: int, **changes: Any) -> StateTrajectory:
    periods = list(scenario.trajectory().periods)
    periods[place] = varied(periods[place], **changes)
    return StateTrajectory(user_id="u", periods=tuple(periods))


def updated_twice() -> StateTrajectory:
    (last,) = scenario.trajectory().periods[2].updates
    back = StateUpdate(variable=EVENINGS, old=last.new, new="every evening – 毎晩")
    return trajectory_with(2, updates=(last, back), state={**scenario.STATES[2], EVENINGS: back.new})


FROM_DAILY = StateUpdate(variable=EVENINGS, old="every evening – 毎晩", new="Tue | Thu")
OF_MOOD = StateUpdate(variable="mood", old="low", new="high")
TRAJECTORY_DEFECTS: dict[str, tuple[Defect, str]] = {
    "no period": (lambda: StateTrajectory(user_id="u", periods=()), "has no period"),
    "first period starts somewhere": (lambda: trajectory_with(0, start=date(2020, 9, 1)), "Period 0 has neither"),
    "first period has updates": (lambda: trajectory_with(0, updates=(OF_MOOD,)), "Period 0 has neither"),
    "first period has another index": (lambda: trajectory_with(0, index=1), "Period 0 has neither"),
    "index is skipped": (lambda: trajectory_with(1, index=2), "Period 2 does not begin where period 0 ends"),
    "gap between periods": (lambda: trajectory_with(2, start=date(2021, 1, 2)), "Period 2 does not begin where"),
    "period ends before it starts": (lambda: trajectory_with(1, end=date(2020, 9, 30)), "Period 1 does not begin where"),
    "variable updated twice": (updated_twice, r"Period 2 updates \['evenings \{free\}'\] twice"),
    "old value is another": (
        lambda: trajectory_with(2, updates=(FROM_DAILY,)),
        "from 'every evening – 毎晩', which it was not",
    ),
    "unknown variable updated": (lambda: trajectory_with(2, updates=(OF_MOOD,)), "changes 'mood' from 'low', which it was not"),
    "update without effect on the state": (lambda: trajectory_with(2, state=scenario.STATES[1]), "does not follow from its"),
    "state changes without update": (lambda: trajectory_with(2, updates=()), "does not follow from its updates"),
    "update to the same value": (lambda: StateUpdate(variable="a", old="x", new="x"), "to the same value"),
}


@pytest.mark.parametrize(("build", "told"), TRAJECTORY_DEFECTS.values(), ids=TRAJECTORY_DEFECTS)
def test_a_trajectory_whose_states_do_not_follow_cannot_be_built(build: Defect, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        build()
