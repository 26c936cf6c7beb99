"""A proxy before a model's app that spoils one kind of thing, seeded, for all calls or a share of them: see `fault_kinds`."""

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send

from assets.engine.seeded_random import SeededRandom
from tests.support.fault_kinds import (
    GOOD_RAW,
    INSTEAD,
    ODD,
    ON_THE_WIRE,
    OWN,
    RAW,
    TURNED_AWAY,
    as_response,
    with_planted_word,
)
from tests.support.simulated_provider.exchange import (
    CHAT,
    CapturedRequest,
    CapturedResponse,
    drop,
    forward,
    hang,
    read,
    send_raw,
    send_response,
)

SLOW_SECONDS = 3.0


@dataclass
class FaultProxy:
    """An ASGI app. `rate`: share of the tries that are spoiled, or of the requests where the fault is the request's own.

    `seconds`: faults end so long after the first call; 0: never. `chosen`: spoil only requests that contain this text.
    """

    app: ASGIApp
    kind: str = "error_500"
    rate: float = 1.0
    seconds: float = 0.0
    chosen: str = ""
    seed: int = 0
    counts: Counter[str] = field(default_factory=Counter[str])
    tries: Counter[str] = field(default_factory=Counter[str])
    delivered: Counter[str] = field(default_factory=Counter[str])  # good replies by request: from the second on, paid twice
    longest_silence: float = 0.0
    last_reply: float = 0.0  # when the last good one went out, by time.monotonic
    elsewhere: str = "http://127.0.0.2:9"  # where a redirect leads
    billed: int = 0  # tokens of all that the model wrote, whatever became of it
    under_way: int = 0
    most_under_way: int = 0
    most_billed: int = 0  # tokens of one reply
    _before: CapturedResponse | None = None
    _began: float = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != CHAT:
            return await self.app(scope, receive, send)
        now = time.monotonic()
        self._began = self._began or now
        self.last_reply = self.last_reply or now
        request = await read(scope, receive)
        struck = self._strikes(request)
        if struck:
            self.longest_silence = max(self.longest_silence, now - self.last_reply)
        self.counts["spoiled" if struck else "passed"] += 1
        spoiled = self.kind if struck else ""
        turned_away = spoiled in TURNED_AWAY
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            completion = await forward(self.app, request)
            if completion.status == 200 and not turned_away:
                usage: dict[str, int] = completion.content["usage"]
                used = usage["prompt_tokens"] + usage["completion_tokens"]
                self.billed += used
                self.most_billed = max(self.most_billed, used)
            if spoiled in ON_THE_WIRE:
                return await self._on_the_wire(request, completion, receive=receive, send=send)
            if struck and completion.status == 200:
                await send_response(INSTEAD[self.kind](completion.content), send)
                return self._note(request) if self.kind in ODD else None
            await send_response(completion, send)
            self._before = self._before or completion
            self._note(request)
        finally:
            self.under_way -= 1
        return None

    @property
    def repeated(self) -> int:
        """Good replies to requests that had a good reply already."""
        return sum(count - 1 for count in self.delivered.values())

    @property
    def seconds_left(self) -> float:
        """Until the faults end, where they do."""
        return max(0.0, self._began + self.seconds - time.monotonic())

    def next_run(self) -> None:
        """What passes until the next call is no silence."""
        self.last_reply = 0.0

    def _strikes(self, request: CapturedRequest) -> bool:
        if self.seconds and time.monotonic() - self._began > self.seconds:
            return False
        if self.chosen and self.chosen not in json.dumps(request.content, ensure_ascii=False):
            return False
        self.tries[request.identity] += 1
        number = 0 if self.kind in OWN else self.tries[request.identity]
        return SeededRandom(self.seed, self.kind, request.identity, number).bernoulli(self.rate)

    async def _on_the_wire(
        self, request: CapturedRequest, completion: CapturedResponse, *, receive: Receive, send: Send
    ) -> None:
        if self.kind == "hangs":
            return await hang(receive)
        if self.kind == "drops":
            return await drop(receive, send)
        if self.kind in ("redirect", "redirect_home"):
            place = self.elsewhere if self.kind == "redirect" else f"{CHAT}?again=1"
            return await send_response(CapturedResponse(307, b"").with_headers({"location": place}), send)
        if self.kind == "others_reply":
            return await send_response(self._before or completion, send)
        if self.kind == "slow":
            await asyncio.sleep(SLOW_SECONDS)
            await send_response(completion, send)
            return self._note(request)
        if self.kind in RAW or self.kind in GOOD_RAW:
            planted = as_response(with_planted_word(completion.content)).body
            await send_raw((RAW | GOOD_RAW)[self.kind](completion.body, planted), receive=receive, send=send)
            return self._note(request) if self.kind in GOOD_RAW else None
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"99999")]})
        await send({"type": "http.response.body", "body": completion.body[: len(completion.body) // 2], "more_body": True})
        return await (hang(receive) if self.kind == "hangs_in_the_body" else drop(receive, send))

    def _note(self, request: CapturedRequest) -> None:
        now = time.monotonic()
        self.longest_silence = max(self.longest_silence, now - (self.last_reply or now))
        self.last_reply = now
        self.delivered[request.identity] += 1
