"""Requests and tokens per minute as providers grant them, and what they say when these are used up."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from pipelines.embedded.simulated_provider.exchange import Answer, error_answer
from pipelines.embedded.simulated_provider.fault_profile import Weather

Clock = Callable[[], float]


class Allowance:
    """An amount per minute that fills up evenly. A whole minute's worth may be used at once."""

    def __init__(self, kind: str, per_minute: int, *, clock: Clock) -> None:
        self.kind, self.limit = kind, per_minute
        self._clock, self._level, self._seen = clock, float(per_minute), clock()

    @property
    def level(self) -> float:
        """What is left now."""
        now = self._clock()
        self._level = min(self.limit, self._level + (now - self._seen) * self.limit / 60)
        self._seen = now
        return self._level

    def wait_for(self, amount: float) -> float:
        """Seconds until the amount is there; 0 when it is."""
        return max(0.0, amount - self.level) * 60 / self.limit

    def use(self, amount: float) -> None:
        """Take an amount, or give it back when it is negative."""
        self._level = min(self.limit, self.level - amount)

    def headers(self) -> dict[str, str]:
        """Limit, what is left, and the time until all of it is back."""
        left = max(0, math.floor(self.level))
        return {
            f"x-ratelimit-limit-{self.kind}": str(self.limit),
            f"x-ratelimit-remaining-{self.kind}": str(left),
            f"x-ratelimit-reset-{self.kind}": duration(self.wait_for(self.limit)),
        }


@dataclass(frozen=True)
class Needs:
    """What one request takes from the quota. Before the reply is there, its tokens are a guess."""

    requests: int = 1
    tokens: int = 0

    def of(self, kind: str) -> int:
        """The amount of one kind."""
        return self.requests if kind == "requests" else self.tokens


class Quota:
    """The allowances that the weather sets."""

    def __init__(self, weather: Weather, *, clock: Clock = time.monotonic) -> None:
        given = {"requests": weather.requests_per_minute, "tokens": weather.tokens_per_minute}
        self._allowances = [Allowance(kind, amount, clock=clock) for kind, amount in given.items() if amount]

    def admit(self, needs: Needs) -> Answer | None:
        """Use the quota; or a 429, and nothing is used."""
        waits = [(allowance.wait_for(needs.of(allowance.kind)), allowance) for allowance in self._allowances]
        longest = max(waits, key=lambda wait: wait[0], default=None)
        if longest is not None and longest[0] > 0:
            return self._refusal(longest[1], needs=needs, wait=longest[0])
        for allowance in self._allowances:
            allowance.use(needs.of(allowance.kind))
        return None

    def settle(self, guessed: Needs, *, tokens: int) -> None:
        """Correct the guess once the reply is there."""
        for allowance in self._allowances:
            if allowance.kind == "tokens":
                allowance.use(tokens - guessed.tokens)

    def headers(self) -> dict[str, str]:
        """What every answer says about the quota."""
        return {name: value for allowance in self._allowances for name, value in allowance.headers().items()}

    def _refusal(self, short: Allowance, *, needs: Needs, wait: float) -> Answer:
        wanted = needs.of(short.kind)
        advice = f"Please try again in {duration(wait)}." if wanted <= short.limit else "The request is too large."
        left = max(0, math.floor(short.level))
        message = f"Rate limit reached for {short.kind} per minute: limit {short.limit}, left {left}, wanted {wanted}. {advice}"
        waits = {"retry-after": str(math.ceil(wait)), "retry-after-ms": str(math.ceil(wait * 1000))}
        answer = error_answer(429, message, kind=short.kind, code="rate_limit_exceeded")
        return answer.with_headers({**self.headers(), **waits})


def duration(seconds: float) -> str:
    """As providers write it: "120ms", "1.5s", "6m0s"."""
    milliseconds = math.ceil(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes}m{rest / 1000:g}s" if minutes else f"{rest / 1000:g}s"
