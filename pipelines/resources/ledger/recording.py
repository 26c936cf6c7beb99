"""Calls on their way through the ledger: cache hits outside the call cache, paid calls between cache and endpoint."""

import time
from dataclasses import dataclass, replace
from functools import cached_property

from assets.llm.ports import EndpointError, LanguageModel, ModelReply, ModelRequest
from assets.recipe.recipe import Recipe
from pipelines.resources.cache.reply_cache import request_key
from pipelines.resources.ledger.ledger import Ledger, LedgerRow, Outcome
from pipelines.resources.ledger.prices import Price, Prices, Tokens

FREE = Price(0.0, "provider")


@dataclass(frozen=True)
class Book:
    """The ledger, opened for one work unit of a recipe at one endpoint. `place` is its address without secrets."""

    ledger: Ledger
    prices: Prices
    recipe: Recipe
    unit: str
    place: str

    @cached_property
    def recipe_key(self) -> str:
        """Under what the recipe is kept in the ledger."""
        return self.recipe.user_fingerprint

    async def begin(self) -> None:
        """Note the recipe. A ledger that cannot be written shows here, before anything is paid for. Raises StoreError."""
        await self.ledger.note(self.recipe_key, self.recipe)

    def price(self, request: ModelRequest, reply: ModelReply) -> Price:
        """What the reply costs when it comes from the endpoint."""
        cached = min(reply.cached_input_tokens, reply.input_tokens)
        listed = self.prices.of(request.model, Tokens(reply.input_tokens, reply.output_tokens, cached))
        return listed if listed.usd is None else replace(listed, usd=listed.usd * reply.price_share)

    async def write(self, request: ModelRequest, reply: ModelReply, *, price: Price, outcome: Outcome) -> None:
        """Return when the row is on the disk."""
        labels = request.labels
        row = LedgerRow(
            at=time.time(),
            variant=self.recipe.variant,
            unit=self.unit,
            recipe=self.recipe_key,
            stage=labels.stage,
            user_id=labels.user_id,
            prompt=labels.prompt,
            fingerprint=labels.fingerprint,
            attempt=labels.attempt,
            sample=request.sample,
            request=request_key(request),
            model=request.model,
            endpoint=self.place,
            input_tokens=reply.input_tokens,
            cached_input_tokens=reply.cached_input_tokens,
            output_tokens=reply.output_tokens,
            seconds=reply.seconds,
            cost_usd=price.usd,
            price=price.source,
            outcome=outcome,
            cache_hit=reply.repeated,
        )
        await self.ledger.add(row)


@dataclass(frozen=True)
class BookedHits:
    """A model behind a call cache; the replies that the cache gave are booked as hits."""

    model: LanguageModel
    book: Book

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on, and book it if it cost nothing."""
        await self.book.begin()
        reply = await self.model.complete(request)
        if reply.repeated:
            await self.book.write(request, reply, price=FREE, outcome=reply.finish)
        return reply


@dataclass(frozen=True)
class BookedCalls:
    """An endpoint whose replies are booked before anyone uses them: a run killed at any moment has counted what it paid."""

    model: LanguageModel
    book: Book

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on and put its price on the reply."""
        try:
            reply = await self.model.complete(request)
        except EndpointError:
            nothing = ModelReply(text="", finish="stop", input_tokens=0, output_tokens=0)
            await self.book.write(request, nothing, price=FREE, outcome="error")
            raise
        price = self.book.price(request, reply)
        await self.book.write(request, reply, price=price, outcome=reply.finish)
        return replace(reply, cost_usd=price.usd)
