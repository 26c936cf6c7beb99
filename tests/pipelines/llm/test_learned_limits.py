"""A rate limit that nobody told us of slows a run down and ends nothing."""

import asyncio
import re

import pytest
from starlette.types import Receive, Scope, Send

from assets.llm.ports import EndpointError, ModelReply
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.endpoint_health import EndpointHealth, StopSignal
from tests.pipelines.llm.scripted_server import ScriptedServer, a_request, fault, in_process
from tests.support.virtual_time import run_in_virtual_time, virtual_clock
from tests.support.waiting import LONG, until


class LimitedServer(ScriptedServer):
    """Lets so many requests through at first and then so many a second of virtual time; no header tells."""

    def __init__(self, *, at_first: int, per_second: float) -> None:
        super().__init__()
        self._level, self._most, self._per_second, self._seen = float(at_first), at_first, per_second, 0.0
        self.refused = 0

    async def __call__(self, scope: object, receive: object, send: object) -> None:
        now = virtual_clock()
        self._level = min(self._most, self._level + (now - self._seen) * self._per_second)
        self._seen = now
        if self._level < 1:
            self.refused += 1
            self.says(fault(429, "slow down"))
        else:
            self._level -= 1
        await super().__call__(scope, receive, send)  # type: ignore[arg-type]


def test_calls_that_a_limit_turns_away_all_get_through_in_the_end() -> None:
    server = LimitedServer(at_first=10, per_second=25)
    client = ModelClient(in_process(server, timeout_seconds=30, backoff_seconds=0.5), clock=virtual_clock)

    async def many() -> list[ModelReply]:
        return await asyncio.gather(*(client.complete(a_request(str(number))) for number in range(60)))

    replies, _ = run_in_virtual_time(many())
    assert len(replies) == 60
    assert server.refused < 2 * 60  # each call is turned away once or twice, not at every try


class TurningAway(ScriptedServer):
    """Turns away one request in twenty, and serves the others after half a second."""

    def __init__(self, **headers: str) -> None:
        super().__init__()
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.5)
        if len(self.asked) % 20 == 19:
            self.says(fault(429, "slow down", headers=self._headers))
        await super().__call__(scope, receive, send)


def virtual_seconds(server: ScriptedServer, *, calls: int, at_once: int) -> float:
    """How long it takes until so many calls have their replies, on a clock that jumps."""
    client = ModelClient(in_process(server, backoff_seconds=0.5), clock=virtual_clock)

    async def one_after_another(number: int) -> None:
        for call in range(calls // at_once):
            await client.complete(a_request(f"{number} {call}"))

    async def all_of_them() -> None:
        await asyncio.gather(*(one_after_another(number) for number in range(at_once)))

    return run_in_virtual_time(all_of_them())[1]


def test_a_wait_that_one_call_is_told_does_not_hold_back_those_that_are_served() -> None:
    plain = virtual_seconds(TurningAway(), calls=400, at_once=40)
    told = virtual_seconds(TurningAway(retry_after="1"), calls=400, at_once=40)
    assert told < 1.5 * plain


def test_calls_that_were_sent_together_each_keep_the_wait_that_they_were_told() -> None:
    server = ScriptedServer(together=3)
    server.says(*[fault(429, headers={"Retry-After": seconds}) for seconds in ("1", "5", "20")])
    took = virtual_seconds(server, calls=3, at_once=3)
    assert 20 <= took < 25
    assert len(server.asked) == 6


def test_a_limit_of_an_hour_ends_the_run_at_once_and_says_to_wait() -> None:
    server = ScriptedServer(always=fault(429, headers={"Retry-After": "3600"}))
    with pytest.raises(EndpointError, match="asks to be left alone for 3600 seconds; wait until then"):
        asyncio.run(ModelClient(in_process(server)).complete(a_request()))
    assert len(server.asked) == 1


def test_a_limit_that_lets_nothing_through_is_told_with_the_variable_that_cures_it() -> None:
    server = ScriptedServer(always=fault(429))
    with pytest.raises(EndpointError, match="AMEMGYM_REQUESTS_PER_MINUTE or AMEMGYM_TOKENS_PER_MINUTE"):
        asyncio.run(ModelClient(in_process(server, backoff_seconds=0.001, timeout_seconds=LONG)).complete(a_request()))


def test_an_endpoint_that_never_answers_ends_the_run() -> None:
    server = ScriptedServer(always=fault(429))
    # 1,200 times the first pause; never less than three timeouts.
    with pytest.raises(EndpointError, match="has given no usable reply for"):
        asyncio.run(ModelClient(in_process(server, backoff_seconds=0.001, timeout_seconds=0.1)).complete(a_request()))


def test_while_an_endpoint_does_not_answer_it_is_said_that_and_when_the_run_ends(caplog: pytest.LogCaptureFixture) -> None:
    server = ScriptedServer(always=fault(429))
    client = ModelClient(in_process(server, backoff_seconds=0.001, timeout_seconds=LONG))

    async def until_it_is_said() -> None:
        waiting = asyncio.create_task(client.complete(a_request()))
        await until(lambda: caplog.messages)
        waiting.cancel()

    asyncio.run(until_it_is_said())
    assert "1 call waits, and the run ends after 180 seconds" in caplog.text


def test_where_calls_are_slow_a_silence_is_told_once_after_several_times_what_they_take(
    caplog: pytest.LogCaptureFixture,
) -> None:
    health = EndpointHealth(StopSignal(), endpoint="http://model/v1", warn_after=15, longest_silence=600)

    async def wait(seconds: float) -> None:
        with health.watch_call():
            await asyncio.sleep(seconds)
            health.note_reply(a_request())

    async def three_calls() -> None:
        for seconds in (55, 55, 400):
            await wait(seconds)

    run_in_virtual_time(three_calls())
    told = [re.findall(r"for (\d+) seconds \(", message)[0] for message in caplog.messages]
    assert told == ["15", "165"]
