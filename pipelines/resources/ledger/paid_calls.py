"""Calls that are paid for: booked by an estimate before they are sent, and by their usage when their reply is there."""

import uuid
from dataclasses import dataclass, replace
from typing import Protocol

from assets.llm.async_calls import gather_all
from assets.llm.ports import BudgetReached, CallBooking, EndpointError, ModelReply, ModelRequest
from assets.llm.structured_output import is_rubbish
from pipelines.resources.cache.reply_cache import ReplyCache, is_refused_unread, request_key
from pipelines.resources.ledger.budget import BudgetGate
from pipelines.resources.ledger.ledger import FREE, LedgerRow, Outcome, UnitLedger

# Of our own estimate: no tokenizer that we know makes so few tokens of a text, so that such a usage is none.
LEAST_SHARE = 4
NOTHING = ModelReply(text="", finish="stop", input_tokens=0, output_tokens=0)


class PaidModel(Protocol):
    """A client, which tells of its tries and lets a reply be stored while its call still holds its slot."""

    async def complete(self, request: ModelRequest, *, booking: CallBooking = ...) -> ModelReply: ...


@dataclass(frozen=True)
class PaidCallRecorder:
    """A client whose calls are in the ledger before they are sent, and whose replies are stored before anyone uses them.

    A run killed at any moment has counted what it may have to pay. `gate`: of the variant's budget, if it has one.
    """

    model: PaidModel
    ledger: UnitLedger
    replies: ReplyCache | None = None
    gate: BudgetGate | None = None

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on and put its price on the reply. Raises BudgetReached where nothing more may be spent."""
        free = self.ledger.prices.free(request.model)
        gate = None if free else self.gate
        if gate is not None:
            gate.budget.check_price(request.model)
        booking = Booking(request, self.ledger, replies=self.replies, gate=gate, free=free)
        try:
            return await self.model.complete(request, booking=booking)
        except BudgetReached:
            raise
        except EndpointError:
            await booking.give_up()
            raise
        finally:
            booking.abandon()


class Booking:
    """The CallBooking port over the ledger. Tries of a `free` model are not booked, its replies are."""

    def __init__(
        self, request: ModelRequest, ledger: UnitLedger, *, replies: ReplyCache | None, gate: BudgetGate | None, free: bool
    ) -> None:
        self._request = request
        self._ledger = ledger
        self._replies = replies
        self._gate = gate
        self._free = free
        self._key = ""  # of the try that was sent and has not ended

    async def send(self) -> None:
        """Book an estimate of the try, unless one is booked. Raises BudgetReached, StoreError."""
        if self._key or self._free:
            return
        row = self._estimated_row("sent")
        key = self._new_key()
        if self._gate is None:
            await self._ledger.ledger.add(row, key=key)
        else:
            await self._gate.book(row, key=key)
        self._key = key

    async def lose(self) -> None:
        """Keep the estimate, in view of the replies that came meanwhile."""
        if self._key:
            await self._settle(self._estimated_row("lost"))

    async def keep(self, reply: ModelReply) -> ModelReply:
        """Correct the estimate by the reply's usage and store the reply; return it with its price."""
        used = reply if is_refused_unread(reply) else self._with_credible_usage(reply)
        price = self._ledger.price(self._request, used)
        outcome: Outcome = "rejected" if is_rubbish(self._request, reply) else reply.finish
        settling = self._settle(self._ledger.row(self._request, used, price=price, outcome=outcome))
        if self._replies is None:
            await settling
        else:
            await gather_all(settling, self._replies.put(self._request, reply))
        return replace(reply, cost_usd=price.usd)

    async def give_up(self) -> None:
        """Note a call that was given up or ended the run; what its last try took is nothing, or booked as lost."""
        await self._settle(self._ledger.row(self._request, NOTHING, price=FREE, outcome="error"))

    def abandon(self) -> None:
        """Wait no longer for a try whose caller has left: its estimate stays in the ledger."""
        if self._key and self._gate is not None:
            self._gate.end()
        self._key = ""

    async def _settle(self, row: LedgerRow) -> None:
        await self._ledger.ledger.add(row, key=self._key)
        self.abandon()

    def _new_key(self) -> str:
        """Return the key of a try. That of a line is the same in the next run, which finds the job of a killed one."""
        if self._request.labels.transport != "batch":
            return uuid.uuid4().hex
        return f"{self._ledger.account.variant} {request_key(self._request)} {self._ledger.endpoint}"

    def _estimated_row(self, outcome: Outcome) -> LedgerRow:
        estimate = self._ledger.estimate(self._request)
        return self._ledger.row(self._request, estimate, price=self._ledger.price(self._request, estimate), outcome=outcome)

    def _with_credible_usage(self, reply: ModelReply) -> ModelReply:
        """Return the reply with its usage, or with the estimate where that is no usage."""
        estimate = self._ledger.estimate(self._request)
        read = reply.input_tokens
        written = reply.output_tokens
        if read < estimate.input_tokens / LEAST_SHARE:
            read = estimate.input_tokens
        if self._request.max_output_tokens and written < len(reply.text) / 4 / LEAST_SHARE:
            written = estimate.output_tokens
        credible = replace(reply, input_tokens=read, output_tokens=written)
        self._ledger.note_usage(self._request, credible)
        return credible
