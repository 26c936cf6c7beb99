"""Limits of requests and tokens per minute: those of the settings, and those that the endpoint lets know."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

from assets.llm.ports import ModelReply, ModelRequest
from pipelines.resources.llm.retry import REMAINING, RESET, parse_duration

CHARACTERS_PER_TOKEN = 4
# Seconds that a 429 without a hint holds all calls back; twice as long each time.
FIRST_HOLD = 0.5
LONGEST_HOLD = 30.0
# The interval grows at once and shrinks little by little, so that a limit is met from below.
SLOWER = 1.5
FASTER = 0.95
NO_LIMIT = 0.02  # seconds between calls that are not worth a turn


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
        """The amount that is left, and as of when; another bucket goes on from it."""
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
    """One model's rate limit, learned from headers and answers of status 429; nothing is held back before there are any.

    A 429 holds all calls back for a moment, and afterwards they are sent one at a time, as many a minute as got through. How
    long it asks to wait is first of all a matter of its own call: some endpoints turn away one call in twenty, and serve the
    others. It holds all calls where the headers say that the limit is used up, or where nothing got through since the last 429.
    Replies make it faster again, little by little, so that a limit that was raised is found. It belongs to no event loop.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._interval = 0.0  # seconds between calls that take turns; 0: nothing is held back
        self._not_before = 0.0
        self._slowed_at = 0.0
        self._hold = 0.0  # seconds that the last 429 held all calls back; 0 after a reply
        self._replies: deque[float] = deque()  # when those of the last minute came
        self._first: float | None = None

    @property
    def wait(self) -> float:
        """Seconds until the next call may be sent."""
        return max(0.0, self._not_before - self._clock())

    @property
    def holds(self) -> bool:
        """True while calls have to take turns."""
        return bool(self._interval) or self.wait > 0

    def take_turn(self) -> None:
        """Note that a call is sent now."""
        self._not_before = max(self._not_before, self._clock() + self._interval)

    def limited(self, *, sent_at: float, retry_after: float, used_up: bool = False) -> None:
        """Note a 429 to a call that was sent at a time. One that was sent before the last 429 says nothing new."""
        now = self._clock()
        for_all = used_up
        if sent_at >= self._slowed_at:
            for_all = used_up or self._hold > 0
            self._slowed_at = now
            # While nothing gets through, the hold grows: that says how long the limit lasts, and nothing of the pace after it.
            if not self._hold:
                self._interval = max(SLOWER * self._interval, self._observed_interval())
            self._hold = min(max(2 * self._hold, FIRST_HOLD), LONGEST_HOLD)
        wait = retry_after if for_all and retry_after else self._hold
        self._not_before = max(self._not_before, now + wait)

    def answered(self, request: ModelRequest, *, headers: Mapping[str, str]) -> None:
        """Note a reply; its headers may say that the next call has to wait."""
        now = self._clock()
        self._first = now if self._first is None else self._first
        self._replies.append(now)
        while self._replies[0] < now - 60:
            self._replies.popleft()
        self._hold = 0.0
        faster = self._interval * FASTER
        self._interval = faster if faster > NO_LIMIT else 0.0
        requests = _seconds_until(1, kind="requests", headers=headers)
        tokens = _seconds_until(likely_tokens(request), kind="tokens", headers=headers)
        wait = max(requests, tokens)
        if wait:
            self._not_before = max(self._not_before, now + wait)

    def _observed_interval(self) -> float:
        """Return the seconds per reply over the last minute; one second before the first reply."""
        if self._first is None or not self._replies:
            return 1.0
        return min(60.0, max(self._clock() - self._first, 1.0)) / len(self._replies)


def _seconds_until(amount: float, *, kind: str, headers: Mapping[str, str]) -> float:
    """Return the seconds until so much is there again, from what is left and when all of it is; 0 where no header says."""
    limit_text = headers.get(f"x-ratelimit-limit-{kind}", "")
    left_text = headers.get(f"{REMAINING}-{kind}", "")
    if not (limit_text.isdecimal() and left_text.isdecimal()):
        return 0.0
    limit = int(limit_text)
    left = int(left_text)
    needed = min(amount, limit)  # more than the whole limit never comes
    if left >= needed:
        return 0.0
    whole = parse_duration(headers.get(f"{RESET}-{kind}", ""))
    return min(whole, (needed - left) * whole / (limit - left))


def likely_tokens(request: ModelRequest) -> int:
    """Return the tokens that providers count in advance: the prompt's length and the whole room for the reply."""
    return sum(len(message.content) for message in request.messages) // CHARACTERS_PER_TOKEN + request.max_output_tokens
