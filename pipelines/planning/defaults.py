"""Defaults for a user where the ledger knows nothing yet: measured on the embedded model, scaled by the recipe's counts."""

from pathlib import Path

import yaml
from pydantic import Field

from assets.engine.stage import amount
from assets.records.base import Record
from pipelines.planning.prompt_calls import PROMPT_CALLS, PromptUsage, RecipeSize, UserUsage

FILE = Path(__file__).parent / "defaults.yaml"


class PromptMean(Record):
    """Means over users: calls per user, tokens per call, and those of the input that a provider has cached."""

    calls: float = Field(ge=0)
    input_tokens: float = Field(ge=0)
    output_tokens: float = Field(ge=0)
    cached_tokens: float = Field(default=0, ge=0)


class MeasuredVariant(Record):
    """One variant, measured. `tried`: users worked on per user wanted."""

    size: RecipeSize
    users: int
    tried: float = Field(ge=1)
    prompts: dict[str, PromptMean]


class CallTime(Record):
    """The time of a call where nobody has measured it: `base_seconds`, then reading and writing at these rates."""

    base_seconds: float = Field(gt=0)
    prefill_tokens_per_second: float = Field(gt=0)
    decode_tokens_per_second: float = Field(gt=0)

    def seconds(self, use: PromptUsage) -> float:
        """Return the mean seconds of a call with the mean tokens of these calls."""
        calls = max(use.calls, 1e-9)
        reading = use.input_tokens / calls / self.prefill_tokens_per_second
        return self.base_seconds + reading + use.output_tokens / calls / self.decode_tokens_per_second


class ErrorMargin(Record):
    """Factors by which a forecast may miss for a reason that no spread between users shows."""

    low: float = Field(gt=0, le=1)
    high: float = Field(ge=1)


class Defaults(Record):
    """The content of `defaults.yaml`: variants measured with the embedded model, and how far forecasts from them may miss."""

    margin: ErrorMargin
    call_time: CallTime
    measured: dict[str, MeasuredVariant]

    def nearest(self, size: RecipeSize) -> tuple[str, MeasuredVariant]:
        """Return the measured variant that is most like the size."""
        return min(self.measured.items(), key=lambda item: item[1].size.distance(size))

    def user(self, size: RecipeSize) -> UserUsage:
        """Return the usage of an average user of this size: calls follow the counts, tokens per call stay."""
        _, measured = self.nearest(size)
        usage: dict[str, PromptUsage] = {}
        for name, known in PROMPT_CALLS.items():
            calls = amount(known.per_item, size)
            mean = measured.prompts.get(name)
            if mean is not None:
                calls *= mean.calls / amount(known.per_item, measured.size)
                read = calls * mean.input_tokens
                usage[name] = PromptUsage(calls, read, calls * mean.output_tokens, calls * mean.cached_tokens)
            elif known.reading and calls:
                # No measured variant asks it: the stage says what a call takes.
                usage[name] = PromptUsage(calls, calls * amount(known.reading, size), calls * amount(known.writing, size))
        return usage


def load_defaults() -> Defaults:
    return Defaults.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))
