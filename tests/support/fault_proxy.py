"""A proxy before a model's app that spoils one kind of thing, seeded, for all calls or a share of them: see `KINDS`."""

import asyncio
import gzip
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from assets.engine.seeded_random import SeededRandom
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

Chat = dict[str, Any]
Spoil = Callable[[Chat], CapturedResponse]
HTML = CapturedResponse(200, b"<html>Welcome to the cafe's network</html>", ((b"content-type", b"text/html"),))
SLOW_SECONDS = 3.0


@cache
def bomb() -> CapturedResponse:
    """Two hundred KB that unpack to 200 MB."""
    return CapturedResponse(200, gzip.compress(bytes(200 << 20)), ((b"content-encoding", b"gzip"),))


def _without_reply(status: int, message: str, *, code: str | None = None, **headers: str) -> Spoil:
    response = error_response(status, message, code=code).with_headers(
        {name.replace("_", "-"): text for name, text in headers.items()}
    )
    return lambda completion: response


def _with_content(text: str | None) -> Spoil:
    def spoil(completion: Chat) -> CapturedResponse:
        choice = completion["choices"][0]
        return _as_response({**completion, "choices": [{**choice, "message": {"role": "assistant", "content": text}}]})

    return spoil


def _with_usage(tokens: int) -> Spoil:
    return lambda completion: _as_response({**completion, "usage": {"prompt_tokens": tokens, "completion_tokens": tokens}})


def _halved(completion: Chat) -> CapturedResponse:
    whole = completion["choices"][0]["message"]["content"]
    return _with_content(whole[: len(whole) // 2])(completion)


def _with_a_null(completion: Chat) -> CapturedResponse:
    """The words with a NUL at the beginning of their first text, as JSON spells it."""
    whole = completion["choices"][0]["message"]["content"]
    return _with_content(whole.replace('": "', '": "\\u0000', 1))(completion)


def _with_half_a_character(completion: Chat) -> CapturedResponse:
    whole = completion["choices"][0]["message"]["content"]
    spoiled = _with_content(whole.replace('": "', '": "@HALF@', 1))(completion)
    return replace(spoiled, body=spoiled.body.replace(b"@HALF@", b"\\ud83d"))


def _as_response(body: Mapping[str, Any]) -> CapturedResponse:
    return CapturedResponse(200, b"").with_content(body)


# What is sent in place of a completion. Those of the first group are the request's own and strike at each of its tries.
OWN: dict[str, Spoil] = {
    "context_length": _without_reply(400, "This model's maximum context length is 8 tokens.", code="context_length_exceeded"),
    "content_filter": _without_reply(400, "The response was filtered.", code="content_filter"),
    "invalid_prompt": _without_reply(400, "Invalid prompt: it was flagged.", code="invalid_prompt"),
    "bad_request": _without_reply(400, "messages: roles must alternate"),
    "always_500": _without_reply(500, "The worker died at this prompt."),
    "huge_usage": _with_usage(10**30),
}
PASSING: dict[str, Spoil] = {
    "error_500": _without_reply(500, "Something went wrong."),
    "bad_gateway": lambda completion: CapturedResponse(502, b"<html>Bad gateway</html>"),
    "unavailable": _without_reply(503, "Overloaded."),
    "overloaded_529": _without_reply(529, "Overloaded."),
    "timeout_408": _without_reply(408, "Timed out."),
    "conflict_409": _without_reply(409, "Conflict."),
    "limit_with_hint": _without_reply(429, "Slow down.", code="rate_limit_exceeded", retry_after="1"),
    "limit_without_hint": _without_reply(429, "Slow down.", code="rate_limit_exceeded"),
    "page_of_html": lambda completion: HTML,
    "error_in_200": lambda completion: _as_response({"error": {"message": "upstream", "code": 502}}),
    "no_choices": lambda completion: _as_response({**completion, "choices": []}),
    "negative_usage": _with_usage(-5),
    "empty_words": _with_content(""),
    "null_words": _with_content(None),
    "rubbish_words": _with_content("Service temporarily degraded."),
    "half_of_the_words": _halved,
    "null_character": _with_a_null,
    "half_a_character": _with_half_a_character,
    "bomb": lambda completion: bomb(),
}
ON_THE_WIRE = ("hangs", "drops", "half_a_body", "slow")
KINDS: tuple[str, ...] = (*OWN, *PASSING, *ON_THE_WIRE)
# Words that cannot be used are complained about, and the reply to a complaint is another.
OTHER_WORDS = {"empty_words", "null_words", "rubbish_words", "half_of_the_words", "null_character", "half_a_character"}


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
        if struck and self.kind in ON_THE_WIRE:
            return await self._on_the_wire(request, receive, send)
        completion = await forward(self.app, request)
        if struck and completion.status == 200:
            return await send_response((OWN | PASSING)[self.kind](completion.content), send)
        await send_response(completion, send)
        self._note(request)
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

    async def _on_the_wire(self, request: CapturedRequest, receive: Receive, send: Send) -> None:
        if self.kind == "hangs":
            return await hang(receive)
        if self.kind == "drops":
            return await drop(receive, send)
        completion = await forward(self.app, request)
        if self.kind == "slow":
            await asyncio.sleep(SLOW_SECONDS)
            await send_response(completion, send)
            return self._note(request)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"99999")]})
        await send({"type": "http.response.body", "body": completion.body[: len(completion.body) // 2], "more_body": True})
        return await drop(receive, send)

    def _note(self, request: CapturedRequest) -> None:
        now = time.monotonic()
        self.longest_silence = max(self.longest_silence, now - (self.last_reply or now))
        self.last_reply = now
        self.delivered[request.identity] += 1
