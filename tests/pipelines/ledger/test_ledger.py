"""One row per call, on the disk before the reply is used, and sums that never take the unknown for nothing."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from assets.llm.ports import CallLabels, ModelReply
from assets.llm.usage import Meter, MeteredModel, request_tokens
from assets.text.words import count_tokens
from pipelines.resources.ledger.ledger import COLUMNS, TABLE, Ledger
from pipelines.resources.ledger.queries import Grouping, LedgerSums, dollars, sum_calls
from pipelines.resources.llm.chat_completion import read_reply
from pipelines.resources.llm.model_api import OpenAiChat
from pipelines.resources.storage.database import Connection
from tests.pipelines.ledger.ledger_stores import ADDRESS, LedgerStores, Paid, UsingModel, call, open_stores
from tests.support.scripted_model import ScriptedModel, ask_test_prompt
from tests.support.small import small_recipe


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[LedgerStores]:
    with open_stores(tmp_path) as opened:
        yield opened


def rows(stores: LedgerStores) -> list[dict[str, object]]:
    def read(connection: Connection) -> list[tuple[object, ...]]:
        return list(connection.execute(f"SELECT {', '.join(COLUMNS)} FROM {TABLE} ORDER BY rowid"))

    found = asyncio.run(stores.ledger.calls.run(read))
    return [dict(zip(COLUMNS, row, strict=True)) for row in found]


def sums(stores: LedgerStores, by: Grouping = "model") -> list[LedgerSums]:
    return asyncio.run(sum_calls(stores.ledger, by=by))


def test_a_row_tells_what_was_asked_for_whom_and_what_it_cost(stores: LedgerStores) -> None:
    stores.ask(UsingModel(), [call(1)])
    (row,) = rows(stores)
    assert row.pop("at")
    assert len(str(row.pop("request"))) == 64
    assert row == {
        "variant": "small",
        "unit": "small",
        "recipe": small_recipe().item_fingerprint,
        "stage": "questions",
        "user_id": "u-1",
        "prompt": "questions/draft",
        "fingerprint": "f" * 12,
        "attempt": 0,
        "sample": 0,
        "model": "gpt-4.1",
        "endpoint": ADDRESS,
        "input_tokens": 1000,
        "cached_input_tokens": 0,
        "output_tokens": 100,
        "seconds": 0.25,
        "cost_usd": pytest.approx(0.0028),
        "price": "list",
        "outcome": "stop",
        "cache_hit": False,
    }


def test_a_reply_from_the_cache_is_booked_and_costs_nothing(stores: LedgerStores) -> None:
    stores.ask(UsingModel(), [call(1)])
    stores.ask(UsingModel(), [call(1), call(2)])
    assert [(row["cache_hit"], row["cost_usd"]) for row in rows(stores)].count((True, 0.0)) == 1
    (line,) = sums(stores)
    assert line.calls == 3
    assert line.hits == 1
    assert line.input_tokens == 2000
    assert line.cost == "$0.0056"
    assert line.hit_rate == pytest.approx(1 / 3)


def test_a_paid_call_is_on_the_disk_before_anyone_uses_its_reply(stores: LedgerStores) -> None:
    seen: list[int] = []

    async def use() -> None:
        await stores.stack(UsingModel()).complete(call(1))
        other = Ledger(stores.folder / "ledger.sqlite")
        seen.extend(line.calls for line in await sum_calls(other, by="stage"))
        other.close()

    asyncio.run(use())
    assert seen == [1]


def test_a_call_without_reply_is_booked_as_an_error(stores: LedgerStores) -> None:
    stores.ask(UsingModel(fails=True), [call(1)])
    assert [(row["outcome"], row["cost_usd"]) for row in rows(stores)] == [("error", 0.0)]
    assert (sums(stores)[0].calls, sums(stores)[0].errors) == (0, 1)


def test_an_unknown_price_is_told_as_unknown_beside_its_tokens(stores: LedgerStores) -> None:
    stores.ask(UsingModel(), [call(1, model="made-up"), call(2)])
    costs = {line.name: (line.input_tokens, line.cost) for line in sums(stores)}
    assert costs == {"made-up": (1000, "unknown"), "gpt-4.1": (1000, "$0.0028")}
    assert sums(stores, "stage")[0].cost == "$0.0028 + unknown"


def test_the_cost_reaches_the_meter_of_the_stage_and_an_unknown_one_is_counted(stores: LedgerStores) -> None:
    meter = Meter(Meter())

    async def use() -> None:
        for request in (call(1), call(1), call(2, model="made-up")):
            await MeteredModel(stores.stack(UsingModel()), CallLabels("questions", "u-1"), meter).complete(request)

    asyncio.run(use())
    assert meter.parent is not None
    assert (meter.parent.cost_usd, meter.parent.unpriced, meter.parent.repeated) == (pytest.approx(0.0028), 1, 1)


def test_asking_again_counts_the_attempts(stores: LedgerStores) -> None:
    class Reply(BaseModel):
        name: str

    def convert(reply: Reply) -> str:
        if reply.name != "Ada":
            raise ValueError("The name is Ada.")
        return reply.name

    async def use() -> None:
        answers = ['{"name": "Bo"}', '{"name": "Cy"}', '{"name": "Ada"}']
        model_stack = stores.stack(Paid(ScriptedModel({"test/ask": answers})))
        model = MeteredModel(model_stack, CallLabels("questions", "u-1"), Meter())
        recipe = small_recipe(gates={"max_reasks": 3})
        await ask_test_prompt(model, convert, reply=Reply, recipe=recipe)
        await ask_test_prompt(model, convert, reply=Reply, recipe=recipe, sample=1)

    asyncio.run(use())
    assert [(row["sample"], row["attempt"]) for row in rows(stores)] == [(0, 0), (0, 1), (0, 2), (1, 0)]


def test_neither_time_nor_price_is_kept_with_the_words(stores: LedgerStores) -> None:
    stores.ask(UsingModel(), [call(1)])

    async def kept() -> bytes:
        return await stores.replies.run(lambda connection: connection.execute("SELECT value FROM replies").fetchone()[0])

    assert not {"seconds", "cost_usd"} & json.loads(asyncio.run(kept())).keys()


def test_the_providers_prefix_cache_is_read_from_its_answer() -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 512}}
    body: dict[str, object] = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
    reply = read_reply(json.dumps(body).encode())
    assert reply == ModelReply("x", "stop", 900, 7, cached_input_tokens=512)


@pytest.mark.parametrize("tokens", [-5, 10**30, 10**8, None, "many", [7], float("nan")])
def test_a_usage_that_cannot_be_is_estimated_and_spoils_no_reply(tokens: object) -> None:
    request = call(1)
    body: dict[str, object] = {"choices": [{"message": {"content": "one two"}, "finish_reason": "stop"}]}
    for usage in ({"prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": tokens}, tokens):
        reply = OpenAiChat().read_reply(request, json.dumps({**body, "usage": usage}).encode())
        assert reply == ModelReply("one two", "stop", request_tokens(request), count_tokens("one two"))


@pytest.mark.parametrize(
    ("usage", "output"),
    [
        ({"prompt_tokens": 900, "completion_tokens": 7, "total_tokens": 907}, 7),
        ({"prompt_tokens": 900, "completion_tokens": 7, "total_tokens": 1507}, 607),
        ({"prompt_tokens": 900, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 600}}, 607),
        ({"prompt_tokens": 900, "completion_tokens": 607, "completion_tokens_details": {"reasoning_tokens": 600}}, 607),
        ({"prompt_tokens": 900, "total_tokens": 1507}, 607),
        ({"prompt_tokens": 900, "completion_tokens": 7, "total_tokens": 0}, 7),
        ({"prompt_tokens": 900, "completion_tokens": 7, "total_tokens": 10**30}, 7),
        ({"completion_tokens": 7, "total_tokens": 907}, 7),
        ({"input_tokens": 900, "output_tokens": 7}, 7),
    ],
)
def test_thoughts_that_a_provider_leaves_out_of_its_count_are_taken_from_the_total(usage: object, output: int) -> None:
    body: dict[str, object] = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
    reply = read_reply(json.dumps(body).encode())
    assert isinstance(reply, ModelReply)
    assert (reply.input_tokens, reply.output_tokens) == (900, output)


def test_amounts_are_written_for_readers() -> None:
    assert [dollars(None), dollars(0.0), dollars(0.00123), dollars(12.345)] == ["unknown", "$0.00", "$0.0012", "$12.35"]
