"""Laws of the lives that the embedded model writes, on a few users of `base`."""

import re
from collections import Counter
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
from tests.pipelines.embedded.embedded_requests import PROFILE
from tests.validation.clean_set import set_by_embedded_model

SIZE = {"num_users": 2, "num_reserve": 2, "audit": {"enabled": False}}


STOCK_BRIDGE = re.compile(  # words that join an utterance's sentences, or announce its subject, and say nothing else
    r"\b(?:I could use some advice on|I have a question about|I've been thinking about|Here is where things stand with"
    r"|With that in mind|Given that,|Now I wonder:|My question:|So, \w|(?:About|A question about|On the subject of) [^.?:]+:"
    r"|I(?:'m)? ask(?:ing)? because|Some background:|Some news from me:)"
)


@pytest.fixture(scope="module")
def lives() -> Sequence[Episode]:
    recipe = AMemGymRecipe.model_validate({**load_recipe("base").model_dump(mode="json"), **SIZE})
    return set_by_embedded_model(recipe).rows("episodes")


def requested_topics(query: str) -> set[str]:
    """Return the topics of which the query makes a request."""
    return {topic.topic for topic in load_bank().topics if any(request in query for request in topic.requests)}


def test_no_state_holds_values_that_exclude_each_other_or_that_age_place_or_marriage_deny(lives: Sequence[Episode]) -> None:
    assert [len(user.periods) for user in lives] == [11, 11]
    for user in lives:
        profile = parse_profile(user.user_profile.formatted_str)
        for period in user.periods:
            values = {name: (value,) for name, value in period.state.items()}
            assert exclusive_pairs(values) == []
            assert unfit_values(values, profile) == {}


def test_every_session_asks_on_a_topic_of_the_users_questions_without_a_stock_bridge(lives: Sequence[Episode]) -> None:
    known = load_bank().topic_of_question
    for user in lives:
        own = {known[question.query].topic for question in user.questions if question.query in known}
        for session in [session for period in user.periods for session in period.sessions]:
            # Noise may be about anything.
            assert session.is_noise or own & requested_topics(session.query), session.query
            assert not STOCK_BRIDGE.search(session.query), session.query


def test_most_questions_are_the_users_own(lives: Sequence[Episode]) -> None:
    users_asking = Counter(query for user in lives for query in {question.query for question in user.questions})
    shared = [users for users in users_asking.values() if users > 1]
    assert sum(shared) <= 0.25 * users_asking.total()


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
