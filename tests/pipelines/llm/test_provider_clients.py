"""The simulated provider over a socket: the client and the whole chain survive it; and what `model serve` serves."""

import asyncio
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import httpx2
import pytest

from assets.engine.ports import SnapshotRef
from assets.llm.ports import ModelReply
from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import model_name
from pipelines.resources.llm.client import ModelClient
from tests.pipelines.llm.batched import chain
from tests.pipelines.llm.provider_requests import TEXTS, chat
from tests.pipelines.llm.scripted_server import a_request, on_a_port, settings_for
from tests.support.commands import amemgym, clean_environment, free_port
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.simulated_provider.provider import Provider
from tests.support.waiting import LONG, wait_until


def patience(profile: FaultProfile) -> float:
    """Seconds that a reply may take: few where some never come, but more than a busy machine takes for one."""
    return 6.0 if profile.hangs else LONG


@pytest.mark.parametrize(
    "profile",
    [
        FaultProfile(errors=0.3),
        FaultProfile(hangs=0.2),
        FaultProfile(drops=0.3),
        FaultProfile(requests_per_minute=300),
        FaultProfile(errors=0.1, hangs=0.1, drops=0.1, requests_per_minute=600),
    ],
)
def test_the_client_survives(profile: FaultProfile) -> None:
    provider = Provider(embedded_app(), profile)
    requests = [replace(a_request(text), model=model_name(), schema_name="chat") for text in TEXTS]

    async def all_of_them(url: str) -> list[ModelReply]:
        client = ModelClient(settings_for(url, timeout_seconds=patience(profile), backoff_seconds=0.02))
        return list(await asyncio.gather(*map(client.complete, requests)))

    with on_a_port(provider) as url:
        replies = asyncio.run(all_of_them(url))
    assert {reply.finish for reply in replies} == {"stop"}
    assert provider.log.counts["requests"] + provider.log.counts["limited"] >= len(TEXTS)


def test_cut_off_and_refused_replies_arrive_as_such() -> None:
    async def both(url: str) -> ModelReply:
        return await ModelClient(settings_for(url)).complete(replace(a_request(), model=model_name(), schema_name="chat"))

    for profile, finish in ((FaultProfile(cut_off=1.0), "length"), (FaultProfile(refusals=1.0), "refusal")):
        with on_a_port(Provider(embedded_app(), profile)) as url:
            assert asyncio.run(both(url)).finish == finish


def test_the_module_serves_the_fault_profile_and_says_what_struck() -> None:
    port = free_port()
    words = ["--port", str(port), "--errors", "1", "--decode", "80", "--seed", "4"]
    command = [sys.executable, "-m", "tests.support.simulated_provider", *words]
    process = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        profile = _when_up(f"{url}/faults").json()["profile"]
        assert (profile["errors"], profile["decode"], profile["seed"]) == (1.0, 80.0, 4)
        assert profile.keys() == get_type_hints(FaultProfile).keys()
        assert httpx2.post(f"{url}/chat/completions", json=chat("Hello?"), timeout=LONG).status_code == 500
    finally:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=LONG)
    assert "1 errors" in output.splitlines()[-1]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_the_embedded_model_with_the_latency_asked_for(tmp_path: Path, stop: signal.Signals) -> None:
    port, latency = free_port(), 0.3
    process = amemgym(tmp_path, "model", "serve", "--port", str(port), "--latency", str(latency))
    url = f"http://127.0.0.1:{port}/v1"
    try:
        assert _when_up(f"{url}/models").json()["data"][0]["id"] == model_name()
        began = time.monotonic()
        assert httpx2.post(f"{url}/chat/completions", json=chat("Hello?"), timeout=LONG).status_code == 200
        assert time.monotonic() - began >= latency
    finally:
        process.send_signal(stop)
        output, _ = process.communicate(timeout=LONG)
    assert (process.returncode, url in output) == (0, True)


def _when_up(url: str) -> httpx2.Response:
    client, answers = httpx2.Client(timeout=LONG), list[httpx2.Response]()

    def answered() -> bool:
        with suppress(httpx2.ConnectError):
            answers.append(client.get(url))
        return bool(answers)

    with client:
        wait_until(answered, seconds=2 * LONG)
    return answers[0]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SnapshotRef]:
    with on_a_port(Provider(embedded_app(), FaultProfile())) as url:
        return chain(url, tmp_path_factory.mktemp("undisturbed"), transport="live")


def made_in(profile: FaultProfile, folder: Path) -> dict[str, SnapshotRef]:
    provider = Provider(embedded_app(), profile)
    with on_a_port(provider) as url:
        refs = chain(url, folder, transport="live", timeout_seconds=patience(profile))
    struck = [fault for fault in ("errors", "drops", "cut_off", "refusals") if getattr(profile, fault)]
    assert all(provider.log.counts[fault] for fault in struck), provider.log.counts
    return refs


def test_what_is_made_behind_lost_answers_is_the_same_to_the_token(undisturbed: dict[str, SnapshotRef], tmp_path: Path) -> None:
    # The last requests meet the limit, and wait for it.
    limit = sum(ref.usage.calls for ref in undisturbed.values()) - 12
    assert made_in(FaultProfile(errors=0.1, hangs=0.02, drops=0.05, requests_per_minute=limit), tmp_path) == undisturbed


@pytest.mark.parametrize("seed", [4, 20, 31])  # strikes so often in turn that messages, answers, or states are asked for afresh
def test_what_is_made_of_damaged_replies_is_the_same_for_more_tokens(
    undisturbed: dict[str, SnapshotRef], tmp_path: Path, seed: int
) -> None:
    disturbed = made_in(FaultProfile(errors=0.05, cut_off=0.12, refusals=0.08, seed=seed), tmp_path)
    assert {stage: ref.digest for stage, ref in disturbed.items()} == {stage: ref.digest for stage, ref in undisturbed.items()}
    assert sum(ref.usage.calls for ref in disturbed.values()) > sum(ref.usage.calls for ref in undisturbed.values())


def test_wrong_judgements_cost_refinements_but_no_user(tmp_path: Path) -> None:
    refs = made_in(FaultProfile(wrong_judgements=0.15), tmp_path)
    assert (refs["episodes"].items, refs["episodes"].failures.items) == (2, 0)
