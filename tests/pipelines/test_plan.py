"""The forecast says what a variant will take, from runs like it where there are, and how sure it is."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.chain import STAGES as CHAIN
from assets.ports import CallLabels, LanguageModel, ModelReply
from assets.recipes import load_recipe
from assets.records.recipe import Recipe
from pipelines.planning.basis import basis_for
from pipelines.planning.defaults import load_defaults
from pipelines.planning.forecast import NO_MARGIN, Basis, Forecast, Terms, forecast
from pipelines.planning.observed import Use, UserUse, observed_runs
from pipelines.planning.shape import ALWAYS, HABITS, STAGES, Shape, fingerprints, stage_of
from pipelines.resources.ledger_book import Book, BookedCalls
from pipelines.resources.prices import OwnPrice, Prices
from tests.pipelines.booked import PLACE, Counterpart, UsingModel, call, counterpart
from tests.support import small_recipe

TERMS = Terms(Prices({"m-1": OwnPrice(input=1, output=10)}), calls_at_once=64, users_at_once=32)


def one_model(model: str = "m-1", **changes: object) -> Recipe:
    """A small recipe whose every role has the same model."""
    roles = {role: {"model": model} for role in ("writer", "judge", "user_simulator")}
    return small_recipe(models=roles, **changes)


def user(calls: int, *, tokens: int = 1000) -> UserUse:
    """Every prompt asked so often."""
    return {name: Use(calls, calls * tokens, calls * 100) for name in HABITS}


def basis(*users: UserUse) -> Basis:
    defaults = load_defaults()
    return Basis("here", users, 1.0, NO_MARGIN, defaults.pace, dict.fromkeys(HABITS, 0.5))


def whole(told: Sequence[Forecast]) -> Forecast:
    return told[-1]


async def live(stores: Counterpart, recipe: Recipe, *, users: int, prompts: Sequence[str] = tuple(HABITS)) -> None:
    """Let users ask every prompt once, as a run would."""
    book = Book(stores.ledger, Prices({}), recipe, "small", PLACE)
    await book.begin()
    account: LanguageModel = BookedCalls(UsingModel(), book)
    for number in range(users):
        for place, prompt in enumerate(prompts):
            labels = CallLabels(stage_of(prompt), f"u-{number}", prompt, fingerprints()[prompt])
            await account.complete(call(number * 100 + place, model=recipe.models.writer.model, labels=labels))


def based_on(folder: Path, recipe: Recipe, *, run: Recipe, users: int, prompts: Sequence[str] = tuple(HABITS)) -> Basis:
    """What a forecast for the recipe rests on after this run."""

    async def use() -> Basis:
        with counterpart(folder) as stores:
            await live(stores, run, users=users, prompts=prompts)
            return await basis_for(recipe, stores.ledger)

    return asyncio.run(use())


def test_every_prompt_of_the_stages_has_a_habit() -> None:
    assert set(HABITS) == {name for stage in CHAIN for name in stage.prompts}
    assert set(STAGES) == {stage.name for stage in CHAIN if stage.prompts}


def test_the_shipped_defaults_cover_what_every_user_asks() -> None:
    for measured in load_defaults().measured.values():
        assert measured.prompts.keys() >= ALWAYS
        assert measured.prompts.keys() <= HABITS.keys()


def test_the_shipped_defaults_are_measured_on_the_shipped_recipes() -> None:
    for variant, measured in load_defaults().measured.items():
        assert measured.shape == Shape.of(load_recipe(variant))


def test_users_that_are_all_alike_leave_no_doubt() -> None:
    told = forecast(one_model(num_users=3), basis(*[user(2)] * 4), terms=TERMS)
    assert [each.name for each in told] == [*STAGES, "small"]
    calls = 3 * 2 * len(HABITS)  # users, calls of each prompt
    assert (whole(told).calls.low, whole(told).calls.mid, whole(told).calls.high) == (calls, calls, calls)
    cost = whole(told).cost_usd
    assert cost is not None
    assert cost.mid == pytest.approx(calls * (1000 * 1 + 100 * 10) / 1e6)


def test_time_is_bounded_by_slots_and_by_the_longest_chain() -> None:
    many = forecast(one_model(num_users=1000), basis(user(1)), terms=Terms(TERMS.prices, 10, 1000))
    assert whole(many).seconds.mid == pytest.approx(1000 * len(HABITS) * 0.5 / 10)
    single = forecast(one_model(num_users=1), basis(user(5)), terms=TERMS)
    trajectory = next(each for each in single if each.name == "state_trajectory")
    assert trajectory.seconds.mid == pytest.approx(0.5 + 5 * 0.5)  # the updates wait for each other, the rest goes at once


@settings(max_examples=30)
@given(st.lists(st.integers(min_value=1, max_value=50), min_size=2, max_size=8))
def test_the_interval_holds_what_is_expected_or_lies_close_to_it(calls: list[int]) -> None:
    told = whole(forecast(one_model(), basis(*map(user, calls)), terms=TERMS)).calls
    assert told.low <= told.high
    assert len(HABITS) * 2 * min(calls) <= told.low
    assert told.high <= len(HABITS) * 2 * max(calls)
    assert len(HABITS) * 2 * min(calls) <= told.mid <= len(HABITS) * 2 * max(calls)


def test_more_observed_users_give_a_narrower_interval() -> None:
    few = whole(forecast(one_model(num_users=50), basis(user(1), user(3)), terms=TERMS)).calls
    many = whole(forecast(one_model(num_users=50), basis(*[user(1), user(3)] * 20), terms=TERMS)).calls
    assert many.high - many.low < few.high - few.low


def test_the_same_basis_gives_the_same_forecast() -> None:
    assert forecast(one_model(), basis(user(1), user(9)), terms=TERMS) == forecast(
        one_model(), basis(user(1), user(9)), terms=TERMS
    )


def test_an_unknown_price_leaves_the_cost_open_and_the_tokens_known() -> None:
    told = whole(forecast(one_model("made-up"), basis(user(1)), terms=TERMS))
    assert told.cost_usd is None
    assert told.input_tokens.mid == 2 * len(HABITS) * 1000


def test_calls_in_batch_jobs_are_counted_at_half_price() -> None:
    batched = {role: {"model": "m-1", "transport": "batch"} for role in ("writer", "judge", "user_simulator")}
    live, half = (
        whole(forecast(one, basis(user(2)), terms=TERMS)).cost_usd for one in (one_model(), small_recipe(models=batched))
    )
    assert live is not None
    assert half is not None
    assert half.mid == pytest.approx(live.mid / 2)


def test_calls_of_the_defaults_grow_with_the_recipes_counts() -> None:
    defaults, base = load_defaults(), Shape.of(load_recipe("base"))
    nearest = defaults.nearest(base)
    assert nearest[0] == "base"
    longer = defaults.user(base.model_copy(update={"num_periods": 12}))
    assert longer["state_trajectory/update"].calls == pytest.approx(defaults.user(base)["state_trajectory/update"].calls * 1.2)
    plain = base.gates.model_copy(update={"votes_needed": 1, "reverse": False})
    once = defaults.user(base.model_copy(update={"gates": plain}))
    assert once["answers/check"].calls == pytest.approx(defaults.user(base)["answers/check"].calls / 2)
    assert once["answers/choose"].calls == 0


def test_without_a_ledger_the_defaults_are_used_and_widened() -> None:
    found = asyncio.run(basis_for(load_recipe("base"), None))
    assert "defaults" in found.source
    told = whole(forecast(load_recipe("base"), found, terms=TERMS)).calls
    assert (told.low / told.mid, told.high / told.mid) == (pytest.approx(0.7), pytest.approx(1.8))


def test_runs_of_the_same_counts_and_model_come_first(tmp_path: Path) -> None:
    found = based_on(tmp_path, one_model(), run=one_model(seed=7), users=6)
    assert found.source == "6 users of earlier runs with the same prompts and counts"
    assert found.margin == NO_MARGIN
    assert found.users[0]["questions/draft"] == Use(1, 1000, 100)
    assert found.seconds["questions/draft"] == 0.25
    assert found.tried == 3.0  # six users were worked on, two were wanted


def test_few_users_or_another_model_widen_the_interval(tmp_path: Path) -> None:
    few = based_on(tmp_path / "few", one_model(), run=one_model(), users=2)
    assert few.margin != NO_MARGIN
    other = based_on(tmp_path / "other", one_model("m-2"), run=one_model("m-1"), users=6)
    assert other.margin != NO_MARGIN
    assert "but by m-1" in other.source
    assert other.seconds == {}


def test_runs_of_other_counts_are_left_alone(tmp_path: Path) -> None:
    assert "defaults" in based_on(tmp_path, one_model(num_questions=2), run=one_model(), users=6).source


def test_users_that_are_not_finished_are_left_out(tmp_path: Path) -> None:
    early = [name for name in HABITS if stage_of(name) in ("user_profiles", "questions")]
    assert "defaults" in based_on(tmp_path, one_model(), run=one_model(), users=6, prompts=early).source


def test_a_request_that_was_repeated_counts_once(tmp_path: Path) -> None:
    async def use() -> list[float]:
        with counterpart(tmp_path) as stores:
            for _ in range(2):
                await live(stores, one_model(), users=1)
            (runs,) = await observed_runs(stores.ledger)
            return [one["questions/draft"].calls for one in runs.users]

    assert asyncio.run(use()) == [1]


def test_calls_of_changed_prompts_say_nothing(tmp_path: Path) -> None:
    async def use() -> int:
        with counterpart(tmp_path) as stores:
            account = BookedCalls(UsingModel(), Book(stores.ledger, Prices({}), one_model(), "small", PLACE))
            for place, prompt in enumerate(HABITS):
                labels = CallLabels(stage_of(prompt), "u-0", prompt, "another word")
                reply = await account.complete(replace(call(place), labels=labels))
                assert isinstance(reply, ModelReply)
            return len(await observed_runs(stores.ledger))

    assert asyncio.run(use()) == 0
