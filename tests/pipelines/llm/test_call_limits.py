"""The parts of the model client that decide how much is asked, when, and what error messages show."""

import asyncio
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.llm.ports import ModelReply
from pipelines.redaction import MAX_LENGTH, Redactor
from pipelines.resources.llm.compatibility import can_be_strict
from pipelines.resources.llm.limits.concurrency import AdaptiveLimit
from pipelines.resources.llm.limits.rate_limit import LocalRateLimiter, TokenBucket
from pipelines.resources.llm.retry import parse_duration
from tests.pipelines.llm.scripted_server import CLOSED_SCHEMA, KEY, a_request
from tests.support.waiting import LONG

Schema = dict[str, object]


def test_the_limit_grows_with_every_success_until_the_first_overload_and_by_one_per_window_after_it() -> None:
    async def live() -> list[int]:
        limit = AdaptiveLimit(start=4, ceiling=20)
        seen: list[int] = []
        acquired = [await limit.acquire() for _ in range(4)]
        for _ in acquired:
            limit.count_success()
        seen.append(limit.limit)
        for ticket in acquired:
            limit.halve_limit(ticket)  # four calls met one and the same overload
            limit.release()
        seen.append(limit.limit)
        for _ in range(4):
            limit.count_success()
        return [*seen, limit.limit]

    assert asyncio.run(live()) == [8, 4, 5]


def test_the_limit_keeps_between_one_and_its_ceiling() -> None:
    async def live() -> list[int]:
        limit = AdaptiveLimit(start=2, ceiling=3)
        for _ in range(9):
            limit.count_success()
        highest = limit.limit
        for _ in range(5):
            limit.halve_limit(await limit.acquire())
            limit.release()
        return [highest, limit.limit]

    assert asyncio.run(live()) == [3, 1]


def test_calls_that_a_rate_limit_turns_away_make_room_for_fewer_of_them() -> None:
    limit = AdaptiveLimit(start=4, ceiling=20)
    for _ in range(9):
        limit.turned_away()
    assert limit.limit == 1
    limit.count_success()
    assert limit.limit == 2


def test_of_the_calls_that_wait_the_lowest_rank_goes_first_and_then_the_first_that_came() -> None:
    async def live() -> list[str]:
        limit = AdaptiveLimit(start=1, ceiling=1)
        served: list[str] = []

        async def call(name: str, rank: int) -> None:
            await limit.acquire(rank=rank)
            served.append(name)
            limit.release()

        await limit.acquire()
        arrivals = {"audit": 8, "answer": 7, "profile": 1, "another answer": 7, "another profile": 1}
        calls = [asyncio.create_task(call(name, rank)) for name, rank in arrivals.items()]
        await asyncio.sleep(0)
        limit.release()
        await asyncio.gather(*calls)
        return served

    assert asyncio.run(live()) == ["profile", "another profile", "answer", "another answer", "audit"]


def test_a_bucket_spreads_amounts_over_the_minute() -> None:
    now = 0.0
    bucket = TokenBucket(60, clock=lambda: now)
    assert [bucket.reserve(1) for _ in range(3)] == [0.0, 1.0, 2.0]
    now = 10.0
    assert bucket.reserve(1) == 0.0
    assert bucket.reserve(30) == 30.0
    bucket.give_back(30)
    assert bucket.reserve(1) == 1.0


def test_tokens_that_were_reserved_and_not_used_are_given_back() -> None:
    limiter = LocalRateLimiter(requests_per_minute=None, tokens_per_minute=60, clock=lambda: 0.0)
    request = a_request()  # room for 50 tokens, and 4 for the prompt
    assert asyncio.run(limiter.reserve(request)) == 53
    asyncio.run(limiter.settle(request, reply=ModelReply("", "stop", input_tokens=3, output_tokens=1)))
    assert asyncio.run(limiter.reserve(request)) == 57


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2", 2), ("1.5", 1.5), ("20ms", 0.02), ("6m0s", 360), ("1h2m3.5s", 3723.5), ("", 0), ("soon", 0), ("-1", 0)],
)
def test_durations_are_read(text: str, expected: float) -> None:
    assert parse_duration(text) == pytest.approx(expected)


def test_points_in_time_are_read() -> None:
    then = time.time() + 3000
    for text in (formatdate(then, usegmt=True), str(int(then)), str(int(then * 1000))):
        assert 3000 - LONG < parse_duration(text) <= 3001


@given(st.text(), st.text(), st.integers(0, len(KEY) - 6), st.integers(6, len(KEY)))
def test_no_piece_of_the_key_gets_through(before: str, after: str, start: int, length: int) -> None:
    clean = Redactor(KEY).clean(f"{before}{KEY[start : start + length]}{after}")
    assert len(clean) <= MAX_LENGTH
    assert not any(KEY[at : at + 6] in clean for at in range(len(KEY) - 5))


def test_ordinary_words_stay() -> None:
    text = "The model `llama-3.1` does not exist, or max_tokens is too large: 5000 > 4096."
    assert Redactor(KEY).clean(text) == text
    assert Redactor("").clean(text) == text
    assert Redactor("ollama").clean("key ollama\n is wrong") == "key [hidden] is wrong"
    assert Redactor("any").clean("Too many requests with any.") == "Too many requests with [hidden]."


SCHEMAS: list[tuple[Schema, bool]] = [
    (CLOSED_SCHEMA, True),
    (CLOSED_SCHEMA | {"required": []}, False),
    (CLOSED_SCHEMA | {"additionalProperties": True}, False),
    (CLOSED_SCHEMA | {"properties": {"name": {"type": "array", "items": CLOSED_SCHEMA}}}, True),
    (CLOSED_SCHEMA | {"properties": {"name": {"type": "array"}}}, False),
    (CLOSED_SCHEMA | {"properties": {"name": {"title": "anything"}}}, False),
    (CLOSED_SCHEMA | {"properties": {"name": {"anyOf": [{"type": "null"}, {"type": "object"}]}}}, False),
    (CLOSED_SCHEMA | {"properties": {"name": {"$ref": "#/$defs/N"}}, "$defs": {"N": CLOSED_SCHEMA}}, True),
    (CLOSED_SCHEMA | {"$defs": {"N": {"type": "object", "additionalProperties": {"type": "string"}}}}, False),
]


@pytest.mark.parametrize(("schema", "strict"), SCHEMAS)
def test_strict_mode_is_asked_for_closed_schemas_only(schema: Schema, strict: bool) -> None:
    assert can_be_strict(schema) is strict
