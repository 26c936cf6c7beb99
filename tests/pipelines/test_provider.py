"""The simulated provider: as slow, metered and unreliable as it is told, the same for the same requests, and survivable."""

import asyncio
import json
import random
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import httpx2
import pytest

from assets.ports import ModelReply, SnapshotRef
from assets.records.base import StageName
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name
from pipelines.embedded.provider import Provider, simulate
from pipelines.embedded.provider_damage import REFUSAL
from pipelines.embedded.provider_quota import Needs, Quota, duration
from pipelines.embedded.provider_weather import Weather
from pipelines.embedded.task import OBJECTION
from pipelines.resources.endpoint import Endpoint
from tests.commands import amemgym, free_port
from tests.pipelines.batched import chain
from tests.pipelines.scripted_server import a_request, on_a_port, settings_for

TEXTS = [f"What about {number}?" for number in range(40)]
STORMY = Weather(errors=0.3, drops=0.2, cut_off=0.2, refusals=0.2, seed=1)
SCHEMA_NAME = "session_queries_check_exposure"
OPTIONS = {"diet": ["vegan", "omnivore", "cannot_tell"], "sleep": ["early", "late", "cannot_tell"]}


def chat(text: str, **more: object) -> dict[str, Any]:
    return {"model": model_name(), "messages": [{"role": "user", "content": text}], **more}


def post(provider: Provider, body: dict[str, Any]) -> httpx2.Response | None:
    """One try; None when the connection was dropped."""

    async def once() -> httpx2.Response | None:
        transport = httpx2.ASGITransport(app=provider)
        async with httpx2.AsyncClient(transport=transport, base_url="http://model") as client:
            try:
                return await client.post("/v1/chat/completions", json=body)
            except ConnectionResetError:
                return None

    return asyncio.run(once())


def fate(provider: Provider, text: str) -> list[object]:
    """What three tries of the same request meet."""
    tries = [post(provider, chat(text)) for _ in range(3)]
    return [answer and (answer.status_code, answer.json().get("choices")) for answer in tries]


def test_faults_are_the_same_whatever_the_order_of_requests() -> None:
    one, other = simulate(create_app(), STORMY), simulate(create_app(), STORMY)
    shuffled = random.Random(0).sample(TEXTS, len(TEXTS))
    there = {text: fate(other, text) for text in shuffled}
    assert {text: fate(one, text) for text in TEXTS} == there
    assert one.log.counts == other.log.counts
    assert min(one.log.counts[fault] for fault in ("errors", "drops", "cut_off", "refusals")) > 5


def test_another_seed_is_another_weather() -> None:
    others = simulate(create_app(), replace(STORMY, seed=2))
    assert [fate(others, text) for text in TEXTS] != [fate(simulate(create_app(), STORMY), text) for text in TEXTS]


def test_fair_weather_changes_nothing() -> None:
    plain = asyncio.run(_direct(chat("Hello?")))
    fair = post(simulate(create_app(), Weather()), chat("Hello?"))
    assert fair is not None
    assert fair.content == plain.content


async def _direct(body: dict[str, Any]) -> httpx2.Response:
    transport = httpx2.ASGITransport(app=create_app())
    async with httpx2.AsyncClient(transport=transport, base_url="http://model") as client:
        return await client.post("/v1/chat/completions", json=body)


@pytest.mark.parametrize("fault", [Weather(cut_off=1.0), Weather(refusals=1.0)])
def test_who_asks_again_after_a_spoilt_reply_hears_what_was_meant(fault: Weather) -> None:
    whole = asyncio.run(_direct(chat("Hello?"))).json()["choices"][0]["message"]["content"]
    spoilt_reply = post(simulate(create_app(), fault), chat("Hello?"))
    assert spoilt_reply is not None
    choice = spoilt_reply.json()["choices"][0]
    said = choice["message"]["content"] or choice["message"]["refusal"]
    assert (said == REFUSAL) or (choice["finish_reason"] == "length" and whole.startswith(said) and said != whole)
    again = chat("Hello?")
    again["messages"] += [{"role": "assistant", "content": said}, {"role": "user", "content": f"{OBJECTION} Again."}]
    # The app in fair weather would answer the longer conversation, with other chances; the provider knows what it did.
    answer = post(simulate(create_app(), replace(fault, cut_off=0.0, refusals=0.0, latency=0.001)), again)
    assert answer is not None
    assert answer.json()["choices"][0]["message"]["content"] == whole


