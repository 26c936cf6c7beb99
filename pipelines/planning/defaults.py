"""What a user takes where the ledger knows nothing yet: measured on the embedded model, scaled by the recipe's counts."""

from pathlib import Path

import yaml
from pydantic import Field

from assets.records.base import Record
from pipelines.planning.observed import Use, UserUse
from pipelines.planning.shape import HABITS, Shape

FILE = Path(__file__).parent / "defaults.yaml"


class PromptMean(Record):
    """Means over users: calls per user, tokens per call."""

    calls: float = Field(ge=0)
    input_tokens: float = Field(ge=0)
    output_tokens: float = Field(ge=0)


class Measurement(Record):
    """One variant, measured. `tried`: users worked on per user wanted."""

    shape: Shape
    users: int
    tried: float = Field(ge=1)
    prompts: dict[str, PromptMean]


class Pace(Record):
    """How long a call takes where nobody has measured it: `base_seconds`, then reading and writing at these rates."""

    base_seconds: float = Field(gt=0)
    prefill_tokens_per_second: float = Field(gt=0)
    decode_tokens_per_second: float = Field(gt=0)

    def seconds(self, use: Use) -> float:
        """Seconds of one average call."""
        calls = max(use.calls, 1e-9)
        reading = use.input_tokens / calls / self.prefill_tokens_per_second
        return self.base_seconds + reading + use.output_tokens / calls / self.decode_tokens_per_second


class Margin(Record):
    """By what factors a forecast may miss for a reason that no spread between users shows."""

    low: float = Field(gt=0, le=1)
    high: float = Field(ge=1)


class Defaults(Record):
    """The shipped file."""

    margin: Margin
    pace: Pace
    measured: dict[str, Measurement]

    def nearest(self, shape: Shape) -> tuple[str, Measurement]:
        """The measured variant that is most like the shape."""
        return min(self.measured.items(), key=lambda item: item[1].shape.distance(shape))

    def user(self, shape: Shape) -> UserUse:
        """What an average user of this shape takes: calls follow the counts, tokens per call stay."""
        _, measured = self.nearest(shape)
        found: dict[str, Use] = {}
        for name, mean in measured.prompts.items():
            driver = HABITS[name].driver
            calls = mean.calls * driver(shape) / driver(measured.shape)
            found[name] = Use(calls, calls * mean.input_tokens, calls * mean.output_tokens)
        return found


def load_defaults() -> Defaults:
    """Read the shipped file."""
    return Defaults.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))
