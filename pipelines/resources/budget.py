"""A run stops spending where its recipe says, loses nothing it has paid for, and goes on when it may spend more."""

import asyncio

from assets.ports import BudgetReached, EndpointError, LanguageModel, ModelReply, ModelRequest
from assets.records.recipe import Budget
from pipelines.resources.ledger import Ledger, Spent
from pipelines.resources.prices import Prices, Tokens

KEPT = "and run again; whatever was paid for is kept"


class BudgetedModel:
    """An endpoint that is asked only while the variant's ledger is below the budget. It serves one event loop.

    Its place is between call cache and endpoint, so that repeated replies are free. The ledger alone is the tally:
    earlier runs and other processes count. Near the limit fewer calls are under way, by what a call has cost so far;
    what a run can spend beyond its budget are the calls under way, at most `at_once`.
    """

    def __init__(self, model: LanguageModel, *, budget: Budget, tally: "Tally", at_once: int) -> None:
        self._model = model
        self._budget = budget
        self._tally = tally
        self._slots = asyncio.Semaphore(at_once)
        self._under_way = 0
        self._came_home = asyncio.Event()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Ask while the budget lasts. Raises BudgetReached once all calls under way have brought their replies home."""
        self._tally.check_price(request.model, self._budget)
        async with self._slots:
            while not exhausted(self._budget, spent := await self._tally.count()):
                if not self._under_way or not exhausted(self._budget, spent.expected(self._under_way)):
                    return await self._ask(request)
                await self._came_home.wait()
        # The first failure cancels whatever runs beside it; calls that are paid for must not be among that.
        while self._under_way:
            await self._came_home.wait()
        raise BudgetReached(sentence(self._tally.variant, self._budget, spent=spent))

    async def _ask(self, request: ModelRequest) -> ModelReply:
        self._under_way += 1
        try:
            return await self._model.complete(request)
        finally:
            self._under_way -= 1
            self._came_home.set()
            self._came_home = asyncio.Event()


class Tally:
    """What a variant has spent, by the ledger."""

    def __init__(self, ledger: Ledger, *, variant: str, prices: Prices) -> None:
        self.variant = variant
        self._ledger = ledger
        self._prices = prices
        self._spent = Spent()

    async def count(self) -> Spent:
        """Count on from the last count."""
        spent = await self._ledger.spent(self.variant, before=self._spent)
        self._spent = max(self._spent, spent, key=lambda each: each.upto)
        return spent

    def check_price(self, model: str, budget: Budget) -> None:
        """Raise EndpointError where a limit in dollars is set on a model whose price nobody knows."""
        if budget.max_cost_usd is not None and self._prices.of(model, Tokens(1, 1)).usd is None:
            raise EndpointError(
                f"budget.max_cost_usd of {self.variant!r} cannot be kept because the price of the model {model!r} is unknown; "
                "give its price in pipelines/prices.yaml (or the file in AMEMGYM_PRICES), or limit budget.max_tokens instead."
            )


def exhausted(budget: Budget, spent: Spent) -> bool:
    """Whether one of the limits is reached."""
    dear = budget.max_cost_usd is not None and spent.cost_usd >= budget.max_cost_usd
    return dear or (budget.max_tokens is not None and spent.tokens >= budget.max_tokens)


def sentence(variant: str, budget: Budget, *, spent: Spent) -> str:
    """Which limit is reached, what was spent, and what to do."""
    if budget.max_cost_usd is not None and spent.cost_usd >= budget.max_cost_usd:
        field, used = "max_cost_usd", f"{spent.cost_usd:.4f} of {budget.max_cost_usd:g} US dollars are"
    else:
        field, used = "max_tokens", f"{spent.tokens:,} of {budget.max_tokens:,} tokens are"
    return f"The budget of {variant!r} is reached: {used} spent in {spent.calls:,} calls. Raise budget.{field} {KEPT}."
