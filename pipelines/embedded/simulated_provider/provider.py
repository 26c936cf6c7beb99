"""A simulated provider: an OpenAI-compatible app seen through bad weather, with a Batch API in front."""

import asyncio
import time
from dataclasses import asdict
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from pipelines.embedded.simulated_provider.batches import Batches
from pipelines.embedded.simulated_provider.damage import Damage, meant_by
from pipelines.embedded.simulated_provider.exchange import CHAT, Answer, Asked, ask, drop, error_answer, hang, read, tell
from pipelines.embedded.simulated_provider.fault_profile import Fault, Log, Weather
from pipelines.embedded.simulated_provider.quota import Needs, Quota

WEATHER = "/v1/weather"
BATCH_PATHS = ("/v1/files", "/v1/batches")
CHARACTERS_PER_TOKEN = 4
BEFORE_THE_WORK: tuple[Fault, ...] = ("errors", "hangs")


def simulate(app: ASGIApp, weather: Weather) -> "Provider":
    """The app as a metered, slow and unreliable service. GET /v1/weather tells the weather and what it brought so far."""
    return Provider(app, weather)


class Provider:
    """An ASGI app. In fair weather everything but batches goes straight to the app behind."""

    def __init__(self, app: ASGIApp, weather: Weather) -> None:
        self.weather, self.log = weather, Log()
        self._app, self._fair = app, weather == Weather(batch_delay=weather.batch_delay, seed=weather.seed)
        self._quota = Quota(weather)
        self._damage = Damage(weather, log=self.log)
        self._batches = Batches(app, weather, log=self.log, answer_line=self._line)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == WEATHER:
            await tell(self._report(), send)
        elif scope["path"].startswith(BATCH_PATHS):
            await self._serve(scope, receive, send, behind=self._batches)
        elif self._fair:
            self.log.counts["requests"] += 1
            await self._app(scope, receive, send)
        else:
            await self._serve(scope, receive, send, behind=self._app)

    def _report(self) -> Answer:
        return Answer(200, b"").saying({"weather": asdict(self.weather), "counts": dict(sorted(self.log.counts.items()))})

    async def _serve(self, scope: Scope, receive: Receive, send: Send, *, behind: ASGIApp) -> None:
        began, asked = time.monotonic(), await read(scope, receive)
        needs = Needs(tokens=_likely_tokens(asked.content) if asked.path == CHAT else 0)
        limited = self._quota.admit(needs)
        if limited is not None:
            self.log.counts["limited"] += 1
            return await tell(limited, send)
        self.log.counts["requests"] += 1
        path = (asked.identity, self.log.tried(asked.identity))
        fault = self._fault(path)
        if fault == "hangs":
            return await hang(receive)
        answer = _broken() if fault == "errors" else await self._answer(asked, behind=behind, path=path)
        self._quota.settle(needs, tokens=_used(asked, answer)[2])
        await asyncio.sleep(max(0.0, began + self._delay(asked, answer) - time.monotonic()))
        if self._strikes("drops", path):
            return await drop(receive, send)
        return await tell(answer.with_headers(self._quota.headers()), send)

    def _fault(self, path: tuple[str, int]) -> Fault | None:
        return next((fault for fault in BEFORE_THE_WORK if self._strikes(fault, path)), None)

    def _strikes(self, fault: Fault, path: tuple[str, int]) -> bool:
        struck = self.weather.brings(fault, *path)
        self.log.counts[fault] += struck
        return struck

    def _delay(self, asked: Asked, answer: Answer) -> float:
        if asked.path != CHAT:
            return 0.0
        prompt, completion, _ = _used(asked, answer)
        return self.weather.seconds(prompt, output_tokens=completion)

    async def _line(self, asked: Asked, path: tuple[str, int]) -> Answer:
        """Answer a line of a batch: it may fail, but not keep anyone waiting."""
        return _broken() if self._strikes("errors", path) else await self._answer(asked, behind=self._app, path=path)

    async def _answer(self, asked: Asked, *, behind: ASGIApp, path: tuple[str, int]) -> Answer:
        chat = asked.content
        if asked.path != CHAT or chat is None or not isinstance(chat.get("messages"), list):
            return await ask(behind, asked)

        async def whole(other: dict[str, Any]) -> str:
            answer = await ask(behind, asked.saying(other))
            return answer.content["choices"][0]["message"]["content"] if answer.status == 200 else ""

        meant = await meant_by(chat, whole)
        answer = await ask(behind, asked if meant is chat else asked.saying(meant))
        if answer.status != 200:
            return answer
        return answer.saying(self._damage.spoil(chat, answer.content, meant=meant, path=path))


def _broken() -> Answer:
    return error_answer(500, "The simulated server failed at this request.", kind="server_error")


def _likely_tokens(chat: dict[str, Any] | None) -> int:
    """What is counted before the reply is there: the prompt by its length, and the whole room for the reply."""
    if chat is None or not isinstance(chat.get("messages"), list):
        return 0
    said = sum(len(str(message.get("content"))) for message in chat["messages"])
    return said // CHARACTERS_PER_TOKEN + int(chat.get("max_completion_tokens") or chat.get("max_tokens") or 0)


def _used(asked: Asked, answer: Answer) -> tuple[int, int, int]:
    """Input, output and all tokens of an answer; none, where it is not a completion."""
    if asked.path != CHAT or answer.status != 200:
        return 0, 0, 0
    usage: dict[str, int] = answer.content["usage"]
    return usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]
