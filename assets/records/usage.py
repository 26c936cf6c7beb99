"""What calls used: one record for rows, releases, prices, ledger and evaluation."""

from pydantic import Field

from assets.records.base import Record

NANO = 1_000_000_000


class Usage(Record):
    """Calls and tokens, whether the provider or a cache of ours answered.

    The first four fields are the same in every run over the same replies, and only they are stored with rows and
    snapshots. `cached_input_tokens` are those of the `input_tokens` that the provider had in its prefix cache. Money is
    in billionths of a US dollar, whole, so that sums are the same in any order; None: nobody knows the price of a call.
    `seconds` is the model's time, one call after another.
    """

    calls: int = 0
    reasks: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = Field(default=0, exclude=True)
    nano_usd: int | None = Field(default=0, exclude=True)
    seconds: float = Field(default=0.0, exclude=True)

    @property
    def usd(self) -> float | None:
        """US dollars; None where nobody knows."""
        return None if self.nano_usd is None else self.nano_usd / NANO

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            reasks=self.reasks + other.reasks,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            nano_usd=None if self.nano_usd is None or other.nano_usd is None else self.nano_usd + other.nano_usd,
            seconds=self.seconds + other.seconds,
        )
