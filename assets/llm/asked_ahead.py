"""Replies that were asked for before the stage that needs them has its turn."""

import asyncio
import hashlib
from dataclasses import dataclass, field, replace

from assets.llm.ports import CallLabels, LanguageModel, ModelReply, ModelRequest, label_request


@dataclass
class AheadReplies:
    """The calls of a run that were asked ahead, by request; whoever asks the same later is given their replies."""

    calls: dict[str, asyncio.Task[ModelReply]] = field(default_factory=dict[str, "asyncio.Task[ModelReply]"])
    given: set[str] = field(default_factory=set[str])

    async def ask(self, request: ModelRequest, model: LanguageModel) -> ModelReply:
        """Ask once; the call goes on when whoever waits for it is cancelled."""
        key = _identity(request)
        if key not in self.calls:
            task = self.calls[key] = asyncio.create_task(model.complete(request))
            # Retrieves an error that nobody waits for: whoever needs the reply asks again.
            task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        return await asyncio.shield(self.calls[key])

    async def find(self, request: ModelRequest) -> ModelReply | None:
        """Return the reply that was asked for ahead; None where nobody did, and where the call failed.

        The first to whom it is given counts it as a call, others as one that is repeated.
        """
        key = _identity(request) if self.calls else ""
        call = self.calls.get(key)
        if call is None:
            return None
        await asyncio.wait([call])
        if call.cancelled() or call.exception() is not None:
            return None
        reply = call.result()
        repeated = reply.repeated or key in self.given
        self.given.add(key)
        return replace(reply, repeated=repeated)

    def cancel(self) -> None:
        """Forget all of them, and wait for none."""
        for call in self.calls.values():
            call.cancel()
        self.calls.clear()
        self.given.clear()


@dataclass(frozen=True)
class AskingAhead:
    """A model whose calls carry the labels of a later stage and count for nobody until that stage asks the same."""

    model: LanguageModel
    labels: CallLabels
    replies: AheadReplies

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await self.replies.ask(label_request(request, self.labels), self.model)


def _identity(request: ModelRequest) -> str:
    """Return a digest of all that tells the request from others, which is everything but its labels."""
    identity = {name: value for name, value in vars(request).items() if name != "labels"}
    return hashlib.sha256(repr(identity).encode()).hexdigest()
