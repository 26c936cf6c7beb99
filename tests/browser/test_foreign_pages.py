"""What a page of another origin tries while somebody has the UI open in the same browser: nothing of it does anything."""

import json
from collections.abc import Generator
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import pytest
from playwright.sync_api import Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tests.browser.pages import Visit, outcome, start
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.ui_server import UiServer

pytestmark = pytest.mark.browser
JOB = '{jobName: "generate_and_release", repositoryLocationName: "amemgym", repositoryName: "__repository__"}'
TAGS = '[{key: "dagster/partition", value: "demo"}]'
LAUNCH = f"mutation {{ launchRun(executionParams: {{selector: {JOB}, executionMetadata: {{tags: {TAGS}}}}}) {{ __typename }} }}"
COUNT = "{ runsOrError { ... on Runs { results { runId } } } }"
# Each gives "sent", "refused" by the browser, or "open"; what came of it, the server knows.
FETCH = """async ([url, options]) => {
  try { await fetch(url, {credentials: "include", ...options}); return "sent"; } catch { return "refused"; }
}"""
FORM = """([url, method, type, fields]) => {
  const form = Object.assign(document.createElement("form"), {action: url, method, enctype: type});
  for (const [name, value] of Object.entries(fields)) {
    form.append(Object.assign(document.createElement("input"), {name, value}));
  }
  document.body.append(form);
  form.submit();
}"""
IMAGE = """url => new Promise(done => {
  const image = new Image();
  image.onload = image.onerror = () => done("sent");
  image.src = url;
})"""
SOCKET = """url => new Promise(done => {
  const socket = new WebSocket(url, "graphql-ws");
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})"""
FRAME = """url => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.onload = () => done("sent");
  frame.src = url;
  document.body.append(frame);
})"""


@pytest.fixture(scope="module", params=["127.0.0.1", "elsewhere.example"], ids=["another port", "another site"])
def foreign(request: pytest.FixtureRequest) -> Generator[str]:
    """The address of another server's page. One on another port of the same host is sent our cookies."""

    async def page(_: Request) -> Response:
        return HTMLResponse("<!doctype html><title>Kittens</title><p>Kittens.</p>")

    with on_a_port(Starlette(routes=[Route("/", page)])) as address:
        yield f"http://{request.param}:{urlsplit(address).port}/"


@pytest.fixture
def kittens(foreign: str, user: Visit) -> Generator[Page]:
    """The page of the other origin, with the UI open beside it."""
    own = user.open("/pages/")
    expect(own.get_by_role("heading", name="Memory benchmarks")).to_be_visible()
    page = user.context.new_page()
    page.goto(foreign)
    yield page
    page.close()
    own.close()


def launched(server: UiServer) -> int:
    with httpx2.Client(base_url=server.url, timeout=60) as script:
        script.get("/pages/")
        return len(script.post("/graphql", json={"query": COUNT}).json()["data"]["runsOrError"]["results"])


def test_addresses_that_are_followed_launch_nothing(kittens: Page, server: UiServer) -> None:
    before, address = launched(server), f"{server.url}/graphql?query={quote(LAUNCH)}"
    assert kittens.evaluate(FETCH, [address, {"mode": "no-cors"}]) == "sent"
    assert kittens.evaluate(IMAGE, address) == "sent"
    kittens.goto(address)
    expect(kittens).to_have_title("GraphiQL")
    kittens.wait_for_timeout(1000)
    assert launched(server) == before


@pytest.mark.parametrize("path", ["/graphql", f"/graphql?query={quote(LAUNCH)}"], ids=["body", "address"])
@pytest.mark.parametrize(
    ("encoding", "fields"),
    [
        ("text/plain", {f'{{"query": {json.dumps(LAUNCH)}, "more": "': '"}'}),
        ("application/x-www-form-urlencoded", {"query": LAUNCH}),
        ("multipart/form-data", {"query": LAUNCH}),
    ],
)
def test_forms_launch_nothing(path: str, encoding: str, fields: dict[str, str], kittens: Page, server: UiServer) -> None:
    before = launched(server)
    kittens.evaluate(FORM, [f"{server.url}{path}", "post", encoding, fields])
    expect(kittens.get_by_text("A page of another origin")).to_be_visible()
    assert launched(server) == before


def test_a_form_begins_no_variant(kittens: Page, server: UiServer) -> None:
    fields = {"name": "kittens", "like": "demo"}
    kittens.evaluate(FORM, [f"{server.url}/pages/variants", "post", "application/x-www-form-urlencoded", fields])
    expect(kittens.get_by_text("A page of another origin")).to_be_visible()
    assert "kittens" not in httpx2.get(f"{server.url}/pages/").text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"mode": "no-cors", "headers": {"content-type": "text/plain"}}, "sent"),
        ({"headers": {"content-type": "text/plain; application/json"}}, "refused"),
        ({"headers": {"content-type": "application/json"}}, "refused"),
    ],
    ids=["plain text", "nearly JSON", "JSON"],
)
def test_scripts_launch_nothing(options: dict[str, Any], told: str, kittens: Page, server: UiServer) -> None:
    before, body = launched(server), httpx2.Request("POST", server.url, json={"query": LAUNCH}).content.decode()
    assert kittens.evaluate(FETCH, [f"{server.url}/graphql", {"method": "POST", "body": body, **options}]) == told
    assert launched(server) == before


def test_no_websocket_is_opened(kittens: Page, server: UiServer, user: Visit) -> None:
    address = f"{server.url.replace('http', 'ws')}/graphql"
    assert kittens.evaluate(SOCKET, address) == "refused"
    # Our own pages may open no websocket either, by their content security policy; Dagster's may.
    own = user.open("/server_info")
    assert own.evaluate(SOCKET, address) == "open"
    own.close()


def test_the_ui_is_not_framed(kittens: Page, server: UiServer) -> None:
    for path in ("/", "/pages/", "/pages/launchpad/demo"):
        assert kittens.evaluate(FRAME, f"{server.url}{path}") == "sent"
        expect(kittens.frame_locator("iframe").last.get_by_text("refused to connect").first).to_be_attached()


def test_a_foreign_name_that_leads_to_the_server_is_shown_a_refusal(user: Visit, server: UiServer) -> None:
    page = user.context.new_page()
    address = server.url.replace("127.0.0.1", "rebound.example")
    answer = page.goto(f"{address}/graphql?query={quote(COUNT)}")
    assert answer is not None
    assert answer.status == 421
    expect(page.get_by_text("This server does not have the name 'rebound.example")).to_be_visible()
    page.close()


def test_the_ui_itself_launches_a_run(user: Visit, server: UiServer) -> None:
    before = launched(server)
    # One that ends at its first step, so that the server has no release before the tests of other files.
    page = start(user, partition="demo", config="again:\n  nobody:\n    answers: 1")
    assert outcome(page) == "Failure"
    assert launched(server) == before + 1
    page.close()
