"""The weather at a simulated provider: how slow it is, how much it lets through, and how often it goes wrong."""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from assets.engine.seeded_random import SeededRandom

Fault = Literal["errors", "hangs", "drops", "cut_off", "refusals", "wrong_judgements", "expired"]


def _number(about: str) -> Any:
    return field(default=0.0, metadata={"about": about})


def _count(about: str) -> Any:
    return field(default=0, metadata={"about": about})


def _rate(about: str) -> Any:
    return field(default=0.0, metadata={"about": f"Share of {about}, from 0 to 1.", "most": 1.0})


@dataclass(frozen=True, kw_only=True)
class Weather:
    """Fair unless told otherwise. Where 0 would mean nothing gets through, it means no limit.

    A fault is a matter of the seed, of what a request says and of how often it was made before; never of the clock or of
    other requests. Raises ValueError when a number is negative or a rate above 1.
    """

    latency: float = _number("Seconds before a reply begins.")
    prefill: float = _number("Input tokens read per second; 0: at once.")
    decode: float = _number("Output tokens written per second; 0: at once.")
    requests_per_minute: int = _count("Requests let through per minute; 0: no limit.")
    tokens_per_minute: int = _count("Tokens let through per minute; 0: no limit.")
    errors: float = _rate("requests answered with status 500")
    hangs: float = _rate("requests never answered")
    drops: float = _rate("requests whose connection closes without an answer, after the work was done")
    cut_off: float = _rate("replies cut off in the middle")
    refusals: float = _rate("replies that refuse")
    wrong_judgements: float = _rate("judgements replaced by another legal one")
    batch_delay: float = _number("Seconds that a batch job takes.")
    expired: float = _rate("lines of a batch that are not done in time")
    seed: int = _count("Seed of the faults.")

    def __post_init__(self) -> None:
        for option in fields(self):
            value, most = getattr(self, option.name), option.metadata.get("most")
            if value < 0 or (most is not None and value > most):
                raise ValueError(f"{option.name} is {value}; it goes from 0 up{f' to {most:g}' if most else ''}.")

    def brings(self, fault: Fault, *path: object) -> bool:
        """Whether the fault strikes the request with this path."""
        return SeededRandom(self.seed, fault, *path).bernoulli(getattr(self, fault))

    def seconds(self, input_tokens: int, *, output_tokens: int) -> float:
        """How long a reply takes."""
        reading = input_tokens / self.prefill if self.prefill else 0.0
        return self.latency + reading + (output_tokens / self.decode if self.decode else 0.0)


@dataclass
class Log:
    """What happened so far. `tries` counts how often each request was made, refusals for lack of quota left out."""

    counts: Counter[str] = field(default_factory=Counter[str])
    tries: Counter[str] = field(default_factory=Counter[str])

    def tried(self, identity: str) -> int:
        """Count a try; how many there were before it."""
        self.tries[identity] += 1
        return self.tries[identity] - 1
