"""Count what calls use, per user and stage, and label them on the way."""

from dataclasses import dataclass, field, replace

from assets.ports import CallLabels, LanguageModel, ModelReply, ModelRequest
from assets.records.usage import Usage


@dataclass
class Meter:
    """A running count; what is added counts in `parent` too. `repeated` calls were answered by a store of ours."""

    parent: "Meter | None" = None
    usage: Usage = field(default_factory=Usage)
    repeated: int = 0

    def add(self, usage: Usage, *, repeated: int = 0) -> None:
        """Count this usage."""
        self.usage += usage
        self.repeated += repeated
        if self.parent is not None:
            self.parent.add(usage, repeated=repeated)


@dataclass(frozen=True)
class MeteredModel:
    """A model whose calls are counted and carry the labels of one user's stage."""

    model: LanguageModel
    labels: CallLabels
    meter: Meter

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on under these labels."""
        labels = replace(self.labels, prompt=request.labels.prompt, fingerprint=request.labels.fingerprint)
        reply = await self.model.complete(replace(request, labels=labels))
        usage = Usage(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        self.meter.add(usage, repeated=int(reply.repeated))
        return reply
