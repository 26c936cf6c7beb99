"""The simulated provider over a socket: the command serves it, and the client and the whole chain survive it."""

import asyncio
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import httpx2
import pytest

from assets.llm.ports import ModelReply, SnapshotRef
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name
from pipelines.embedded.simulated_provider.fault_profile import Weather
from pipelines.embedded.simulated_provider.provider import simulate
from pipelines.resources.llm.client import ModelClient
from tests.pipelines.llm.batched import chain
from tests.pipelines.llm.provider_requests import TEXTS, chat
from tests.pipelines.llm.scripted_server import a_request, on_a_port, settings_for
from tests.support.commands import amemgym, free_port


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
        endpoint = ModelClient(settings_for(url, timeout_seconds=0.5, backoff_seconds=0.02))
        return list(await asyncio.gather(*map(endpoint.complete, requests)))

    with on_a_port(provider) as url:
        replies = asyncio.run(all_of_them(url))
    assert {reply.finish for reply in replies} == {"stop"}
    assert provider.log.counts["requests"] + provider.log.counts["limited"] >= len(TEXTS)


def test_cut_off_and_refused_replies_arrive_as_such() -> None:
    async def both(url: str) -> ModelReply:
        return await ModelClient(settings_for(url)).complete(replace(a_request(), model=model_name(), schema_name="chat"))

    for weather, finish in ((Weather(cut_off=1.0), "length"), (Weather(refusals=1.0), "refusal")):
        with on_a_port(simulate(create_app(), weather)) as url:
            assert asyncio.run(both(url)).finish == finish


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
def fair(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SnapshotRef]:
    with on_a_port(simulate(create_app(), Weather())) as url:
        return chain(url, tmp_path_factory.mktemp("fair"), transport="live")


def made_in(weather: Weather, folder: Path) -> dict[str, SnapshotRef]:
    provider = simulate(create_app(), weather)
    with on_a_port(provider) as url:
        refs = chain(url, folder, transport="live", timeout_seconds=0.5)
    brought = [fault for fault in ("errors", "drops", "cut_off", "refusals") if getattr(weather, fault)]
    assert all(provider.log.counts[fault] for fault in brought), provider.log.counts
    return refs


def test_what_is_made_behind_lost_answers_is_the_same_to_the_token(fair: dict[str, SnapshotRef], tmp_path: Path) -> None:
    assert made_in(Weather(errors=0.1, hangs=0.02, drops=0.05, requests_per_minute=60), tmp_path) == fair


def test_what_is_made_of_spoilt_replies_is_the_same_for_more_tokens(fair: dict[str, SnapshotRef], tmp_path: Path) -> None:
    foul = made_in(Weather(errors=0.05, cut_off=0.12, refusals=0.08, seed=3), tmp_path)
    assert {stage: ref.digest for stage, ref in foul.items()} == {stage: ref.digest for stage, ref in fair.items()}
    used, asked = foul["episodes"].usage, fair["episodes"].usage
    assert sum(use.calls for use in used.values()) > sum(use.calls for use in asked.values())


def test_wrong_judgements_cost_refinements_but_no_user(tmp_path: Path) -> None:
    refs = made_in(Weather(wrong_judgements=0.15), tmp_path)
    assert (refs["episodes"].users, refs["episodes"].failures.users) == (2, 0)
