"""What a web server of ours refuses: foreign names, pages of other origins, changes that are no JSON or bring no token."""

import json
import re
from collections.abc import Generator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from pipelines.errors import Problem
from pipelines.home import Home, prepare_dagster_home
from pipelines.ui.request_guard import HOSTS, RequestGuard
from tests.support.commands import amemgym, finish
from tests.support.ui_server import ROOT, UiServer, ui_server
from tests.support.waiting import LONG

FOREIGN = "https://elsewhere.example"
LAUNCH = """
mutation { launchRun(executionParams: {
  selector: {jobName: "generate_and_release", repositoryLocationName: "amemgym", repositoryName: "__repository__"},
  executionMetadata: {tags: [{key: "dagster/partition", value: "demo"}]}
}) { __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
COUNT = "{ runsOrError { ... on Runs { results { runId } } } }"
UPGRADE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "sec-websocket-protocol": "graphql-ws",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[UiServer]:
    """Dagster's web server with our pages, as a cluster and `amemgym ui` have it; nobody executes what is launched."""
    home = tmp_path_factory.mktemp("installation")
    surroundings = {"DAGSTER_HOME": str(prepare_dagster_home(Home(home))), HOSTS: "bench.example.org, gpu-box:8443"}
    with ui_server(home, surroundings, workspace=ROOT / "pipelines" / "cluster" / "workspace.yaml") as running:
        yield running


@pytest.fixture
def page(server: UiServer) -> Generator[httpx2.Client]:
    """Somebody with a page of the server open, and so with its cookie."""
    with httpx2.Client(base_url=server.url, timeout=LONG) as client:
        client.get("/")
        yield client


def launched(page: httpx2.Client) -> int:
    return len(page.post("/graphql", json={"query": COUNT}).json()["data"]["runsOrError"]["results"])


