"""The forecast says what a variant will take, and how sure it is."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.amemgym.pipeline import STAGES as CHAIN
from assets.engine.stage import amount
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import expect_recipe, load_recipe
from pipelines.planning.defaults import load_defaults
from pipelines.planning.forecast import StageForecast, Terms
from pipelines.planning.observed import NO_MARGIN, Basis, basis_for
from pipelines.planning.prompt_calls import ALWAYS_CALLED, PROMPT_CALLS, PromptUsage, RecipeSize, UserUsage
from pipelines.planning.users import STAGES, forecast
from pipelines.resources.ledger.prices import OwnPrice, Prices
from tests.pipelines.ledger.ledger_stores import one_model
from tests.support.small import small_recipe

TERMS = Terms(Prices({"m-1": OwnPrice(input=1, output=10)}), calls_at_once=64, users_at_once=32)


def amemgym_recipe(variant: str) -> AMemGymRecipe:
    return expect_recipe(load_recipe(variant), AMemGymRecipe)


def user(calls: int, *, tokens: int = 1000) -> UserUsage:
    """A user for whom every prompt was called so many times."""
    return {name: PromptUsage(calls, calls * tokens, calls * 100) for name in PROMPT_CALLS}


def basis(*users: UserUsage) -> Basis:
    defaults = load_defaults()
    return Basis("here", users, 1.0, NO_MARGIN, defaults.call_time, dict.fromkeys(PROMPT_CALLS, 0.5))


def whole(forecasts: Sequence[StageForecast]) -> StageForecast:
    return forecasts[-1]


def test_every_prompt_of_the_stages_says_how_often_it_is_called() -> None:
    assert set(PROMPT_CALLS) == {name for stage in CHAIN for name in stage.prompts}
    assert set(STAGES) == {stage.name for stage in CHAIN if stage.prompts}


def test_the_shipped_defaults_cover_what_every_user_asks() -> None:
    for measured in load_defaults().measured.values():
        assert measured.prompts.keys() >= ALWAYS_CALLED
        assert measured.prompts.keys() <= PROMPT_CALLS.keys()


def test_the_shipped_defaults_are_measured_on_the_shipped_recipes() -> None:
    for variant, measured in load_defaults().measured.items():
        assert measured.size == RecipeSize.of(amemgym_recipe(variant))


def test_users_that_are_all_alike_leave_no_doubt() -> None:
    forecasts = forecast(one_model(num_users=3), basis(*[user(2)] * 4), terms=TERMS)
    assert [each.name for each in forecasts] == [*STAGES, "small"]
    calls = 3 * 2 * len(PROMPT_CALLS)  # users, calls of each prompt
    assert (whole(forecasts).calls.low, whole(forecasts).calls.mid, whole(forecasts).calls.high) == (calls, calls, calls)
    cost = whole(forecasts).cost_usd
    assert cost is not None
    assert cost.mid == pytest.approx(calls * (1000 * 1 + 100 * 10) / 1e6)


def test_time_is_bounded_by_slots_and_by_the_longest_chain() -> None:
    many = forecast(one_model(num_users=1000), basis(user(1)), terms=Terms(TERMS.prices, 10, 1000))
    assert whole(many).seconds.mid == pytest.approx(1000 * len(PROMPT_CALLS) * 0.5 / 10)
    single = forecast(one_model(num_users=1), basis(user(5)), terms=TERMS)
    trajectory = next(each for each in single if each.name == "state_trajectory")
    # The updates wait for each other; the initial state and the summaries, read and told anew, take a call's time each.
    assert trajectory.seconds.mid == pytest.approx(3 * 0.5 + 5 * 0.5)


@settings(max_examples=30)
@given(st.lists(st.integers(min_value=1, max_value=50), min_size=2, max_size=8))
def test_the_interval_holds_what_is_expected_or_lies_close_to_it(calls: list[int]) -> None:
    total = whole(forecast(one_model(), basis(*map(user, calls)), terms=TERMS)).calls
    assert total.low <= total.high
    assert len(PROMPT_CALLS) * 2 * min(calls) <= total.low
    assert total.high <= len(PROMPT_CALLS) * 2 * max(calls)
    assert len(PROMPT_CALLS) * 2 * min(calls) <= total.mid <= len(PROMPT_CALLS) * 2 * max(calls)


def test_more_observed_users_give_a_narrower_interval() -> None:
    few = whole(forecast(one_model(num_users=50), basis(user(1), user(3)), terms=TERMS)).calls
    many = whole(forecast(one_model(num_users=50), basis(*[user(1), user(3)] * 20), terms=TERMS)).calls
    assert many.high - many.low < few.high - few.low


def test_the_same_basis_gives_the_same_forecast() -> None:
    assert forecast(one_model(), basis(user(1), user(9)), terms=TERMS) == forecast(
        one_model(), basis(user(1), user(9)), terms=TERMS
    )


def test_an_unknown_price_leaves_the_cost_open_and_the_tokens_known() -> None:
    total = whole(forecast(one_model("made-up"), basis(user(1)), terms=TERMS))
    assert total.cost_usd is None
    assert total.input_tokens.mid == 2 * len(PROMPT_CALLS) * 1000


def test_cached_input_has_its_own_price_but_in_batch_jobs() -> None:
    terms = Terms(Prices({"m-1": OwnPrice(input=1, output=0, cached_input=0.25)}), calls_at_once=64, users_at_once=32)
    cached = basis({"questions/draft": PromptUsage(1, 2000, 100, 1000)})
    total = whole(forecast(one_model(num_users=1), cached, terms=terms))
    assert total.cached_tokens.mid == 1000
    assert total.cost_usd is not None
    assert total.cost_usd.mid == pytest.approx((1000 + 1000 * 0.25) / 1e6)
    batched = {role: {"model": "m-1", "transport": "batch"} for role in ("writer", "judge", "user_simulator")}
    half = whole(forecast(small_recipe(models=batched, num_users=1), cached, terms=terms)).cost_usd
    assert half is not None
    assert half.mid == pytest.approx(2000 / 1e6 / 2)


def test_calls_in_batch_jobs_are_counted_at_half_price() -> None:
    batched = {role: {"model": "m-1", "transport": "batch"} for role in ("writer", "judge", "user_simulator")}
    live, half = (
        whole(forecast(one, basis(user(2)), terms=TERMS)).cost_usd for one in (one_model(), small_recipe(models=batched))
    )
    assert live is not None
    assert half is not None
    assert half.mid == pytest.approx(live.mid / 2)


def test_calls_of_the_defaults_grow_with_the_recipes_counts() -> None:
    defaults, base = load_defaults(), RecipeSize.of(amemgym_recipe("base"))
    nearest = defaults.nearest(base)
    assert nearest[0] == "base"
    longer = defaults.user(base.model_copy(update={"num_periods": 12}))
    assert longer["state_trajectory/update"].calls == pytest.approx(defaults.user(base)["state_trajectory/update"].calls * 1.2)
    plain = base.gates.model_copy(update={"votes_needed": 1, "reverse": False})
    once = defaults.user(base.model_copy(update={"gates": plain}))
    assert once["answers/check"].calls == pytest.approx(defaults.user(base)["answers/check"].calls / 2)
    assert once["answers/choose"].calls == 0


def test_without_a_ledger_the_defaults_are_used_and_widened() -> None:
    shipped = asyncio.run(basis_for(amemgym_recipe("base"), None))
    assert "defaults" in shipped.source
    total = whole(forecast(amemgym_recipe("base"), shipped, terms=TERMS)).calls
    assert (total.low / total.mid, total.high / total.mid) == (pytest.approx(0.7), pytest.approx(1.8))


def test_as_many_opening_queries_are_expected_as_the_recipe_wants_groups() -> None:
    calls = PROMPT_CALLS["session_queries/initial"].per_item
    recipes = {most: small_recipe(num_questions=3, max_states_per_query=most) for most in (1, 2, 3)}
    counts = {most: amount(calls, recipe) for most, recipe in recipes.items()}
    assert counts == {1: 6.0, 2: 3.0, 3: 1.0}
