"""The simulated provider: an OpenAI-compatible app made slow, metered and unreliable, with a Batch API in front."""

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.simulated_provider.batches import Batches
from tests.support.simulated_provider.exchange import (
    CHAT,
    CapturedRequest,
    CapturedResponse,
    drop,
    error_response,
    forward,
    hang,
    read,
    send_response,
)
from tests.support.simulated_provider.fault_profile import Fault, FaultLog, FaultProfile, ReplyFaults, meant_by

FAULTS = "/v1/faults"
BATCH_PATHS = ("/v1/files", "/v1/batches")
CHARACTERS_PER_TOKEN = 4
BEFORE_THE_WORK: tuple[Fault, ...] = ("errors", "hangs")
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
    """Requests and tokens per minute as providers grant them, and what they answer when these are used up."""

    def __init__(self, profile: FaultProfile, *, clock: Clock = time.monotonic) -> None:
        given = {"requests": profile.requests_per_minute, "tokens": profile.tokens_per_minute}
        self._allowances = [Allowance(kind, amount, clock=clock) for kind, amount in given.items() if amount]

    def admit(self, needs: Needs) -> CapturedResponse | None:
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
        """What every response says about the quota."""
        return {name: value for allowance in self._allowances for name, value in allowance.headers().items()}

    def _refusal(self, short: Allowance, *, needs: Needs, wait: float) -> CapturedResponse:
        wanted = needs.of(short.kind)
        advice = f"Please try again in {duration(wait)}." if wanted <= short.limit else "The request is too large."
        left = max(0, math.floor(short.level))
        message = f"Rate limit reached for {short.kind} per minute: limit {short.limit}, left {left}, wanted {wanted}. {advice}"
        waits = {"retry-after": str(math.ceil(wait)), "retry-after-ms": str(math.ceil(wait * 1000))}
        response = error_response(429, message, kind=short.kind, code="rate_limit_exceeded")
        return response.with_headers({**self.headers(), **waits})


def duration(seconds: float) -> str:
    """As providers write it: "120ms", "1.5s", "6m0s"."""
    milliseconds = math.ceil(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes}m{rest / 1000:g}s" if minutes else f"{rest / 1000:g}s"


class Provider:
    """An ASGI app. Without faults everything but batches goes straight to the app behind.

    GET /v1/faults shows the profile and what struck so far.
    """

    def __init__(self, app: ASGIApp, profile: FaultProfile, *, clock: Clock = time.monotonic) -> None:
        """`clock`: that of batch jobs."""
        self.profile, self.log = profile, FaultLog()
        self._app, self._no_faults = app, profile == FaultProfile(batch_delay=profile.batch_delay, seed=profile.seed)
        self._quota = Quota(profile)
        self._reply_faults = ReplyFaults(profile, log=self.log)
        self._batches = Batches(app, profile, log=self.log, respond=self._line, clock=clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == FAULTS:
            await send_response(self._report(), send)
        elif scope["path"].startswith(BATCH_PATHS):
            await self._serve(scope, receive, send, behind=self._batches)
        elif self._no_faults:
            self.log.counts["requests"] += 1
            await self._app(scope, receive, send)
        else:
            await self._serve(scope, receive, send, behind=self._app)

    def _report(self) -> CapturedResponse:
        counts = dict(sorted(self.log.counts.items()))
        return CapturedResponse(200, b"").with_content({"profile": asdict(self.profile), "counts": counts})

    async def _serve(self, scope: Scope, receive: Receive, send: Send, *, behind: ASGIApp) -> None:
        began, request = time.monotonic(), await read(scope, receive)
        needs = Needs(tokens=_likely_tokens(request.content) if request.path == CHAT else 0)
        limited = self._quota.admit(needs)
        if limited is not None:
            self.log.counts["limited"] += 1
            return await send_response(limited, send)
        self.log.counts["requests"] += 1
        path = (request.identity, self.log.tried(request.identity))
        fault = self._fault(path)
        if fault == "hangs":
            return await hang(receive)
        response = _broken() if fault == "errors" else await self._respond(request, behind=behind, path=path)
        self._quota.settle(needs, tokens=_used(request, response)[2])
        await asyncio.sleep(max(0.0, began + self._delay(request, response) - time.monotonic()))
        if self._strikes("drops", path):
            return await drop(receive, send)
        return await send_response(response.with_headers(self._quota.headers()), send)

    def _fault(self, path: tuple[str, int]) -> Fault | None:
        return next((fault for fault in BEFORE_THE_WORK if self._strikes(fault, path)), None)

    def _strikes(self, fault: Fault, path: tuple[str, int]) -> bool:
        struck = self.profile.strikes(fault, *path)
        self.log.counts[fault] += struck
        return struck

    def _delay(self, request: CapturedRequest, response: CapturedResponse) -> float:
        if request.path != CHAT:
            return 0.0
        prompt, completion, _ = _used(request, response)
        return self.profile.seconds(prompt, output_tokens=completion)

    async def _line(self, request: CapturedRequest, path: tuple[str, int]) -> CapturedResponse:
        """Answer a line of a batch: it may fail, but not keep anyone waiting."""
        return _broken() if self._strikes("errors", path) else await self._respond(request, behind=self._app, path=path)

    async def _respond(self, request: CapturedRequest, *, behind: ASGIApp, path: tuple[str, int]) -> CapturedResponse:
        chat = request.content
        if request.path != CHAT or chat is None or not isinstance(chat.get("messages"), list):
            return await forward(behind, request)

        async def whole(other: dict[str, Any]) -> str:
            response = await forward(behind, request.with_content(other))
            return response.content["choices"][0]["message"]["content"] if response.status == 200 else ""

        meant = await meant_by(chat, whole)
        response = await forward(behind, request if meant is chat else request.with_content(meant))
        if response.status != 200:
            return response
        answered = self._reply_faults.apply(chat, response.content, meant=meant, path=path)
        return response.with_content({**answered, "id": f"chatcmpl-{request.identity[:24]}"})


def _broken() -> CapturedResponse:
    return error_response(500, "The simulated server failed at this request.", kind="server_error")


def _likely_tokens(chat: dict[str, Any] | None) -> int:
    """What is counted before the reply is there: the prompt by its length, and the whole room for the reply."""
    if chat is None or not isinstance(chat.get("messages"), list):
        return 0
    length = sum(len(str(message.get("content"))) for message in chat["messages"])
    return length // CHARACTERS_PER_TOKEN + int(chat.get("max_completion_tokens") or chat.get("max_tokens") or 0)


def _used(request: CapturedRequest, response: CapturedResponse) -> tuple[int, int, int]:
    """Input, output and all tokens of a response; none, where it is not a completion."""
    if request.path != CHAT or response.status != 200:
        return 0, 0, 0
    usage: dict[str, int] = response.content["usage"]
    return usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]
