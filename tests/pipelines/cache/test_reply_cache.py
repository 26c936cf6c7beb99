"""A reply is kept before it is used, asked for once, and found again without a model."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from assets.llm.async_calls import wait_for_shielded_calls
from assets.llm.ports import CallLabels, EndpointError, ModelReply, ModelRequest
from pipelines.resources.cache.reply_cache import CachedModel, CacheMode, open_replies, request_key
from pipelines.resources.llm.limits.concurrency import AdaptiveLimit
from pipelines.resources.storage.key_value import KeyValueStore
from prompts.template import Message
from tests.pipelines.llm.scripted_server import CLOSED_SCHEMA, a_request


@dataclass
class CountingModel:
    """A model that answers with the number of the call."""

    finish: str = "stop"
    fails: bool = False
    asked: list[ModelRequest] = field(default_factory=list[ModelRequest])
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        number = len(self.asked)
        self.was_asked.set()
        await asyncio.sleep(0.01)
        if self.fails:
            raise EndpointError("The endpoint is gone.")
        return ModelReply(f"reply {number}", "refusal" if self.finish == "refusal" else "stop", 11, 7)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KeyValueStore]:
    kept = open_replies(tmp_path / "calls.sqlite")
    yield kept
    kept.close()


def ask(model: CountingModel, store: KeyValueStore, *requests: ModelRequest, mode: CacheMode = "use") -> list[ModelReply]:
    async def together() -> list[ModelReply]:
        cached = CachedModel(model, store=store, mode=mode)
        return await asyncio.gather(*(cached.complete(request) for request in requests))

    return asyncio.run(together())


def test_a_second_run_asks_nothing(store: KeyValueStore) -> None:
    model = CountingModel(finish="refusal")
    first = ask(model, store, a_request())[0]
    second = ask(model, store, a_request())[0]
    assert first == ModelReply("reply 1", "refusal", 11, 7)
    assert second == replace(first, repeated=True)
    assert len(model.asked) == 1


def test_a_reply_is_on_the_disk_when_it_is_returned(store: KeyValueStore, tmp_path: Path) -> None:
    ask(CountingModel(), store, a_request())
    other = open_replies(tmp_path / "calls.sqlite")
    assert ask(CountingModel(), other, a_request(), mode="replay")[0].text == "reply 1"
    other.close()


def test_equal_requests_at_the_same_time_are_sent_once(store: KeyValueStore) -> None:
    model = CountingModel()
    replies = ask(model, store, *[a_request()] * 20, a_request(sample=1))
    assert len(model.asked) == 2
    assert sorted(reply.repeated for reply in replies) == [False, False] + [True] * 19
    assert len({reply.text for reply in replies[:20]}) == 1


def test_who_waits_gets_what_a_cancelled_caller_has_asked_for(store: KeyValueStore) -> None:
    model = CountingModel()

    async def live() -> ModelReply:
        cached = CachedModel(model, store=store, mode="use")
        first = asyncio.create_task(cached.complete(a_request()))
        second = asyncio.create_task(cached.complete(a_request()))
        await model.was_asked.wait()
        first.cancel()
        return await second

    assert asyncio.run(live()).text == "reply 1"
    assert len(model.asked) == 1


def test_a_stopped_run_keeps_what_is_under_way_and_asks_nothing_that_waited(store: KeyValueStore) -> None:
    model = CountingModel()

    async def live() -> None:
        cached = CachedModel(model, store=store, mode="use", limit=AdaptiveLimit(start=1, ceiling=1))
        callers = [asyncio.create_task(cached.complete(a_request(sample=number))) for number in range(3)]
        await model.was_asked.wait()
        for caller in callers:
            caller.cancel()
        await asyncio.wait(callers)
        await wait_for_shielded_calls()

    asyncio.run(live())
    assert len(model.asked) == 1
    assert ask(model, store, *model.asked, mode="replay")[0].text == "reply 1"


def test_an_error_is_not_kept(store: KeyValueStore) -> None:
    with pytest.raises(EndpointError):
        ask(CountingModel(fails=True), store, a_request())
    assert ask(CountingModel(), store, a_request())[0].repeated is False


def test_the_reply_that_was_kept_first_is_the_one_that_counts(store: KeyValueStore) -> None:
    @dataclass
    class OvertakenModel(CountingModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            await store.put(request_key(request), b'{"text":"theirs","finish":"stop","input_tokens":1,"output_tokens":1}')
            return await super().complete(request)

    assert ask(OvertakenModel(), store, a_request())[0] == ModelReply("theirs", "stop", 1, 1)


def test_a_replay_names_what_is_missing(store: KeyValueStore) -> None:
    model = CountingModel()
    with pytest.raises(EndpointError, match=r"'questions/draft' at stage 'questions' for user 'u-1'"):
        ask(model, store, a_request(), mode="replay")
    assert model.asked == []


def test_off_always_asks_and_keeps_nothing(store: KeyValueStore) -> None:
    model = CountingModel()
    assert [reply.text for reply in ask(model, store, a_request(), a_request(), mode="off")] == ["reply 1", "reply 2"]
    with pytest.raises(EndpointError):
        ask(model, store, a_request(), mode="replay")


def test_everything_but_the_labels_is_the_identity() -> None:
    request = a_request()
    assert request_key(replace(request, labels=CallLabels("events", "u-9", "p", "f"))) == request_key(request)
    others = [
        replace(request, model="m-2"),
        replace(request, messages=(Message("user", "Who?"),)),
        replace(request, temperature=None),
        replace(request, max_output_tokens=51),
        replace(request, schema_name="other"),
        replace(request, json_schema=CLOSED_SCHEMA),
        replace(request, seed=43),
        replace(request, sample=1),
    ]
    assert len({request_key(other) for other in [request, *others]}) == 9
    assert request_key(replace(request, temperature=1)) == request_key(replace(request, temperature=1.0))
    assert request_key(a_request("\ud83d lone surrogate"))