def judgement(text: str) -> dict[str, Any]:
    options = json.dumps(OPTIONS)
    body = chat(f"<state_choices>\n{options}\n</state_choices>\n<query>\n{text}\n</query>", seed=1)
    return {**body, "response_format": {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME}}}


def judged(provider: Provider, text: str) -> dict[str, str]:
    answer = post(provider, judgement(text))
    assert answer is not None
    return json.loads(answer.json()["choices"][0]["message"]["content"])


def test_a_wrong_judgement_is_a_legal_one_and_stays_the_same() -> None:
    right, wrong = simulate(create_app(), Weather()), simulate(create_app(), Weather(wrong_judgements=1.0, errors=0.0001))
    for text in TEXTS[:10]:
        given = judged(wrong, text)
        assert sum(given[name] != value for name, value in judged(right, text).items()) == 1
        assert all(value in OPTIONS[name] for name, value in given.items())
        assert judged(wrong, text) == given
    assert wrong.log.counts["wrong_judgements"] == 20


def test_a_chat_that_judges_nothing_is_left_alone() -> None:
    provider = simulate(create_app(), Weather(wrong_judgements=1.0))
    assert fate(provider, "Hello?") == fate(simulate(create_app(), Weather()), "Hello?")


def test_too_many_requests_get_what_a_provider_says() -> None:
    provider = simulate(create_app(), Weather(requests_per_minute=2))
    answers = [post(provider, chat(text)) for text in TEXTS[:3]]
    assert [answer and answer.status_code for answer in answers] == [200, 200, 429]
    first, last = answers[0], answers[2]
    assert first is not None
    assert last is not None
    assert first.headers["x-ratelimit-limit-requests"] == "2"
    assert first.headers["x-ratelimit-remaining-requests"] == "1"
    assert 29 <= int(last.headers["retry-after"]) <= 30
    assert 29_000 <= int(last.headers["retry-after-ms"]) <= 30_000
    assert last.headers["x-ratelimit-remaining-requests"] == "0"
    assert last.headers["x-ratelimit-reset-requests"].startswith(("59", "1m"))
    error = last.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("requests", "rate_limit_exceeded", None)


def test_a_quota_fills_up_again_and_a_guess_is_corrected() -> None:
    now = [0.0]
    quota = Quota(Weather(requests_per_minute=60, tokens_per_minute=600), clock=lambda: now[0])
    needs = Needs(tokens=500)
    assert quota.admit(needs) is None
    short = quota.admit(needs)
    assert short is not None
    assert dict(short.headers)[b"retry-after"] == b"40"
    assert short.content["error"]["type"] == "tokens"
    quota.settle(needs, tokens=100)
    assert quota.headers()["x-ratelimit-remaining-tokens"] == "500"
    assert quota.admit(needs) is None, "a refusal uses nothing"
    now[0] = 60.0
    assert quota.headers()["x-ratelimit-remaining-tokens"] == "600"
    too_large = quota.admit(Needs(tokens=601))
    assert too_large is not None
    assert "too large" in too_large.content["error"]["message"]


@pytest.mark.parametrize(("seconds", "text"), [(0.12, "120ms"), (1.5, "1.5s"), (90.5, "1m30.5s"), (360, "6m0s")])
def test_durations_read_as_providers_write_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    "weather",
    [
        Weather(errors=0.3),
        Weather(hangs=0.2),
        Weather(drops=0.3),
        Weather(requests_per_minute=300),
        Weather(errors=0.1, hangs=0.1, drops=0.1, requests_per_minute=600),
    ],
)
def test_the_client_survives(weather: Weather) -> None:
    provider = simulate(create_app(), weather)
    requests = [replace(a_request(text), model=model_name(), schema_name="chat") for text in TEXTS]

    async def all_of_them(url: str) -> list[ModelReply]:
        endpoint = Endpoint(settings_for(url, timeout_seconds=0.5, backoff_seconds=0.02))
        return list(await asyncio.gather(*map(endpoint.complete, requests)))

    with on_a_port(provider) as url:
        replies = asyncio.run(all_of_them(url))
    assert {reply.finish for reply in replies} == {"stop"}
    assert provider.log.counts["requests"] + provider.log.counts["limited"] >= len(TEXTS)


