"""A run stops spending where its recipe says, loses nothing it has paid for, and goes on when it may spend more."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from assets.llm.ports import BudgetReached, EndpointError, LanguageModel, ModelReply, ModelRequest
from assets.recipe.recipe import Budget
from pipelines.resources.ledger.ledger import Ledger, Spent
from pipelines.resources.ledger.prices import Prices, Tokens
from pipelines.resources.storage.sqlite import SqliteFile

KEPT = "and run again; whatever was paid for is kept"
Allowed = Callable[[Spent, int], bool]  # by what was spent, and how many calls are under way


class Till(Protocol):
    """Counts what a variant has spent, and which of its calls are under way."""

    under_way: int  # from here

    async def enter(self, allowed: Allowed) -> tuple[bool, Spent]:
        """Begin a call if it is allowed; whether it was, and what had been spent."""
        ...

    async def leave(self) -> None:
        """A call has ended, and stands in the ledger if it was paid for."""
        ...

    async def changed(self) -> None:
        """Wait until a call may have ended."""
        ...


class BudgetedModel:
    """An endpoint that is asked only while the variant's ledger is below the budget. It serves one event loop.

    Its place is between call cache and endpoint, so that repeated replies are free. The ledger alone is the tally:
    earlier runs and other processes count. Near the limit fewer calls are under way, by what a call has cost so far;
    what a run can spend beyond its budget are the calls under way, at most `at_once`.
    """

    def __init__(self, model: LanguageModel, *, purse: "Purse", till: Till, at_once: int) -> None:
        self._model = model
        self._purse = purse
        self._till = till
        self._slots = asyncio.Semaphore(at_once)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Ask while the budget lasts. Raises BudgetReached once all calls under way have brought their replies home."""
        self._purse.check_price(request.model)
        async with self._slots:
            while True:
                entered, spent = await self._till.enter(self._purse.allows)
                if entered:
                    return await self._ask(request)
                if exhausted(self._purse.budget, spent):
                    break
                await self._till.changed()
        # The first failure cancels whatever runs beside it; calls that are paid for must not be among that.
        while self._till.under_way:
            await self._till.changed()
        raise BudgetReached(sentence(self._purse.variant, self._purse.budget, spent=spent))

    async def _ask(self, request: ModelRequest) -> ModelReply:
        try:
            return await self._model.complete(request)
        finally:
            await self._till.leave()


@dataclass(frozen=True)
class Purse:
    """What a variant may spend."""

    variant: str
    budget: Budget
    prices: Prices

    def allows(self, spent: Spent, under_way: int) -> bool:
        """Whether one more call may begin."""
        return not exhausted(self.budget, spent) and not (under_way and exhausted(self.budget, spent.expected(under_way)))

    def check_price(self, model: str) -> None:
        """Raise EndpointError where a limit in dollars is set on a model whose price nobody knows."""
        if self.budget.max_cost_usd is not None and self.prices.of(model, Tokens(1, 1)).usd is None:
            raise EndpointError(
                f"budget.max_cost_usd of {self.variant!r} cannot be kept because the price of the model {model!r} is unknown; "
                "give its price in pipelines/resources/ledger/prices.yaml (or the file in AMEMGYM_PRICES), "
                "or limit budget.max_tokens instead."
            )


class OwnTill:
    """The Till port over a ledger on one machine: earlier runs and other processes count by what they have spent."""

    def __init__(self, ledger: Ledger, *, variant: str) -> None:
        self.under_way = 0
        self._ledger, self._variant = ledger, variant
        self._spent = Spent()
        self._came_home = asyncio.Event()

    async def enter(self, allowed: Allowed) -> tuple[bool, Spent]:
        """Count on from the last count, and begin a call if it is allowed."""
        spent = await self._ledger.spent(self._variant, before=self._spent)
        self._spent = max(self._spent, spent, key=lambda each: each.upto)
        entered = allowed(self._spent, self.under_way)
        self.under_way += entered
        return entered, self._spent

    async def leave(self) -> None:
        """Tell those who wait."""
        self.under_way -= 1
        self._came_home.set()
        self._came_home = asyncio.Event()

    async def changed(self) -> None:
        """Wait until a call from here has ended."""
        await self._came_home.wait()


def till_for(ledger: Ledger, *, variant: str) -> Till:
    """The variant's till: calls under way at other workers count where they share a database."""
    if isinstance(ledger.calls.database, SqliteFile):
        return OwnTill(ledger, variant=variant)
    from pipelines.cluster.till import SharedTill

    return SharedTill(ledger, variant=variant)


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
