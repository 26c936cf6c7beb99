"""Laws of the lives that the embedded model writes, on a few users of `base`; `tests.bench.lives` measures the rest."""

from collections.abc import Sequence

import pytest

from assets.amemgym.records.episode import Episode
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import load_recipe
from pipelines.embedded.amemgym.plausibility import (
    exclusive_pairs,
    fitting_values,
    load_table,
    parse_profile,
    unfit_values,
)
from pipelines.embedded.bank import load_bank
from tests.bench.lives import (
    conflicting_states,
    repeated_questions,
    requested_topics,
    sessions_off_topic,
    stock_bridges,
    unfit_states,
)
from tests.pipelines.embedded.embedded_requests import PROFILE
from tests.validation.clean_set import set_by_embedded_model

SIZE = {"num_users": 2, "num_reserve": 2, "audit": {"enabled": False}}


@pytest.fixture(scope="module")
def lives() -> Sequence[Episode]:
    recipe = AMemGymRecipe.model_validate({**load_recipe("base").model_dump(mode="json"), **SIZE})
    return set_by_embedded_model(recipe).rows("episodes")


def test_no_state_holds_two_values_that_exclude_each_other(lives: Sequence[Episode]) -> None:
    assert conflicting_states(lives).among == 2 * 11
    assert not conflicting_states(lives).cases


def test_no_state_holds_a_value_that_age_place_or_marriage_deny(lives: Sequence[Episode]) -> None:
    assert not unfit_states(lives).cases


def test_every_session_asks_on_a_topic_of_the_users_questions(lives: Sequence[Episode]) -> None:
    assert not sessions_off_topic(lives).cases


def test_sessions_have_no_stock_bridges_and_questions_are_the_users_own(lives: Sequence[Episode]) -> None:
    assert not stock_bridges(lives).cases
    assert repeated_questions(lives).percent <= 25


def test_requests_name_one_topic_only() -> None:
    requests = [request for topic in load_bank().topics for request in topic.requests]
    assert all(len(requested_topics(request)) == 1 for request in requests)


def test_the_sea_is_far_from_some_and_a_half_marathon_from_others() -> None:
    values = load_bank().values
    unfit = unfit_values(values, parse_profile(PROFILE))
    assert "ocean_beach" in unfit["usual_swimming_place"]
    assert "primary_running_goal" not in unfit
    older = parse_profile(PROFILE.replace("Age: 41", "Age: 68"))
    assert set(unfit_values(values, older)["primary_running_goal"]) == {"faster_race_time", "longer_distances"}


def test_what_the_interests_tell_is_known() -> None:
    player = parse_profile(PROFILE.replace("Running", "Recreational soccer league"))
    assert fitting_values(player) == {"team_sport_currently_played": "small_sided_soccer"}


def test_exclusive_pairs_are_those_of_the_choices_alone() -> None:
    choices = {"home_type": ("small_apartment",), "home_repair_toolkit": ("improvised_household_items", "full_power_workshop")}
    assert exclusive_pairs(choices) == [{"home_type": "small_apartment", "home_repair_toolkit": "full_power_workshop"}]
    assert exclusive_pairs({"home_type": ("small_apartment",)}) == []


def test_the_table_of_what_can_be_true_speaks_of_the_banks_values_alone() -> None:
    table = load_table()
    named = [pair for row in table.exclusive for side in (row.one, row.other) for pair in side.items()]
    named += [pair for row in table.unfit for pair in row.values.items()]
    named += [(name, (value,)) for row in table.fitting for name, value in row.values.items()]
    values = load_bank().values
    assert [(name, unknown) for name, own in named if (unknown := set(own).difference(values.get(name, ())))] == []
