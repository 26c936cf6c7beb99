"""A run stops spending where its recipe says, loses nothing it has paid for, and goes on when it may spend more."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import ValidationError

from assets.llm.ports import BudgetReached, EndpointError, LanguageModel, ModelReply, ModelRequest
from assets.recipe.loading import RecipeError
from assets.recipe.recipe import Budget
from assets.reporting.plurals import counted
from pipelines.resources.ledger.ledger import Ledger, Spent
from pipelines.resources.ledger.prices import Prices

RAISE_AND_RUN_AGAIN = "(a re-executed run takes it as a tag) and run again; whatever was paid for is kept"
MayBegin = Callable[[Spent, int], bool]  # by what was spent, and how many calls are under way


class BudgetCounter(Protocol):
    """Counts what a variant has spent, and which of its calls are under way."""

    under_way: int  # from here

    async def begin_call(self, may_begin: MayBegin) -> tuple[bool, Spent]:
        """Begin a call if it is allowed; return whether it was, and what had been spent."""
        ...

    async def end_call(self) -> None:
        """A call has ended, and is in the ledger if it was paid for."""
        ...

    async def wait_for_change(self) -> None:
        """Wait until a call may have ended."""
        ...


class LocalBudgetCounter:
    """The BudgetCounter port over a ledger on one machine: earlier runs and other processes count by what they have spent."""

    def __init__(self, ledger: Ledger, *, variant: str) -> None:
        self.under_way = 0
        self._ledger = ledger
        self._variant = variant
        self._spent = Spent()
        self._call_ended = asyncio.Event()

    async def begin_call(self, may_begin: MayBegin) -> tuple[bool, Spent]:
        """Count on from the last count, and begin a call if it is allowed."""
        spent = await self._ledger.spent(self._variant, before=self._spent)
        self._spent = max(self._spent, spent, key=lambda each: each.upto)
        begun = may_begin(self._spent, self.under_way)
        self.under_way += begun
        return begun, self._spent

    async def end_call(self) -> None:
        """Count the call as ended and wake the calls that wait for room in the budget."""
        self.under_way -= 1
        self._call_ended.set()
        self._call_ended = asyncio.Event()

    async def wait_for_change(self) -> None:
        """Wait until a call from here has ended."""
        await self._call_ended.wait()


@dataclass(frozen=True)
class VariantBudget:
    """The limits in money and tokens of a variant, over all its runs."""

    variant: str
    budget: Budget
    prices: Prices

    def may_begin(self, spent: Spent, under_way: int) -> bool:
        """Return True when one more call may begin."""
        return not exhausted(self.budget, spent) and not (under_way and exhausted(self.budget, spent.expected(under_way)))

    def check_price(self, model: str) -> None:
        """Raise EndpointError where a limit in dollars is set on a model whose price nobody knows."""
        if self.budget.max_cost_usd is not None and not self.prices.known(model):
            raise EndpointError(
                f"budget.max_cost_usd of {self.variant!r} cannot be kept because the price of the model {model!r} is unknown; "
                "give its price in pipelines/resources/ledger/prices.yaml (or the file in AMEMGYM_PRICES), "
                "or limit budget.max_tokens instead."
            )

    def error_message(self, spent: Spent) -> str:
        """Return the sentence for the user: the limit that is reached, what was spent, and what to do."""
        cost_limit = self.budget.max_cost_usd
        token_limit = self.budget.max_tokens
        if cost_limit is not None and spent.cost_usd >= cost_limit:
            field = "max_cost_usd"
            used = f"{spent.cost_usd:.4f} of {cost_limit:g} US dollars are"
        else:
            field = "max_tokens"
            used = f"{spent.tokens:,} of {token_limit:,} tokens are"
        return (
            f"The budget of {self.variant!r} is reached: {used} spent in {counted(spent.calls, 'call')} over all its runs. "
            f"Raise budget.{field} {RAISE_AND_RUN_AGAIN}."
        )


def exhausted(budget: Budget, spent: Spent) -> bool:
    """Return True when one of the limits is reached."""
    too_expensive = budget.max_cost_usd is not None and spent.cost_usd >= budget.max_cost_usd
    return too_expensive or (budget.max_tokens is not None and spent.tokens >= budget.max_tokens)


def budget_with_tags(budget: Budget, tags: Mapping[str, str]) -> Budget:
    """The budget as a Dagster run's tags change it, such as `budget.max_tokens`. Raises RecipeError for what is no limit.

    A run that is re-executed keeps its config and the recipe of what it goes on from; its tags alone can be changed.
    """
    given = {name: tags[f"budget.{name}"] for name in Budget.model_fields if f"budget.{name}" in tags}
    try:
        return Budget.model_validate({**budget.model_dump(), **given})
    except ValidationError as error:
        name = error.errors()[0]["loc"][0]
        raise RecipeError(f"The run's tag budget.{name} is {given[str(name)]!r}; give a number above 0.") from error


class BudgetedModel:
    """A model that is asked only while the variant's ledger is below the budget. It serves one event loop.

    It stands between reply cache and client, so that repeated replies are free, and lets through what costs nothing. The
    ledger alone is the count: earlier runs and other processes are in it. Near the limit fewer calls are under way, by what
    a call has cost so far; what a run can spend beyond its budget are the calls under way, at most `at_once`.
    """

    def __init__(self, model: LanguageModel, *, budget: VariantBudget, counter: BudgetCounter, at_once: int) -> None:
        self._model = model
        self._budget = budget
        self._counter = counter
        self._limit = asyncio.Semaphore(at_once)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Ask while the budget lasts. Raises BudgetReached once all calls under way have brought their replies."""
        if self._budget.prices.free(request.model):
            return await self._model.complete(request)
        self._budget.check_price(request.model)
        async with self._limit:
            while True:
                begun, spent = await self._counter.begin_call(self._budget.may_begin)
                if begun:
                    return await self._ask(request)
                if exhausted(self._budget.budget, spent):
                    break
                await self._counter.wait_for_change()
        # The first failure cancels whatever runs beside it; calls that are paid for must not be among that.
        while self._counter.under_way:
            await self._counter.wait_for_change()
        raise BudgetReached(self._budget.error_message(spent))

    async def _ask(self, request: ModelRequest) -> ModelReply:
        try:
            return await self._model.complete(request)
        finally:
            await self._counter.end_call()
