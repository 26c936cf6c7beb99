"""The simulated provider: as slow and unreliable as its fault profile, and the same for the same requests."""

import asyncio
import json
import random
import time
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from pipelines.embedded.app import embedded_app
from pipelines.embedded.task import OBJECTION
from tests.pipelines.llm.provider_requests import TEXTS, chat, post
from tests.support.simulated_provider.fault_profile import REFUSAL, FaultProfile
from tests.support.simulated_provider.provider import Provider

STORMY = FaultProfile(errors=0.3, drops=0.2, cut_off=0.2, refusals=0.2, seed=1)
SCHEMA_NAME = "session_queries_check_exposure"
OPTIONS = {"diet": ["vegan", "omnivore", "cannot_tell"], "sleep": ["early", "late", "cannot_tell"]}


def fate(provider: Provider, text: str) -> list[object]:
    """What three tries of the same request meet."""
    tries = [post(provider, chat(text)) for _ in range(3)]
    return [answer and (answer.status_code, answer.json().get("choices")) for answer in tries]


def test_faults_are_the_same_whatever_the_order_of_requests() -> None:
    one, other = Provider(embedded_app(), STORMY), Provider(embedded_app(), STORMY)
    shuffled = random.Random(0).sample(TEXTS, len(TEXTS))
    there = {text: fate(other, text) for text in shuffled}
    assert {text: fate(one, text) for text in TEXTS} == there
    assert one.log.counts == other.log.counts
    assert min(one.log.counts[fault] for fault in ("errors", "drops", "cut_off", "refusals")) > 5


def test_another_seed_brings_other_faults() -> None:
    others = Provider(embedded_app(), replace(STORMY, seed=2))
    assert [fate(others, text) for text in TEXTS] != [fate(Provider(embedded_app(), STORMY), text) for text in TEXTS]


def test_without_faults_nothing_changes() -> None:
    plain = asyncio.run(_direct(chat("Hello?")))
    undisturbed = post(Provider(embedded_app(), FaultProfile()), chat("Hello?"))
    assert undisturbed is not None
    assert undisturbed.content == plain.content


async def _direct(body: dict[str, Any]) -> httpx2.Response:
    transport = httpx2.ASGITransport(app=embedded_app())
    async with httpx2.AsyncClient(transport=transport, base_url="http://model") as client:
        return await client.post("/v1/chat/completions", json=body)


@pytest.mark.parametrize("fault", [FaultProfile(cut_off=1.0), FaultProfile(refusals=1.0)])
def test_who_asks_again_after_a_damaged_reply_hears_what_was_meant(fault: FaultProfile) -> None:
    whole = asyncio.run(_direct(chat("Hello?"))).json()["choices"][0]["message"]["content"]
    damaged_reply = post(Provider(embedded_app(), fault), chat("Hello?"))
    assert damaged_reply is not None
    choice = damaged_reply.json()["choices"][0]
    text = choice["message"]["content"] or choice["message"]["refusal"]
    assert (text == REFUSAL) or (choice["finish_reason"] == "length" and whole.startswith(text) and text != whole)
    again = chat("Hello?")
    again["messages"] += [{"role": "assistant", "content": text}, {"role": "user", "content": f"{OBJECTION} Again."}]
    # The app without faults would answer the longer conversation, with other chances; the provider knows what it did.
    answer = post(Provider(embedded_app(), replace(fault, cut_off=0.0, refusals=0.0, latency=0.001)), again)
    assert answer is not None
    assert answer.json()["choices"][0]["message"]["content"] == whole


def judgement(text: str) -> dict[str, Any]:
    options = json.dumps(OPTIONS)
    messages = json.dumps({"1": text})
    body = chat(f"<state_choices>\n{options}\n</state_choices>\n<messages>\n{messages}\n</messages>", seed=1)
    return {**body, "response_format": {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME}}}


def judged(provider: Provider, text: str) -> dict[str, str]:
    answer = post(provider, judgement(text))
    assert answer is not None
    (reading,) = json.loads(answer.json()["choices"][0]["message"]["content"])["readings"]
    return reading["tells"]


def test_a_wrong_judgement_is_a_legal_one_and_stays_the_same() -> None:
    right, wrong = (
        Provider(embedded_app(), FaultProfile()),
        Provider(embedded_app(), FaultProfile(wrong_judgements=1.0, errors=0.0001)),
    )
    for text in TEXTS[:10]:
        given = judged(wrong, text)
        meant = judged(right, text)
        assert sum(given.get(name) != meant.get(name) for name in given.keys() | meant.keys()) == 1
        assert all(value in OPTIONS[name] for name, value in given.items())
        assert judged(wrong, text) == given
    assert wrong.log.counts["wrong_judgements"] == 20


def test_a_chat_that_judges_nothing_is_left_alone() -> None:
    provider = Provider(embedded_app(), FaultProfile(wrong_judgements=1.0))
    assert fate(provider, "Hello?") == fate(Provider(embedded_app(), FaultProfile()), "Hello?")


def test_a_reply_takes_its_time() -> None:
    profile = FaultProfile(latency=0.1, prefill=100, decode=1000)
    answer = asyncio.run(_direct(chat("x" * 40)))
    usage = answer.json()["usage"]
    assert profile.seconds(10, output_tokens=500) == pytest.approx(0.7)
    began = time.monotonic()
    post(Provider(embedded_app(), profile), chat("x" * 40))
    took = time.monotonic() - began
    assert took >= 0.1 + usage["prompt_tokens"] / 100 + usage["completion_tokens"] / 1000


def test_the_fault_profile_can_be_asked_for() -> None:
    provider = Provider(embedded_app(api_key="k"), STORMY)

    async def report() -> dict[str, Any]:
        transport = httpx2.ASGITransport(app=provider)
        async with httpx2.AsyncClient(transport=transport, base_url="http://model") as client:
            return (await client.get("/v1/faults")).json()

    assert asyncio.run(report())["profile"]["errors"] == 0.3


@pytest.mark.parametrize("wrong", [{"errors": 1.5}, {"latency": -1.0}])
def test_an_impossible_fault_profile_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="it goes from 0 up"):
        FaultProfile(**wrong)  # pyright: ignore[reportArgumentType]
