"""Batch jobs: everything arrives, nothing is sent twice, and what cannot be mended ends in one sentence."""

import asyncio
import itertools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import openai
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from assets.llm.ports import EndpointError, ModelReply
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.model_policy import Models, ModelSpec
from pipelines.embedded.app import embedded_app
from pipelines.resources.cache.reply_cache import CachedModel, request_key
from pipelines.resources.llm.batch.client import JOB_KEY, URL, input_line
from pipelines.resources.llm.batch.settings import BatchProgress
from pipelines.resources.llm.batch.store import BatchStore
from pipelines.resources.llm.compatibility import ApiCompatibility
from tests.pipelines.llm.batched import a_line, batched, chain, jobs_at, lines_at, when_all_are_there
from tests.pipelines.llm.scripted_server import KEY as API_KEY
from tests.pipelines.llm.scripted_server import on_a_port, settings_for
from tests.support.simulated_provider.exchange import drop, error_response, forward, read, send_response
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.simulated_provider.provider import Provider
from tests.support.waiting import LONG, wait_until

TEXTS = [f"Question {number}?" for number in range(12)]


def ask_all(model: CachedModel, texts: list[str] = TEXTS) -> list[ModelReply]:
    async def together() -> list[ModelReply]:
        return list(await asyncio.gather(*(model.complete(a_line(text)) for text in texts)))

    return asyncio.run(together())


def test_calls_that_come_together_go_in_one_job_and_their_replies_are_kept(tmp_path: Path) -> None:
    seen: list[BatchProgress] = []
    looks = itertools.count()  # the provider's clock: a job takes three looks
    provider = Provider(embedded_app(), FaultProfile(batch_delay=3), clock=lambda: next(looks))
    with on_a_port(provider) as url:
        first = ask_all(batched(tmp_path, settings_for(url), seen=seen, timing=when_all_are_there(len(TEXTS))))
        again = ask_all(batched(tmp_path, settings_for(url)))
        assert [job["request_counts"]["total"] for job in jobs_at(url)] == [len(TEXTS) - 1], "all but the first, sent ahead"
    assert [reply.text for reply in again] == [reply.text for reply in first]
    assert all(reply.repeated for reply in again)
    assert sorted(reply.price_share for reply in first) == [0.5] * (len(TEXTS) - 1) + [1.0]
    assert [look.done for look in seen] == sorted(look.done for look in seen)
    assert (seen[0].ended, seen[-1].ended, seen[-1].done) == (False, True, len(TEXTS) - 1)


def test_live_calls_pass_by(tmp_path: Path) -> None:
    with on_a_port(Provider(embedded_app(), FaultProfile())) as url:
        live = replace(a_line("Now?"), labels=replace(a_line("Now?").labels, transport="live"))
        reply = asyncio.run(batched(tmp_path, settings_for(url)).complete(live))
        assert (reply.price_share, jobs_at(url)) == (1.0, [])


@pytest.mark.parametrize(
    "profile",
    [
        FaultProfile(errors=0.4, seed=5),
        FaultProfile(expired=0.4),
        FaultProfile(drops=0.3),
        FaultProfile(hangs=0.1, seed=7),
        FaultProfile(requests_per_minute=240),
    ],
)
def test_what_may_pass_is_asked_again_in_the_next_job(tmp_path: Path, profile: FaultProfile) -> None:
    with on_a_port(Provider(embedded_app(), profile)) as url:
        replies = ask_all(batched(tmp_path, settings_for(url, timeout_seconds=1.0 if profile.hangs else LONG)))
        assert len(replies) == len(TEXTS)
        answered = [job["request_counts"]["completed"] for job in jobs_at(url)]
        assert sum(answered) == len(TEXTS) - 1, "a line that was answered is never sent again"


class Twisted:
    """An app in front of another that answers some requests itself. `twist` gets path and body."""

    def __init__(self, app: ASGIApp, twist: Callable[[str, bytes], int | None]) -> None:
        self.app, self.twist = app, twist

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = await read(scope, receive)
        status = self.twist(asked.path, asked.body)
        if status is None or status == 0:
            answer = await forward(self.app, asked)
            await (drop(receive, send) if status == 0 else send_response(answer, send))
        else:
            await send_response(error_response(status, f"The maximum context length is 8 tokens, {API_KEY}."), send)


def test_a_job_whose_submission_lost_its_answer_is_not_sent_again(tmp_path: Path) -> None:
    lost: list[str] = []

    def twist(path: str, body: bytes) -> int | None:
        if path == "/v1/batches" and body and not lost:
            lost.append(path)
            return 0  # done, but nobody hears of it
        return None

    with on_a_port(Twisted(Provider(embedded_app(), FaultProfile()), twist)) as url:
        assert len(ask_all(batched(tmp_path, settings_for(url), timing=when_all_are_there(len(TEXTS))))) == len(TEXTS)
        assert (len(lost), len(jobs_at(url))) == (1, 1)