def sentence(answer: httpx2.Response, status: int) -> str:
    """The one sentence of a refusal."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/plain; charset=utf-8")
    [line] = answer.text.splitlines()
    assert line.endswith(".")
    return line


def handshake(server: UiServer, **headers: str) -> int:
    """The status with which a websocket is answered: 101 opens it."""
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=LONG)
    try:
        connection.request("GET", "/graphql", headers={**UPGRADE, **headers})
        return connection.getresponse().status
    finally:
        connection.close()


def test_the_web_server_of_a_cluster_serves_the_pages_and_the_launchpads_that_they_lead_to(
    page: httpx2.Client, server: UiServer
) -> None:
    reports = Home(server.home).reports
    reports.mkdir(parents=True, exist_ok=True)
    (reports / "demo.html").write_text("<h1>here</h1>", encoding="utf-8")
    assert page.get("/pages/reports/demo.html").text == "<h1>here</h1>"
    (location,) = re.findall("/locations/([^/]+)/", page.get("/pages/launchpad/demo").headers["location"])
    asked = page.post("/graphql", json={"query": "{ workspaceOrError { ... on Workspace { locationEntries { name } } } }"})
    assert [entry["name"] for entry in asked.json()["data"]["workspaceOrError"]["locationEntries"]] == [location]


def test_the_servers_own_page_launches_a_run(page: httpx2.Client, server: UiServer) -> None:
    before, own = launched(page), {"origin": server.url, "sec-fetch-site": "same-origin"}
    answer = page.post("/graphql", json={"query": LAUNCH}, headers=own)
    assert answer.json()["data"]["launchRun"]["__typename"] == "LaunchRunSuccess", answer.text
    assert launched(page) == before + 1


@pytest.mark.parametrize("path", ["/", "/pages/", "/server_info", "/graphql"])
@pytest.mark.parametrize("host", ["elsewhere.example", "127.0.0.1.elsewhere.example:3000", "93.184.216.34", "a@localhost", ""])
def test_a_foreign_name_that_leads_here_is_shown_nothing(host: str, path: str, page: httpx2.Client) -> None:
    assert HOSTS in sentence(page.get(path, headers={"host": host, "accept": "text/html"}), 421)


def test_a_change_under_a_foreign_name_is_not_made(page: httpx2.Client) -> None:
    before, foreign = launched(page), {"host": "elsewhere.example", "origin": "http://elsewhere.example"}
    sentence(page.post("/graphql", json={"query": LAUNCH}, headers=foreign), 421)
    assert launched(page) == before


def test_an_address_that_is_followed_changes_nothing(page: httpx2.Client) -> None:
    before = launched(page)
    assert "by POST" in sentence(page.get("/graphql", params={"query": LAUNCH}), 400)
    assert sentence(page.get("/logs/..%2f..%2fcalls.sqlite"), 404) == "There is no such log."
    assert "GraphiQL" in page.get("/graphql", params={"query": LAUNCH}, headers={"accept": "text/html"}).text
    assert launched(page) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": FOREIGN},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://[127.0.0.1"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost"},
        {"origin": "ftp://bench.example.org"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=str,
)
def test_a_page_of_another_origin_changes_nothing(headers: dict[str, str], page: httpx2.Client) -> None:
    before = launched(page)
    for path in ("/graphql", "/report_asset_materialization/release", "/pages/variants"):
        assert "another origin" in sentence(page.post(path, json={"query": LAUNCH}, headers=headers), 403)
    assert launched(page) == before


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "text/plain; application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/graphql",
    ],
)
def test_a_change_comes_as_json_or_not_at_all(content_type: str, page: httpx2.Client) -> None:
    before, address = launched(page), f"/graphql?{urlencode({'query': LAUNCH})}"
    for content in (json.dumps({"query": LAUNCH}), LAUNCH, urlencode({"query": LAUNCH})):
        told = sentence(page.post(address, content=content, headers={"content-type": content_type}), 400)
        assert "application/json" in told
    assert launched(page) == before


@pytest.mark.parametrize(
    ("cookie", "reason"),
    [
        ("", "the cookie is missing"),
        ("amemgym-{port}=guessed", "the cookie does not match the one"),
        ("amemgym-{port}=", "the cookie does not match the one"),
    ],
)
def test_a_change_without_this_starts_token_is_refused_and_the_refusal_brings_it(
    cookie: str, reason: str, page: httpx2.Client, server: UiServer
) -> None:
    before = launched(page)
    with httpx2.Client(base_url=server.url, timeout=LONG) as script:
        stale = {"cookie": cookie.format(port=urlsplit(server.url).port)}
        assert reason in sentence(script.post("/graphql", json={"query": LAUNCH}, headers=stale), 403)
        assert launched(page) == before
        assert script.post("/graphql", json={"query": COUNT}).status_code == 200


def test_the_cookie_is_no_scripts_and_no_other_sites(server: UiServer) -> None:
    given = httpx2.get(f"{server.url}/pages/", timeout=LONG).headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(given.split("; "))
    refused = httpx2.post(f"{server.url}/graphql", json={"query": LAUNCH}, headers={"origin": FOREIGN}, timeout=LONG)
    assert "set-cookie" not in refused.headers


def test_a_websocket_is_opened_for_the_servers_own_pages_and_for_scripts_alone(server: UiServer) -> None:
    assert handshake(server) == 101
    assert handshake(server, origin=server.url) == 101
    assert handshake(server, origin=FOREIGN) == 403
    assert handshake(server, origin=server.url.replace("http:", "https:")) == 403
    assert handshake(server, origin="null") == 403
    assert handshake(server, **{"sec-fetch-site": "cross-site"}) == 403
    assert handshake(server, host="elsewhere.example", origin="http://elsewhere.example") == 421


@pytest.mark.parametrize("path", ["/", "/pages/", "/pages/nothing", "/graphql", "/runs"])
def test_no_page_is_framed(path: str, page: httpx2.Client) -> None:
    answer = page.get(path, headers={"accept": "text/html"})
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in answer.headers.get_list("content-security-policy")


def test_a_listed_host_is_served_with_and_without_its_proxys_name(page: httpx2.Client, server: UiServer) -> None:
    question = {"query": COUNT}
    for host in ("bench.example.org", "gpu-box:8443", "gpu-box"):
        assert page.get("/server_info", headers={"host": host}).status_code == 200
    # A proxy may pass the name on, or call this server by its address.
    for origin in ("https://bench.example.org", "http://gpu-box:8443"):
        assert page.post("/graphql", json=question, headers={"origin": origin}).status_code == 200
        sentence(page.post("/graphql", json=question, headers={"origin": f"{origin}1"}), 403)


def tiny(**given: Any) -> RequestGuard:
    """A guarded application that counts what is sent."""
    sent = list[bytes]()

    async def count(request: Request) -> Response:
        sent.append(await request.body())
        return HTMLResponse(str(len(sent)))

    return RequestGuard(Starlette(routes=[Route("/{path:path}", count, methods=["GET", "POST"])]), **given)


def test_a_server_goes_by_loopback_and_by_the_host_that_it_was_started_with() -> None:
    for host, names, others in (
        (
            "127.0.0.1",
            ("localhost", "127.0.0.1:3000", "[::1]:3000", "LocalHost"),
            ("10.0.0.5", "0.0.0.0", "localhost.evil.example"),
        ),
        ("gpu-box", ("GPU-Box:3000", "localhost"), ("10.0.0.5", "gpu-box.evil.example")),
        ("fe80::1", ("[fe80::1]:3000",), ("[fe80::2]", "fe80::1")),
        ("0.0.0.0", ("10.0.0.5", "[fe80::2]:3000", "0.0.0.0:3000"), ("gpu-box", "10.0.0.5.evil.example", "1")),
        ("", ("10.0.0.5",), ("", "gpu-box")),
    ):
        with TestClient(tiny(host=host)) as client:
            for name in names:
                assert client.get("/", headers={"host": name}).status_code == 200, (host, name)
            for name in others:
                assert client.get("/", headers={"host": name}).status_code == 421, (host, name)


def test_two_servers_of_one_host_leave_each_other_their_tokens() -> None:
    one = TestClient(tiny(host="localhost"), base_url="http://localhost:3000")
    other = TestClient(tiny(host="localhost"), base_url="http://localhost:3001")
    one.get("/")
    other.get("/")
    one.cookies.update(other.cookies)
    assert one.post("/", json={}).status_code == 200


def test_a_form_is_taken_where_a_page_of_ours_has_one_and_with_its_cookie_alone() -> None:
    with TestClient(tiny(host="localhost", forms=["/form"]), base_url="http://localhost:3000") as client:
        assert client.post("/form", data={"name": "retired"}).status_code == 403
        client.get("/")
        assert client.post("/form", data={"name": "retired"}).status_code == 200
        assert client.post("/other", data={"name": "retired"}).status_code == 400


@pytest.mark.parametrize("listed", ["https://bench.example.org", "*", "*.example.org", "a b", "bench.example.org/", "x:y"])
def test_a_list_of_hosts_that_names_none_is_told_before_anything_is_served(
    listed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOSTS, f"localhost,{listed}")
    with pytest.raises(Problem, match=f"{HOSTS} has .* which is not a host; list names"):
        tiny(host="localhost")


def test_the_ui_does_not_start_with_a_list_of_hosts_that_names_none(tmp_path: Path) -> None:
    status, told = finish(amemgym(tmp_path, "ui", "--port", "0", "--no-open", **{HOSTS: "https://bench.example.org"}))
    assert status == 1
    assert told.splitlines() == [
        f"amemgym: {HOSTS} has 'https://bench.example.org', which is not a host; list names, with a port if browsers show one, "
        f"as in {HOSTS}=bench.example.org,gpu-box:8443."
    ]


def test_the_embedded_models_server_answers_scripts_and_no_page_of_another_origin(tmp_path: Path) -> None:
    process = amemgym(tmp_path, "model", "serve", "--port", "0")
    try:
        assert process.stdout is not None
        address = next(word for word in process.stdout.readline().split() if word.startswith("http://"))
        asked = {"model": "amemgym-embedded", "messages": [{"role": "user", "content": "How do I run better?"}]}
        ask = f"{address}/chat/completions"
        listening = httpx2.HTTPTransport(retries=8)  # it prints before it listens
        with httpx2.Client(transport=listening, timeout=LONG) as script:
            assert script.post(ask, json=asked).status_code == 200
            sentence(script.post(ask, json=asked, headers={"host": "elsewhere.example"}), 421)
            sentence(script.post(ask, json=asked, headers={"origin": FOREIGN}), 403)
            sentence(script.post(ask, content=json.dumps(asked), headers={"content-type": "text/plain"}), 400)
    finally:
        process.kill()
        process.communicate()