def test_cut_off_and_refused_replies_arrive_as_such() -> None:
    async def both(url: str) -> ModelReply:
        return await Endpoint(settings_for(url)).complete(replace(a_request(), model=model_name(), schema_name="chat"))

    for weather, finish in ((Weather(cut_off=1.0), "length"), (Weather(refusals=1.0), "refusal")):
        with on_a_port(simulate(create_app(), weather)) as url:
            assert asyncio.run(both(url)).finish == finish


def test_a_reply_takes_its_time() -> None:
    weather = Weather(latency=0.1, prefill=100, decode=1000)
    answer = asyncio.run(_direct(chat("x" * 40)))
    usage = answer.json()["usage"]
    assert weather.seconds(10, output_tokens=500) == pytest.approx(0.7)
    began = time.monotonic()
    post(simulate(create_app(), weather), chat("x" * 40))
    took = time.monotonic() - began
    assert took >= 0.1 + usage["prompt_tokens"] / 100 + usage["completion_tokens"] / 1000


def test_the_weather_can_be_asked_for() -> None:
    provider = simulate(create_app(api_key="k"), STORMY)

    async def report() -> dict[str, Any]:
        transport = httpx2.ASGITransport(app=provider)
        async with httpx2.AsyncClient(transport=transport, base_url="http://model") as client:
            return (await client.get("/v1/weather")).json()

    assert asyncio.run(report())["weather"]["errors"] == 0.3


@pytest.mark.parametrize("wrong", [{"errors": 1.5}, {"latency": -1.0}])
def test_impossible_weather_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="it goes from 0 up"):
        Weather(**wrong)  # pyright: ignore[reportArgumentType]


def test_the_command_serves_the_weather_and_tells_what_it_brought(tmp_path: Path) -> None:
    port = free_port()
    process = amemgym(tmp_path, "model", "serve", "--port", str(port), "--errors", "1", "--decode", "80", "--seed", "4")
    url = f"http://127.0.0.1:{port}/v1"
    try:
        weather = _when_up(f"{url}/weather").json()["weather"]
        assert (weather["errors"], weather["decode"], weather["seed"]) == (1.0, 80.0, 4)
        assert weather.keys() == get_type_hints(Weather).keys()
        assert httpx2.post(f"{url}/chat/completions", json=chat("Hello?")).status_code == 500
    finally:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    assert "1 errors" in output.splitlines()[-1]


def _when_up(url: str) -> httpx2.Response:
    for _ in range(600):
        try:
            return httpx2.get(url)
        except httpx2.ConnectError:
            time.sleep(0.05)
    raise AssertionError("the server did not start")


@pytest.fixture(scope="module")
def fair(tmp_path_factory: pytest.TempPathFactory) -> dict[StageName, SnapshotRef]:
    with on_a_port(simulate(create_app(), Weather())) as url:
        return chain(url, tmp_path_factory.mktemp("fair"), transport="live")


def made_in(weather: Weather, folder: Path) -> dict[StageName, SnapshotRef]:
    provider = simulate(create_app(), weather)
    with on_a_port(provider) as url:
        refs = chain(url, folder, transport="live", timeout_seconds=0.5)
    brought = [fault for fault in ("errors", "drops", "cut_off", "refusals") if getattr(weather, fault)]
    assert all(provider.log.counts[fault] for fault in brought), provider.log.counts
    return refs


def test_what_is_made_behind_lost_answers_is_the_same_to_the_token(fair: dict[StageName, SnapshotRef], tmp_path: Path) -> None:
    assert made_in(Weather(errors=0.1, hangs=0.02, drops=0.05, requests_per_minute=60), tmp_path) == fair


def test_what_is_made_of_spoilt_replies_is_the_same_for_more_tokens(fair: dict[StageName, SnapshotRef], tmp_path: Path) -> None:
    foul = made_in(Weather(errors=0.05, cut_off=0.12, refusals=0.08, seed=3), tmp_path)
    assert {stage: ref.digest for stage, ref in foul.items()} == {stage: ref.digest for stage, ref in fair.items()}
    used, asked = foul["episodes"].usage, fair["episodes"].usage
    assert sum(use.calls for use in used.values()) > sum(use.calls for use in asked.values())


def test_wrong_judgements_cost_refinements_but_no_user(tmp_path: Path) -> None:
    refs = made_in(Weather(wrong_judgements=0.15), tmp_path)
    assert (refs["episodes"].users, refs["episodes"].failures.users) == (2, 0)