def test_a_job_that_was_sent_but_not_noted_is_found_again(tmp_path: Path) -> None:
    with on_a_port(Provider(embedded_app(), FaultProfile())) as url:
        lines: dict[str, str] = {}
        for text in TEXTS:
            key = request_key(a_line(text))
            lines[key] = input_line(a_line(text), custom_id=key, compatibility=ApiCompatibility())
        store = BatchStore(tmp_path / "batches.sqlite", address=settings_for(url).address)
        (key,) = asyncio.run(store.claim(lines)).jobs
        client = openai.OpenAI(base_url=url, api_key="any")
        sent = client.files.create(file=("batch.jsonl", asyncio.run(store.job(key)).content), purpose="batch")
        asyncio.run(store.try_to_send(key))
        client.batches.create(input_file_id=sent.id, endpoint=URL, completion_window="24h", metadata={JOB_KEY: key})
        assert len(ask_all(batched(tmp_path, settings_for(url)))) == len(TEXTS)
        assert len(jobs_at(url)) == 1


def test_two_processes_share_one_job(tmp_path: Path) -> None:
    async def both(url: str) -> list[ModelReply]:
        models = [batched(tmp_path, settings_for(url)) for _ in range(2)]
        return list(await asyncio.gather(*(model.complete(a_line(text)) for text in TEXTS for model in models)))

    with on_a_port(Provider(embedded_app(), FaultProfile(batch_delay=0.5))) as url:
        assert len({reply.text for reply in asyncio.run(both(url))}) >= 1
        assert len(lines_at(url)) == len(set(lines_at(url))), "no line is in two jobs"


def test_a_line_that_cannot_pass_ends_the_run_and_the_others_are_not_paid_again(tmp_path: Path) -> None:
    def app(url_of: list[str]) -> ASGIApp:
        def twist(path: str, body: bytes) -> int | None:
            return 400 if path == URL and b"Question 7?" in body and url_of else None

        return Provider(Twisted(embedded_app(), twist), FaultProfile())

    broken = [""]
    with on_a_port(app(broken)) as url:
        with pytest.raises(EndpointError) as caught:
            ask_all(batched(tmp_path, settings_for(url)))
        assert "too long for the model" in str(caught.value)
        assert API_KEY not in str(caught.value)
        broken.clear()
        assert len(ask_all(batched(tmp_path, settings_for(url)))) == len(TEXTS)
        assert len(lines_at(url)) - len(set(lines_at(url))) <= 1, "only the line that failed is sent again"


def test_a_model_that_does_not_exist_is_named_before_any_job(tmp_path: Path) -> None:
    with on_a_port(Provider(embedded_app(), FaultProfile())) as url:
        with pytest.raises(EndpointError, match="does not know the model"):
            asyncio.run(batched(tmp_path, settings_for(url)).complete(replace(a_line("Who?"), model="m-1")))
        assert jobs_at(url) == []


def test_an_endpoint_without_a_batch_api_is_named(tmp_path: Path) -> None:
    with on_a_port(embedded_app()) as url, pytest.raises(EndpointError, match="has no Batch API; send the calls live"):
        ask_all(batched(tmp_path, settings_for(url)))


def test_a_job_that_the_provider_forgot_is_sent_anew(tmp_path: Path) -> None:
    with on_a_port(Provider(embedded_app(), FaultProfile(batch_delay=60))) as url:
        settings, line = (
            settings_for(url),
            input_line(a_line("Who?"), custom_id=request_key(a_line("Who?")), compatibility=ApiCompatibility()),
        )
        store = BatchStore(tmp_path / "batches.sqlite", address=settings.address)
        (key,) = asyncio.run(store.claim({request_key(a_line("Who?")): line})).jobs
        asyncio.run(store.note_sent(key, "batch_gone"))
        model = batched(tmp_path, settings)
        assert ask_all(model, ["Who?"])[0].finish == "stop"


def test_the_chain_killed_after_submission_and_run_again_sends_nothing_twice(tmp_path: Path) -> None:
    with on_a_port(Provider(embedded_app(), FaultProfile(batch_delay=0.3))) as url:
        live = chain(url, tmp_path / "live", transport="live")
        home = tmp_path / "batch"
        line = [sys.executable, "-m", "tests.pipelines.llm.batched", url, str(home)]
        with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            wait_until(lambda: len(jobs_at(url)) >= 2 or process.poll() is not None, seconds=3 * LONG)
            process.kill()
        assert chain(url, home, transport="batch") == live, "the same rows by either transport"
        assert len(jobs_at(url)) > 2
        assert len(lines_at(url)) == len(set(lines_at(url)))


def test_the_road_is_no_part_of_what_a_recipe_makes() -> None:
    live = AMemGymRecipe(variant="own")
    batched_recipe = live.model_copy(update={"models": Models(writer=ModelSpec(transport="batch"))})
    assert batched_recipe.batched
    assert (live.fingerprint, live.item_fingerprint) == (batched_recipe.fingerprint, batched_recipe.item_fingerprint)
