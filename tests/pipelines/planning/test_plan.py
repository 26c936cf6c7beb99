"""The forecast says what a variant will take, and how sure it is."""

from collections.abc import Sequence

import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.engine.stage import amount
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import expect_recipe, load_recipe
from pipelines.planning.earlier_runs import EarlierRun
from pipelines.planning.forecast import StageForecast, Terms, basis_for, cost_of, forecast_variant
from pipelines.planning.usage import ItemUsage, PromptUsage, calls_by_line, expected_calls, expected_usage, read_measured
from pipelines.resources.ledger.prices import OwnPrice, Prices
from tests.pipelines.ledger.ledger_stores import one_model
from tests.support.small import small_recipe

PRICES = Prices({"m-1": OwnPrice(input=1, output=10, cached_input=0.25)})
TERMS = Terms(PRICES, calls_at_once=64, items_at_once=32)
DRAFT = ("questions", "questions/draft")


def stages(recipe: AMemGymRecipe, terms: Terms = TERMS) -> Sequence[StageForecast]:
    """The forecast where the ledger knows nothing."""
    return forecast_variant(AMEMGYM, recipe, None, terms).stages


def test_every_prompt_of_the_stages_says_how_often_it_is_called() -> None:
    assert {prompt for _, prompt in calls_by_line(AMEMGYM)} == {prompt for stage in AMEMGYM.stages for prompt in stage.prompts}


def test_the_shipped_defaults_cover_what_every_user_asks_and_are_measured_on_the_shipped_recipes() -> None:
    always = {prompt for (_, prompt), calls in calls_by_line(AMEMGYM).items() if calls.always}
    for variant, measured in read_measured().items():
        assert always <= measured.prompts.keys() <= {prompt for _, prompt in calls_by_line(AMEMGYM)}
        assert measured.expected_calls == pytest.approx(sum(expected_calls(AMEMGYM, load_recipe(variant)).values()), abs=0.01)


def test_the_whole_is_the_sum_of_all_stages_that_ask() -> None:
    *each, whole = stages(one_model(num_users=3))
    assert [stage.name for stage in each] == list(AMEMGYM.asking_stages)
    assert whole.name == "small"
    assert whole.calls.mid == pytest.approx(sum(stage.calls.mid for stage in each))
    assert max(stage.seconds.high for stage in each) < whole.seconds.high <= sum(stage.seconds.high for stage in each) + 1e-9


def test_time_is_bounded_by_slots_and_by_calls_that_wait_for_each_other() -> None:
    narrow, wide = (stages(one_model(num_users=1000), Terms(PRICES, slots, 1000))[-1].seconds.mid for slots in (10, 20))
    assert narrow == pytest.approx(2 * wide)
    short, long = (stages(one_model(num_users=1, num_periods=periods), Terms(PRICES, 999, 9)) for periods in (3, 6))
    seconds = [next(stage for stage in each if stage.name == "state_trajectory").seconds.mid for each in (short, long)]
    assert seconds[1] == pytest.approx(2 * seconds[0])


def test_an_unknown_price_leaves_the_cost_open_and_the_tokens_known() -> None:
    whole = stages(one_model("made-up"))[-1]
    assert whole.cost_usd is None
    assert whole.input_tokens.mid > 0


def test_cached_input_has_its_own_price_but_in_batch_jobs_at_half_price() -> None:
    item: ItemUsage = {DRAFT: PromptUsage(1, 2000, 100, 1000)}
    assert cost_of(item, recipe=one_model(), prices=PRICES) == pytest.approx((1000 + 1000 * 0.25 + 100 * 10) / 1e6)
    batched = small_recipe(models={role: {"model": "m-1", "transport": "batch"} for role in ("writer", "judge")})
    assert cost_of(item, recipe=batched, prices=PRICES) == pytest.approx((2000 + 100 * 10) / 1e6 / 2)


def test_calls_of_the_defaults_grow_with_the_recipes_counts() -> None:
    base = expect_recipe(load_recipe("base"), AMemGymRecipe)
    longer = base.model_copy(update={"num_periods": base.num_periods + 2})
    strict = base.model_copy(update={"gates": base.gates.model_copy(update={"votes_needed": 1, "reverse": False})})
    usage, of_longer, of_strict = (expected_usage(AMEMGYM, recipe) for recipe in (base, longer, strict))
    update, check = ("state_trajectory", "state_trajectory/update"), ("answers", "answers/check")
    assert of_longer[update].calls == pytest.approx(usage[update].calls * longer.num_periods / base.num_periods)
    assert of_strict[check].calls == pytest.approx(usage[check].calls / 2)
    assert ("answers", "answers/choose") not in of_strict


def test_without_a_ledger_the_defaults_are_used_and_widened() -> None:
    forecast = forecast_variant(AMEMGYM, AMemGymRecipe(variant="base"), None, TERMS)
    assert forecast.source.startswith("the shipped defaults")
    assert not forecast.timed
    total = forecast.whole.calls
    assert (total.low / total.mid, total.high / total.mid) == (pytest.approx(0.7), pytest.approx(1.8))


def users(*calls: int) -> list[ItemUsage]:
    """Users for whom each prompt was called so many times."""
    return [{line: PromptUsage(each, each * 1000, each * 100) for line in calls_by_line(AMEMGYM)} for each in calls]


def test_users_that_are_all_alike_leave_no_doubt_and_many_leave_less_than_few() -> None:
    recipe = one_model(num_users=50)
    expected = expected_usage(AMEMGYM, recipe)

    def width(*calls: int) -> float:
        margin = basis_for(AMEMGYM, recipe, [EarlierRun(expected, users(*calls), 1.0)]).margin
        return margin.high - margin.low

    assert width(*[2] * 5) == 0
    assert 0 < width(*[1, 3] * 20) < width(*[1, 3] * 3)
    assert width(2, 2) == pytest.approx(1.8 - 0.7)


def test_as_many_opening_queries_are_expected_as_the_recipe_wants_groups() -> None:
    calls = calls_by_line(AMEMGYM)["session_queries", "session_queries/initial"].per_item
    recipes = {most: small_recipe(num_questions=3, max_states_per_query=most) for most in (1, 2, 3)}
    counts = {most: amount(calls, recipe) for most, recipe in recipes.items()}
    assert counts == {1: 6.0, 2: 3.0, 3: 1.0}
