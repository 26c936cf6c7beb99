"""A fault of one request costs its user; the same fault at several users in a row ends the run."""

import asyncio
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from assets.amemgym.personas.pool_files import OWN_POOL
from assets.amemgym.personas.sampling import sample_personas
from assets.llm.ports import EndpointError, ModelReply, ModelRequest, RequestFailed
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import expect_recipe, load_recipe
from assets.records.base import ItemFailed
from dataset_card.release.manifest import read_manifest
from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import model_name
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.limits.concurrency import FIRST_LIMIT
from pipelines.resources.llm.retry import MAX_TRIES
from tests.pipelines.chained import TINY
from tests.pipelines.llm.scripted_server import (
    Answer,
    ScriptedServer,
    a_request,
    fault,
    in_process,
    on_a_port,
    settings_for,
)
from tests.support.commands import amemgym_here
from tests.support.coroutines import run
from tests.support.fault_proxy import FaultProxy
from tests.support.scripted_model import ScriptedModel, ask_test_prompt
from tests.support.small import small_recipe
from tests.support.virtual_time import run_in_virtual_time, virtual_clock


class Named(BaseModel):
    """What the scripted prompt asks for."""

    name: str


CHOICE = {"message": {"content": "{}"}, "finish_reason": "stop"}
OWN_FAULTS = [
    fault(400, "maximum context length is 8 tokens", code="context_length_exceeded"),
    fault(400, "messages: roles must alternate"),
    fault(500, "the worker died"),
    Answer(body={"choices": [CHOICE, {**CHOICE, "message": {"content": "[]"}}]}),
]


def of_user(name: str) -> ModelRequest:
    request = a_request(f"Who is {name}?")
    return replace(request, labels=replace(request.labels, item_id=name))


def ends_of(server: ScriptedServer, names: list[str]) -> list[ModelReply | BaseException]:
    """What becomes of these users' calls, one after another."""
    client = ModelClient(in_process(server))

    async def all_of_them() -> list[ModelReply | BaseException]:
        return [(await asyncio.gather(client.complete(of_user(name)), return_exceptions=True))[0] for name in names]

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("answer", OWN_FAULTS)
def test_a_fault_of_one_request_leaves_the_run_alone(answer: Answer) -> None:
    server = ScriptedServer()
    server.says(*[answer] * (MAX_TRIES if answer.status in (200, 500) else 1))
    failed, *others = ends_of(server, ["Ada", "Ben", "Cleo"])
    assert isinstance(failed, RequestFailed)
    assert [isinstance(other, ModelReply) for other in others] == [True, True]


def test_a_prompt_that_always_fails_is_given_up_and_holds_nobody_up() -> None:
    proxy = FaultProxy(ScriptedServer(), "always_500", chosen="Poe")
    client = ModelClient(settings_for("http://model/v1", transport=httpx2.ASGITransport(app=proxy), backoff_seconds=0.5))

    async def live() -> float:
        loop = asyncio.get_running_loop()
        poisoned = asyncio.create_task(client.complete(of_user("Poe")))
        for number in range(100):
            await client.complete(of_user(f"Ada {number}"))
        others_took = loop.time()
        with pytest.raises(RequestFailed):
            await poisoned
        return others_took

    others_took, _ = run_in_virtual_time(live())
    assert others_took < 1
    assert proxy.counts["spoiled"] == MAX_TRIES


class OutOfOrder(ScriptedServer):
    """Fails for a while, on the loop's clock, and then serves."""

    def __init__(self, *, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if asyncio.get_running_loop().time() < self._seconds:
            self.says(fault(502))
        await super().__call__(scope, receive, send)


@pytest.mark.parametrize("at_once", [1, 64])
def test_an_outage_of_a_minute_costs_no_user_and_few_requests(at_once: int) -> None:
    server = OutOfOrder(seconds=60)
    client = ModelClient(in_process(server, backoff_seconds=0.5, max_in_flight=at_once), clock=virtual_clock)

    async def live() -> list[ModelReply]:
        return await asyncio.gather(*(client.complete(of_user(f"Ada {number}")) for number in range(200)))

    replies, _ = run_in_virtual_time(live())
    assert {reply.finish for reply in replies} == {"stop"}
    assert len(server.asked) - 200 < MAX_TRIES * FIRST_LIMIT


def test_an_endpoint_that_fails_everybody_ends_the_run_whatever_the_prompts() -> None:
    client = ModelClient(in_process(ScriptedServer(always=fault(500, "the oven is cold")), backoff_seconds=0.5))

    async def live() -> list[ModelReply | BaseException]:
        requests = [of_user(f"Ada {number}") for number in range(40)]
        calls = [
            client.complete(replace(request, labels=replace(request.labels, prompt=f"prompt {number}")))
            for number, request in enumerate(requests)
        ]
        return await asyncio.gather(*calls, return_exceptions=True)

    ends, seconds = run_in_virtual_time(live())
    assert [type(end) for end in ends].count(RequestFailed) == 2
    assert [type(end) for end in ends].count(EndpointError) == 38
    assert seconds < 120


def test_several_users_who_fail_alike_end_the_run() -> None:
    ends = ends_of(ScriptedServer(always=OWN_FAULTS[0]), ["Ada", "Ben", "Cleo", "Dan"])
    assert [type(end) for end in ends] == [RequestFailed, RequestFailed, EndpointError, EndpointError]
    assert "too long for the model 'm-1'" in str(ends[-1])


def test_one_user_who_fails_often_does_not_end_the_run() -> None:
    ends = ends_of(ScriptedServer(always=OWN_FAULTS[0]), ["Ada"] * 5)
    assert {type(end) for end in ends} == {RequestFailed}


def test_a_request_that_is_not_served_gives_up_its_user_and_no_other() -> None:
    def never(request: ModelRequest) -> ModelReply:
        raise RequestFailed("The model endpoint finds it too long; choose another model.")

    with pytest.raises(ItemFailed, match="test/ask: The model endpoint finds it too long") as caught:
        run(ask_test_prompt(ScriptedModel({"test/ask": [never]}), lambda given: given, reply=Named, recipe=small_recipe()))
    assert caught.value.reason == "call_failed"


def test_a_poisoned_user_of_the_demo_is_replaced_and_the_release_is_made(tmp_path: Path) -> None:
    recipe = expect_recipe(load_recipe("demo"), AMemGymRecipe)
    (first,) = sample_personas(recipe, [OWN_POOL], count=1)
    proxy = FaultProxy(embedded_app(), "context_length", chosen=first.professional_persona[:30])
    with on_a_port(proxy) as url:
        given = {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": "any"}
        status, output = amemgym_here(tmp_path, "generate", "demo", *TINY, "--model", model_name(), **given)
    assert status == 0, output
    (folder,) = (tmp_path / "releases" / "demo").glob("*.*.*")
    rows = {file.path: file.rows for file in read_manifest(folder).files}
    assert next(count for path, count in rows.items() if path.startswith("tables") and "failures" in path) == 1
    assert proxy.counts["spoiled"] == 1
