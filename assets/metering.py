"""Count what calls use, per user and stage, and label them on the way."""

from collections import Counter
from dataclasses import dataclass, field, replace

from assets.ports import CallLabels, LanguageModel, ModelReply, ModelRequest
from assets.records.usage import Usage


@dataclass
class Meter:
    """A running count; what is added counts in `parent` too. `repeated` calls were answered by a store of ours.

    `unpriced` counts the calls whose price nobody knows; `cost_usd` is what the others cost.
    """

    parent: "Meter | None" = None
    usage: Usage = field(default_factory=Usage)
    repeated: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def add(self, usage: Usage, *, repeated: int = 0, cost_usd: float | None = 0.0) -> None:
        """Count this usage; a cost of None is one that nobody knows."""
        self.usage += usage
        self.repeated += repeated
        self.cost_usd += cost_usd or 0.0
        self.unpriced += usage.calls if cost_usd is None else 0
        if self.parent is not None:
            self.parent.add(usage, repeated=repeated, cost_usd=cost_usd)

    def take_over(self, other: "Meter") -> None:
        """Count what another meter has counted so far, and from now on whatever it counts."""
        self.add(other.usage, repeated=other.repeated, cost_usd=other.cost_usd)
        self.unpriced += other.unpriced
        other.parent = self


@dataclass(frozen=True)
class MeteredModel:
    """A model whose calls are counted and carry the labels of one user's stage."""

    model: LanguageModel
    labels: CallLabels
    meter: Meter
    asked: Counter[tuple[object, ...]] = field(default_factory=Counter[tuple[object, ...]])

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on under these labels."""
        labels = replace(
            self.labels,
            prompt=request.labels.prompt,
            fingerprint=request.labels.fingerprint,
            attempt=self._attempt(request),
            transport=request.labels.transport,
        )
        reply = await self.model.complete(replace(request, labels=labels))
        usage = Usage(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        self.meter.add(usage, repeated=int(reply.repeated), cost_usd=0.0 if reply.repeated else reply.cost_usd)
        return reply

    def _attempt(self, request: ModelRequest) -> int:
        """How often this has been asked before: objections follow the opening messages and leave them as they are."""
        opening = (request.labels.prompt, request.sample, *request.messages[:2])
        self.asked[opening] += 1
        return self.asked[opening] - 1
