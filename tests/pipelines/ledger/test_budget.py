"""A run stops at its budget with everything it paid for, says so in one sentence, and goes on with a higher one."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.llm.ports import UNBOOKED, BudgetReached, CallBooking, EndpointError, ModelReply, ModelRequest
from assets.llm.usage import request_tokens
from assets.recipe.loading import build_recipe
from assets.recipe.model_policy import Transport
from assets.recipe.recipe import Budget, RecipeError
from pipelines.embedded.bank import model_name
from pipelines.errors import StoreError
from pipelines.resources.ledger.budget import budget_with_tags, is_exhausted
from pipelines.resources.ledger.ledger import Spent
from pipelines.resources.ledger.prices import OwnPrice, Prices
from tests.pipelines.ledger.ledger_stores import PRICED, LedgerStores, Paid, UsingModel, call, open_stores, spent_in
from tests.support.small import small_recipe
from tests.support.waiting import LONG


@dataclass
class AnswersAfter:
    """A model that takes so many seconds, and as many tokens as an estimate has."""

    seconds: float = 0.0
    asked: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.release()
        await asyncio.sleep(self.seconds)
        return ModelReply("Ada", "stop", request_tokens(request), request.max_output_tokens)


TOKENS, DOLLARS = 1100, 0.0028  # what a call uses


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[LedgerStores]:
    with open_stores(tmp_path) as opened:
        yield opened


def spent(stores: LedgerStores, variant: str = "small") -> Spent:
    return asyncio.run(spent_in(stores.ledger, variant))


def test_a_run_stops_at_its_budget_and_says_what_to_do(stores: LedgerStores) -> None:
    recipe = small_recipe(budget={"max_tokens": 10 * TOKENS})
    answers = stores.ask(UsingModel(), [call(number) for number in range(40)], recipe=recipe)
    errors = [answer for answer in answers if isinstance(answer, BudgetReached)]
    assert len(errors) == 30
    assert (
        "'small' is reached: 11,000 of 11,000 tokens are spent in 10 calls over all its runs. Raise budget.max_tokens"
        in str(errors[0])
    )


@settings(max_examples=20, deadline=None)
@given(limit=st.integers(min_value=1, max_value=30), at_once=st.integers(min_value=1, max_value=8))
def test_what_is_spent_beyond_the_budget_are_calls_under_way(
    tmp_path_factory: pytest.TempPathFactory, limit: int, at_once: int
) -> None:
    with open_stores(tmp_path_factory.mktemp("budget")) as stores:

        async def use() -> None:
            model_stack = stores.stack(UsingModel(), recipe=small_recipe(budget={"max_tokens": limit * 500}), at_once=at_once)
            await asyncio.gather(*(model_stack.complete(call(number)) for number in range(40)), return_exceptions=True)

        asyncio.run(use())
        assert limit * 500 <= spent(stores).tokens < limit * 500 + at_once * TOKENS


def test_calls_under_way_bring_their_replies_home_before_the_run_ends(stores: LedgerStores) -> None:
    model, recipe = UsingModel(), small_recipe(budget={"max_tokens": 4 * TOKENS})

    async def run_until_the_first_error() -> None:
        model_stack = stores.stack(model, recipe=recipe)
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(model_stack.complete(call(number)))  # the first error cancels the others

    with pytest.raises(ExceptionGroup):
        asyncio.run(run_until_the_first_error())
    again = UsingModel()
    stores.ask(again, model.asked)
    assert again.asked == []


@dataclass
class LosingModel(UsingModel):
    """A model each of whose calls loses two tries, of which nobody hears the usage."""

    tries: int = 0

    async def complete(self, request: ModelRequest, *, booking: CallBooking = UNBOOKED) -> ModelReply:
        for _ in range(2):
            await booking.send()
            self.tries += 1
            await asyncio.sleep(0.002)
            await booking.lose()
        self.tries += 1
        return await super().complete(request, booking=booking)


def test_tries_without_a_usable_reply_count_by_an_estimate(stores: LedgerStores) -> None:
    model = LosingModel()
    answers = stores.ask(model, [call(number) for number in range(40)], recipe=small_recipe(budget={"max_tokens": 30 * TOKENS}))
    assert 30 <= model.tries <= 30 + 4 * 3  # beyond the budget: what went out before the first usage was known
    assert any("without a reply, by an estimate" in str(answer) for answer in answers)


@pytest.mark.parametrize("transport", ["live", "batch"])
def test_what_a_killed_run_had_under_way_counts(stores: LedgerStores, transport: Transport) -> None:
    recipe = small_recipe(budget={"max_tokens": 300})
    plain = [call(number) for number in range(3)]
    requests = [replace(request, labels=replace(request.labels, transport=transport)) for request in plain]

    async def be_killed() -> None:
        model = AnswersAfter(LONG)
        stack = stores.stack(Paid(model), recipe=recipe)
        calls = [asyncio.create_task(stack.complete(request)) for request in requests]
        for _ in requests:
            await model.asked.acquire()
        assert not any(each.done() for each in calls)

    asyncio.run(be_killed())
    with open_stores(stores.folder) as later:
        answers = later.ask(Paid(AnswersAfter()), requests, recipe=recipe)
    # The three estimates leave room for two live calls more. Lines of a job that the killed run had sent are not sent again.
    replies = 2 if transport == "live" else 3
    assert [type(answer) for answer in answers].count(ModelReply) == replies
    assert spent(stores).calls == replies


def test_a_higher_budget_goes_on_and_pays_for_nothing_twice(stores: LedgerStores) -> None:
    requests, models = [call(number) for number in range(30)], [UsingModel() for _ in range(3)]
    answers = [
        stores.ask(model, requests, recipe=small_recipe(budget={"max_cost_usd": limit * DOLLARS}))
        for model, limit in zip(models, (5, 12, 100), strict=True)
    ]
    assert all(isinstance(answer, ModelReply) for answer in answers[-1])
    assert sum(len(model.asked) for model in models) == 30
    assert spent(stores).cost_usd == pytest.approx(30 * DOLLARS)


def test_what_is_in_the_cache_is_free_when_the_budget_is_used_up(stores: LedgerStores) -> None:
    stores.ask(UsingModel(), [call(1)])
    recipe = small_recipe(budget={"max_tokens": 1})
    kept, new = stores.ask(UsingModel(), [call(1), call(2)], recipe=recipe)
    assert isinstance(kept, ModelReply)
    assert isinstance(new, BudgetReached)


def test_what_another_process_spends_counts_at_once(stores: LedgerStores) -> None:
    recipe = small_recipe(budget={"max_tokens": 3 * TOKENS})

    async def use() -> ModelReply | BaseException:
        model_stack = stores.stack(UsingModel(), recipe=recipe)
        await model_stack.complete(call(1))
        with open_stores(stores.folder) as elsewhere:
            for number in (2, 3):
                await elsewhere.stack(UsingModel()).complete(call(number))
        return (await asyncio.gather(model_stack.complete(call(4)), return_exceptions=True))[0]

    assert isinstance(asyncio.run(use()), BudgetReached)


def test_other_variants_spend_from_their_own_budgets(stores: LedgerStores) -> None:
    stores.ask(UsingModel(), [call(1)], recipe=small_recipe(variant="other"))
    assert spent(stores) == Spent(upto=0)
    assert spent(stores, "other").calls == 1


def test_errors_and_hits_are_not_spending(stores: LedgerStores) -> None:
    stores.ask(UsingModel(fails=True), [call(1)])
    stores.ask(UsingModel(), [call(2)])
    stores.ask(UsingModel(), [call(2)])
    assert (spent(stores).calls, spent(stores).tokens) == (1, TOKENS)


def test_calls_that_cost_nothing_are_not_spending_and_pass_a_budget_that_is_used_up(stores: LedgerStores) -> None:
    stores.prices = Prices({"gift": OwnPrice(input=0, output=0)})
    stores.ask(
        UsingModel(), [call(number, model=name) for number, name in enumerate(("gift", model_name(), PRICED, "nobody's"))]
    )
    assert (spent(stores).calls, spent(stores).tokens) == (2, 2 * TOKENS)
    recipe = small_recipe(budget={"max_tokens": TOKENS})
    free, paid = stores.ask(UsingModel(), [call(5, model="gift"), call(6)], recipe=recipe)
    assert isinstance(free, ModelReply)
    assert isinstance(paid, BudgetReached)


def test_tags_of_a_run_change_a_budget_and_say_what_is_wrong_with_them() -> None:
    changed = budget_with_tags(Budget(max_tokens=5, max_cost_usd=1), {"budget.max_tokens": "70", "dagster/partition": "demo"})
    assert changed == Budget(max_tokens=70, max_cost_usd=1)
    with pytest.raises(RecipeError, match=r"The run's tag budget\.max_cost_usd is 'ten'; give a number above 0\."):
        budget_with_tags(Budget(), {"budget.max_cost_usd": "ten"})


def test_counting_on_from_an_earlier_count_misses_nothing(stores: LedgerStores) -> None:
    stores.ask(UsingModel(), [call(1), call(2)])
    first = spent(stores)
    stores.ask(UsingModel(), [call(3)])
    assert asyncio.run(spent_in(stores.ledger, before=first)) == spent(stores)
    assert spent(stores).calls == 3


def test_a_limit_in_dollars_needs_a_price(stores: LedgerStores) -> None:
    model = UsingModel()
    recipe = small_recipe(budget={"max_cost_usd": 1})
    (error,) = stores.ask(model, [call(1, model="made-up")], recipe=recipe)
    assert isinstance(error, EndpointError)
    assert "'made-up' is unknown" in str(error)
    assert "AMEMGYM_PRICES" in str(error)
    assert model.asked == []


def test_without_limits_nothing_is_exhausted() -> None:
    assert not is_exhausted(Budget(), Spent(10**6, 10**9, 1e6))


def test_the_budget_changes_no_fingerprint() -> None:
    plain, capped = small_recipe(), small_recipe(budget={"max_cost_usd": 1, "max_tokens": 5})
    assert (plain.fingerprint, plain.item_fingerprint) == (capped.fingerprint, capped.item_fingerprint)


@pytest.mark.parametrize("budget", [{"max_cost_usd": 0}, {"max_tokens": -1}, {"max_cost_usd": float("nan")}])
def test_a_budget_that_allows_nothing_is_refused(budget: dict[str, float]) -> None:
    with pytest.raises(RecipeError, match=r"budget\.max_"):
        build_recipe({"variant": "small", "budget": budget})


def test_a_ledger_that_cannot_be_read_is_told_before_anything_is_paid(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"no database at all, but long enough to be looked at" * 20)
    model = UsingModel()
    with open_stores(tmp_path) as stores:
        (error,) = stores.ask(model, [call(1)])
    assert isinstance(error, StoreError)
    assert model.asked == []
