"""What calls used, the same in every run over the same replies."""

from assets.records.base import Record


class Usage(Record):
    """Calls and tokens that rows needed, whether the provider or a store of ours answered."""

    calls: int = 0
    reasks: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            reasks=self.reasks + other.reasks,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )
