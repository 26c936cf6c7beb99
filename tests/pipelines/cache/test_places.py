"""A call's identity has the place that served it; what no reader accepts is not used again; two processes pay once."""

import asyncio
import json
import multiprocessing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from assets.llm.ports import UNBOOKED, CallBooking, ModelReply, ModelRequest
from pipelines.opening.models import OpenModels
from pipelines.resources.cache.reply_cache import CachedModel, CacheMode, NamedPlace, open_replies
from pipelines.resources.llm.place import EndpointPlace
from pipelines.resources.storage.key_value import KeyValueStore
from tests.pipelines.ledger.ledger_stores import open_stores
from tests.pipelines.llm.scripted_server import CLOSED_SCHEMA, a_request, on_a_port, settings_for
from tests.support.small import small_recipe
from tests.support.waiting import LONG, wait_until


@dataclass
class NumberingModel:
    """Answers with these words, or the number of the call."""

    words: list[str] = field(default_factory=list[str])
    asked: int = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked += 1
        return ModelReply(self.words.pop(0) if self.words else f"reply {self.asked}", "stop", 1, 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KeyValueStore]:
    kept = open_replies(tmp_path / "calls.sqlite")
    yield kept
    kept.close()


def ask(
    model: NumberingModel, store: KeyValueStore, *, at: str = "", mode: CacheMode = "use", request: ModelRequest | None = None
) -> ModelReply:
    return asyncio.run(CachedModel(model, store=store, mode=mode, place=NamedPlace(at)).complete(request or a_request()))


def test_another_address_does_not_get_the_replies_of_the_first(store: KeyValueStore) -> None:
    model = NumberingModel()
    texts = [ask(model, store, at=place).text for place in ("http://one/v1", "http://two/v1", "http://one/v1", "")]
    assert texts == ["reply 1", "reply 2", "reply 1", "reply 3"]


def test_a_replay_finds_the_reply_of_whatever_place(store: KeyValueStore) -> None:
    ask(NumberingModel(), store, at="http://one/v1 {}")
    assert ask(NumberingModel(), store, mode="replay").text == "reply 1"


def test_a_folder_of_the_servers_machine_tells_models_apart_and_is_part_of_no_place(store: KeyValueStore) -> None:
    places = set[str]()
    for folder in ("/home/quokka/one", "/home/quokka/two"):
        with on_a_port(ListingServer({"data": [{"id": "m-1", "root": folder}]})) as url:
            places.add(asyncio.run(EndpointPlace(settings_for(url), replies=store).of("m-1")).removeprefix(url))
    assert len(places) == 2
    assert "quokka" not in "".join(places)


def test_models_that_the_list_leaves_out_are_lacking_and_without_a_list_none_is(store: KeyValueStore) -> None:
    server = ListingServer({"data": [{"id": "m-1"}]})
    with on_a_port(server) as url:
        assert asyncio.run(EndpointPlace(settings_for(url), replies=store).lacks(["m-1", "m-2"])) == ["m-2"]
        server.listing = None
        assert asyncio.run(EndpointPlace(settings_for(url), replies=store).lacks(["m-1", "m-2"])) == []


def test_what_the_list_of_models_says_of_a_model_is_part_of_its_place(store: KeyValueStore) -> None:
    listing = {"data": [{"id": "m-1", "owned_by": "us", "created": 5, "meta": {"n_params": 7}}]}
    server = ListingServer(listing)
    with on_a_port(server) as url:
        place = asyncio.run(EndpointPlace(settings_for(url), replies=store).of("m-1"))
        assert place == f'{url} {{"meta":{{"n_params":7}},"owned_by":"us"}}'
        ask(NumberingModel(), store, at=place)
        server.listing = None
        assert asyncio.run(EndpointPlace(settings_for(url), replies=store).of("m-1")) == place, "what was known last counts"
        assert asyncio.run(EndpointPlace(settings_for(url), replies=store).of("m-2")) == url


class ListingServer:
    """Serves a list of models, or a 503."""

    def __init__(self, listing: Mapping[str, object]) -> None:
        self.listing: Mapping[str, object] | None = listing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = 503 if self.listing is None else 200
        await Response(json.dumps(self.listing), status)(scope, receive, send)


class RubbishModel:
    """A client that answers no JSON."""

    async def complete(self, request: ModelRequest, *, booking: CallBooking = UNBOOKED) -> ModelReply:
        return await booking.keep(ModelReply("Service degraded.", "stop", 1000, 100))


async def ask_stack(models: OpenModels) -> ModelReply:
    return await models.chat.open_model(small_recipe(), "unit").complete(a_request())


def json_request() -> ModelRequest:
    request = a_request(schema=CLOSED_SCHEMA)
    return replace(request, labels=replace(request.labels, needs_json=True))


def test_a_reply_that_no_reader_accepts_is_kept_as_rejected_and_asked_for_again(store: KeyValueStore) -> None:
    request = json_request()
    rubbish, good = "Service degraded.", '{"name": "Ada"}'
    assert ask(NumberingModel([rubbish]), store, request=request).text == rubbish
    assert ask(NumberingModel(), store, request=request, mode="replay").text == rubbish
    assert ask(NumberingModel([good]), store, request=request).text == good
    assert ask(NumberingModel(), store, request=request).text == good


class FilteredModel(NumberingModel):
    """A filter before the model answers in its place."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply("", "refusal", 0, 0)


def test_a_refusal_that_came_as_an_error_is_asked_again_by_the_next_run(store: KeyValueStore) -> None:
    assert ask(FilteredModel(), store).finish == "refusal"
    assert ask(NumberingModel(), store, mode="replay").finish == "refusal"
    assert ask(NumberingModel(["good"]), store).text == "good"
    assert ask(FilteredModel(), store).text == "good"


def test_a_rejected_reply_stands_in_the_ledger_as_paid_for(tmp_path: Path) -> None:
    with open_stores(tmp_path) as stores:
        stores.ask(RubbishModel(), [json_request()])
        rows = asyncio.run(stores.ledger.calls.run(lambda c: c.execute("SELECT outcome, output_tokens FROM calls").fetchall()))
    assert rows == [("rejected", 100)]


def test_a_damaged_row_is_told_dropped_and_asked_for_again(store: KeyValueStore, caplog: pytest.LogCaptureFixture) -> None:
    ask(NumberingModel(["right"]), store)
    asyncio.run(store.run(lambda connection: connection.execute("UPDATE replies SET value = replace(value, 'right', 'wrong')")))
    assert ask(NumberingModel(["anew"]), store).text == "anew"
    assert "A row of replies in" in caplog.text
    assert ask(NumberingModel(), store).text == "anew"


def work_in_process(folder: Path, asked: Path) -> None:
    """Ask thirty requests, as another process on the same home does."""

    class SlowModel:
        async def complete(self, request: ModelRequest) -> ModelReply:
            await asyncio.sleep(0.02)
            with asked.open("a") as file:
                file.write("x")
            return ModelReply("{}", "stop", 1, 1)

    async def many() -> None:
        store = open_replies(folder / "calls.sqlite")
        cached = CachedModel(SlowModel(), store=store, mode="use")
        await asyncio.gather(*(cached.complete(a_request(str(number))) for number in range(30)))
        store.close()

    asyncio.run(many())


def test_two_processes_pay_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=work_in_process, args=(tmp_path, tmp_path / "asked")) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(3 * LONG)
    assert [process.exitcode for process in processes] == [0, 0]
    assert len((tmp_path / "asked").read_text()) == 30


def test_the_claim_of_a_killed_process_is_free(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=hold_claim, args=(tmp_path / "calls.sqlite",))
    process.start()
    wait_until(lambda: (tmp_path / "held").exists() or not process.is_alive(), seconds=3 * LONG)
    assert process.is_alive()
    claims = open_replies(tmp_path / "calls.sqlite").claims
    assert asyncio.run(claims.take("ab" * 32)) is False
    process.kill()
    process.join()
    # A database sees a little later that its client is gone.
    wait_until(lambda: asyncio.run(claims.take("ab" * 32)), seconds=LONG)
    asyncio.run(claims.release("ab" * 32))


def hold_claim(path: Path) -> None:
    assert asyncio.run(open_replies(path).claims.take("ab" * 32))
    path.with_name("held").touch()
    multiprocessing.Event().wait()
