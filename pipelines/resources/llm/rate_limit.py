"""How much may be asked of an endpoint per minute: what the settings say, and what the endpoint lets know."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

from assets.llm.ports import ModelReply, ModelRequest
from pipelines.resources.llm.retry import RESET, parse_duration

CHARACTERS_PER_TOKEN = 4
FIRST_HOLD, LONGEST_HOLD = 0.5, 30.0  # seconds that a 429 without a hint holds all calls back; twice as long each time
SLOWER, FASTER, NO_LIMIT = 1.5, 0.95, 0.02  # the last: seconds between calls that are not worth a turn


class RateLimiter(Protocol):
    """Requests and tokens per minute. `reserve` gives the seconds to wait before sending."""

    async def reserve(self, request: ModelRequest) -> float: ...

    async def settle(self, request: ModelRequest, *, reply: ModelReply) -> None: ...


class TokenBucket:
    """Amounts per minute, evenly spread, with one second's worth in advance. It belongs to no event loop."""

    def __init__(
        self, per_minute: int, *, clock: Callable[[], float] = time.monotonic, state: tuple[float, float] | None = None
    ) -> None:
        self._rate = per_minute / 60
        self._capacity = max(1.0, self._rate)
        self._clock = clock
        self._level, self._seen = state or (self._capacity, clock())

    @property
    def state(self) -> tuple[float, float]:
        """What is left, and as of when; another bucket goes on from it."""
        return self._level, self._seen

    def reserve(self, amount: float) -> float:
        """The seconds to wait before the amount may be used."""
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._seen) * self._rate)
        self._seen = now
        self._level -= amount
        return max(0.0, -self._level / self._rate)

    def give_back(self, amount: float) -> None:
        """Return what was reserved and not used; a negative amount was used beyond what was reserved."""
        self._level = min(self._capacity, self._level + amount)


class LocalRateLimiter:
    """The RateLimiter port for one process alone."""

    def __init__(
        self,
        *,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._requests = TokenBucket(requests_per_minute, clock=clock) if requests_per_minute else None
        self._tokens = TokenBucket(tokens_per_minute, clock=clock) if tokens_per_minute else None

    async def reserve(self, request: ModelRequest) -> float:
        """Reserve one request and its likely tokens; the seconds to wait before sending it."""
        requests = self._requests.reserve(1) if self._requests else 0.0
        tokens = self._tokens.reserve(likely_tokens(request)) if self._tokens else 0.0
        return max(requests, tokens)

    async def settle(self, request: ModelRequest, *, reply: ModelReply) -> None:
        """Correct the reservation by what the reply says it used."""
        if self._tokens and reply.input_tokens:
            self._tokens.give_back(likely_tokens(request) - reply.input_tokens - reply.output_tokens)


class LearnedLimit:
    """One model's rate limit, as far as headers and answers of status 429 tell it; nothing is held back before they do.

    A 429 holds all calls back, and afterwards they are sent one at a time, as many a minute as got through. Replies make it
    faster again, little by little, so that a limit that was raised is found. It belongs to no event loop.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._interval, self._not_before, self._slowed_at, self._hold = 0.0, 0.0, 0.0, 0.0
        self._replies: deque[float] = deque()
        self._first: float | None = None

    @property
    def wait(self) -> float:
        """Seconds until the next call may be sent."""
        return max(0.0, self._not_before - self._clock())

    @property
    def holds(self) -> bool:
        """Whether calls have to take turns."""
        return bool(self._interval) or self.wait > 0

    def take_turn(self) -> None:
        """A call is sent now."""
        self._not_before = max(self._not_before, self._clock() + self._interval)

    def limited(self, *, sent_at: float, retry_after: float) -> None:
        """A 429 to a call that was sent then. Those that were sent before the last 429 tell nothing new."""
        now = self._clock()
        if sent_at >= self._slowed_at:
            self._slowed_at = now
            # While nothing gets through, the hold grows: that says how long the limit lasts, and nothing of the pace after it.
            if not self._hold:
                self._interval = max(SLOWER * self._interval, self._observed_interval())
            self._hold = min(max(2 * self._hold, FIRST_HOLD), LONGEST_HOLD)
        self._not_before = max(self._not_before, now + (retry_after or self._hold))

    def answered(self, request: ModelRequest, *, headers: Mapping[str, str]) -> None:
        """A reply has come; its headers may say that the next one has to wait."""
        now = self._clock()
        self._first = now if self._first is None else self._first
        self._replies.append(now)
        while self._replies[0] < now - 60:
            self._replies.popleft()
        self._hold, faster = 0.0, self._interval * FASTER
        self._interval = faster if faster > NO_LIMIT else 0.0
        needs = {"requests": 1, "tokens": likely_tokens(request)}
        wait = max(_seconds_until(amount, kind=kind, headers=headers) for kind, amount in needs.items())
        if wait:
            self._not_before = max(self._not_before, now + wait)

    def _observed_interval(self) -> float:
        """Seconds per reply over the last minute; none came yet: a second."""
        if self._first is None or not self._replies:
            return 1.0
        return min(60.0, max(self._clock() - self._first, 1.0)) / len(self._replies)


def _seconds_until(amount: float, *, kind: str, headers: Mapping[str, str]) -> float:
    """When so much is there again, from what is left and the time in which all of it comes back; 0 where nobody says."""
    limit, left = (headers.get(f"x-ratelimit-{name}-{kind}", "") for name in ("limit", "remaining"))
    if not (limit.isdecimal() and left.isdecimal()) or not int(left) < min(amount, int(limit)):
        return 0.0
    whole = parse_duration(headers.get(f"{RESET}-{kind}", ""))
    return min(whole, (min(amount, int(limit)) - int(left)) * whole / (int(limit) - int(left)))


def likely_tokens(request: ModelRequest) -> int:
    """What providers count before they know: the prompt's length and the whole room for the reply."""
    return sum(len(message.content) for message in request.messages) // CHARACTERS_PER_TOKEN + request.max_output_tokens
