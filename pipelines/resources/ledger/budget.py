"""A run stops spending where its recipe says, loses nothing it has paid for, and goes on when it may spend more."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from pydantic import ValidationError

from assets.llm.ports import BudgetReached, EndpointError
from assets.recipe.recipe import Budget, RecipeError
from assets.reporting.plurals import counted
from pipelines.resources.ledger.ledger import TABLE, Ledger, LedgerRow, Spent, book, sent_now, spent_so_far
from pipelines.resources.ledger.prices import Prices
from pipelines.resources.storage.database import Connection

RAISE_AND_RUN_AGAIN = "(a re-executed run takes it as a tag) and run again; whatever was paid for is kept"
POLL_SECONDS = 0.2
SENT_INDEX = f"CREATE INDEX IF NOT EXISTS calls_sent ON {TABLE} (variant) WHERE outcome = 'sent'"


@dataclass(frozen=True)
class VariantBudget:
    """The limits in money and tokens of a variant, over all its runs."""

    variant: str
    budget: Budget
    prices: Prices

    def may_begin(self, spent: Spent, sent: Spent) -> bool:
        """Return True when one more call may begin, by what was spent and by the estimates of what was sent."""
        return not is_exhausted(self.budget, spent) and not (sent.calls and is_exhausted(self.budget, spent.plus(sent)))

    def check_price(self, model: str) -> None:
        """Raise EndpointError where a limit in dollars is set on a model whose price nobody knows."""
        if self.budget.max_cost_usd is not None and not self.prices.has_price(model):
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
        estimated = f" ({spent.estimated:,} of them without a reply, by an estimate)" if spent.estimated else ""
        return (
            f"The budget of {self.variant!r} is reached: {used} spent in {counted(spent.calls, 'call')} over all its runs"
            f"{estimated}. Raise budget.{field} {RAISE_AND_RUN_AGAIN}."
        )


def is_exhausted(budget: Budget, spent: Spent) -> bool:
    """Return True when one of the limits is reached."""
    too_expensive = budget.max_cost_usd is not None and spent.cost_usd >= budget.max_cost_usd
    return too_expensive or (budget.max_tokens is not None and spent.tokens >= budget.max_tokens)


def warn_of_small_budget(budget: Budget, *, tokens: float, usd: float | None) -> str:
    """Return the sentence for a budget below so many tokens or US dollars; "" for one that will do. `usd`: None if unknown."""
    too_dear = budget.max_cost_usd is not None and usd is not None and usd > budget.max_cost_usd
    too_long = budget.max_tokens is not None and tokens > budget.max_tokens
    if too_long and usd == 0:
        return "This is more than the budget, which counts no call that costs nothing: the run will go on to its end."
    return "This is more than the budget: the run may pause before it is finished." if too_dear or too_long else ""


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


class BudgetGate:
    """Books calls that are about to be sent, while the variant's ledger is below its budget. It serves one event loop.

    The ledger alone is the count: earlier runs and other processes are in it, with an estimate for each call under way.
    Beyond its budget a run can spend one call, and what its calls under way take beyond their estimates.
    `longest_try`: seconds after which a call that another process has sent is taken for one of a killed run.
    """

    def __init__(self, ledger: Ledger, *, budget: VariantBudget, longest_try: float) -> None:
        self.budget = budget
        self._ledger = ledger
        self._longest_try = longest_try
        self._spent = Spent()
        self._under_way = 0
        self._call_ended = asyncio.Event()
        self._turn = asyncio.Lock()  # those who wait for room look one after another, and not all at each call's end

    async def book(self, row: LedgerRow, *, key: str) -> None:
        """Write the call's row when there is room. Raises BudgetReached once all calls under way have ended, StoreError."""
        async with self._turn:
            while True:
                booked, sent = await self._ledger.calls.run(partial(self._book_if_room, row=row, key=key))
                if booked:
                    self._under_way += 1
                    return
                given_up = not self._under_way and sent.latest + self._longest_try < time.time()
                if given_up or is_exhausted(self.budget.budget, self._spent):
                    break
                await self._wait_for_change()
            # The first failure cancels whatever runs beside it; calls that are paid for must not be among that.
            while self._under_way:
                await self._wait_for_change()
        raise BudgetReached(self.budget.error_message(self._spent.plus(sent) if given_up else self._spent))

    def end(self) -> None:
        """Count the call as ended, and let those who wait for room look again."""
        self._under_way -= 1
        self._call_ended.set()
        self._call_ended = asyncio.Event()

    async def _wait_for_change(self) -> None:
        """Wait until a call from here has ended, or for a moment, in which one may have ended elsewhere."""
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await self._call_ended.wait()

    def _book_if_room(self, connection: Connection, *, row: LedgerRow, key: str) -> tuple[bool, Spent]:
        """Count and book in one transaction; return whether it was booked, and the calls that have not ended."""
        with connection.writing():
            if not self._spent.upto:
                connection.execute(SENT_INDEX)
            rows = self._ledger.sound_rows(connection)
            self._spent = spent_so_far(connection, self.budget.variant, before=self._spent, rows=rows)
            sent = sent_now(connection, self.budget.variant, key=key)
            booked = self.budget.may_begin(self._spent, sent)
            if booked:
                book(connection, row, key=key)
        return booked, sent
