"""Dagster's web server may be away for a while; what it is to start is sent once, and what waiting cannot mend told at once."""

import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from pipelines.cluster.layout import FILES, Cluster
from pipelines.cluster.remote import Deployment
from pipelines.cluster.web_server import WebServer
from pipelines.errors import Problem
from pipelines.jobs import Phase
from pipelines.ui.request_guard import RequestGuard
from tests.cluster.sessions import end_sessions
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.commands import clean_environment, free_port
from tests.support.waiting import LONG

TROUBLE = {"data": {"field": {"__typename": "PythonError", "message": "The storage\nis away."}}}
WELL = {"data": {"field": {"results": [1]}}}


@dataclass
class Page:
    """Answers by script; the last answer stays."""

    script: list[Response] = field(default_factory=list[Response])
    asked: int = 0

    async def answer(self, request: Request) -> Response:
        self.asked += 1
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


def page_app(page: Page) -> Starlette:
    return Starlette(routes=[Route("/graphql", page.answer, methods=["POST"])])


@pytest.fixture
def page() -> Iterator[tuple[Page, WebServer]]:
    page = Page()
    with on_a_port(page_app(page)) as url:
        server = WebServer(url.removesuffix("/v1"), timeout=LONG, pause=0.01)
        with closing(server.client):
            yield page, server


def test_a_question_is_asked_again_until_the_trouble_is_over(page: tuple[Page, WebServer]) -> None:
    script, server = page
    script.script = [JSONResponse(TROUBLE), JSONResponse(TROUBLE, 500), PlainTextResponse("no", 502), JSONResponse(WELL)]
    assert server.ask("{ field }", key="results") == {"results": [1]}


def test_what_the_database_says_is_told_without_its_statement(page: tuple[Page, WebServer]) -> None:
    script, server = page
    message = "OperationalError: server closed\n the connection [SQL: INSERT INTO event_logs ...] [parameters: {'secret': 1}]"
    script.script = [JSONResponse({"data": {"field": {"__typename": "PythonError", "message": message}}})]
    with pytest.raises(Problem, match=r"^job cannot be started: OperationalError: server closed the connection$"):
        server.launch("mutation { field }", key="run", what="job")


def test_trouble_that_stays_is_told_in_one_line(page: tuple[Page, WebServer]) -> None:
    script, server = page
    script.script = [JSONResponse(TROUBLE, 500)]
    with pytest.raises(Problem, match=r"gives no answer \(The storage is away\.\)"):
        replace(server, timeout=2).ask("{ field }", key="results")
    assert script.asked > 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (JSONResponse(TROUBLE, 500), r"^generate cannot be started: The storage is away\.$"),
        (PlainTextResponse("gateway", 502), r"^Whether generate was started is not known \(status 502\); look at .*/runs"),
    ],
)
def test_a_launch_is_not_repeated(answer: Response, words: str, page: tuple[Page, WebServer]) -> None:
    script, server = page
    script.script = [answer]
    with pytest.raises(Problem, match=words):
        server.launch("mutation", key="run", what="generate")
    assert script.asked == 1


def test_a_launch_that_did_not_reach_the_server_is_sent_when_it_is_there() -> None:
    page = Page([JSONResponse({"data": {"field": {"run": {"runId": "1"}}}})])
    app = uvicorn.Server(uvicorn.Config(page_app(page), lifespan="off"))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and does not listen before the server starts
        server = WebServer(f"http://127.0.0.1:{bound.getsockname()[1]}", timeout=30, pause=0.05)
        with closing(server.client), ThreadPoolExecutor(1) as caller:
            launched = caller.submit(server.launch, "mutation", key="run", what="generate")
            time.sleep(0.2)
            serving = threading.Thread(target=app.run, kwargs={"sockets": [bound]})
            serving.start()
            assert launched.result(30) == {"run": {"runId": "1"}}
        app.should_exit = True
        serving.join()
    assert page.asked == 1


def test_a_launch_brings_the_token_of_the_servers_start_and_is_made_once() -> None:
    page = Page([JSONResponse({"data": {"field": {"run": {"runId": "1"}}}})])
    with on_a_port(RequestGuard(page_app(page), host="127.0.0.1")) as url:
        server = WebServer(url.removesuffix("/v1"), timeout=0.3, pause=0.01)
        with closing(server.client):
            assert server.launch("mutation", key="run", what="generate") == {"run": {"runId": "1"}}
            assert page.asked == 1
            server.launch("mutation", key="run", what="generate")
    assert page.asked == 2


def test_a_server_that_does_not_go_by_this_name_says_what_to_set() -> None:
    page = Page([JSONResponse(WELL)])
    with on_a_port(RequestGuard(page_app(page), host="gpu-box")) as url:
        server = WebServer(url.removesuffix("/v1"), client=httpx2.Client(headers={"host": "that-host:3000"}))
        with closing(server.client), pytest.raises(Problem, match=r"refused: .* 'that-host:3000'; .* AMEMGYM_HOSTS=that-host"):
            server.launch("mutation", key="run", what="generate")
    assert page.asked == 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (PlainTextResponse("who are you", 401), "does not answer as Dagster does \\(status 401\\)"),
        (JSONResponse({"detail": "nothing here"}, 404), "does not answer as Dagster does \\(status 404\\)"),
        (PlainTextResponse("<html>a page"), "does not answer as Dagster does \\(status 200\\)"),
        (JSONResponse({"errors": [{"message": "Unknown field."}]}, 400), "refused: Unknown field"),
    ],
)
def test_what_waiting_cannot_mend_is_told_at_once(answer: Response, words: str, page: tuple[Page, WebServer]) -> None:
    script, server = page
    script.script = [answer]
    with pytest.raises(Problem, match=words):
        server.ask("{ field }", key="results")
    assert script.asked == 1


@pytest.mark.parametrize("url", ["host:3000", "http://me:hush@host:port", "http://me:hush/hush@host", "ftp://me:hush@host"])
def test_an_address_that_is_none_is_told_without_a_login(url: str) -> None:
    server = WebServer(url, timeout=0)
    with closing(server.client), pytest.raises(Problem, match="is no address of a web server") as told:
        server.ask("{ field }", key="results")
    assert "hush" not in f"{told.value} {told.value.__context__!r}"


def test_a_launch_succeeds_after_a_restart_of_the_database(database: str, servers: Cluster, tmp_path: Path) -> None:
    dagster_home = tmp_path / "dagster"
    dagster_home.mkdir()
    shutil.copy(FILES / "dagster.yaml", dagster_home)
    own = {"AMEMGYM_DATABASE": database, "AMEMGYM_BROKER": servers.broker, "AMEMGYM_RUNS_AT_ONCE": "1"}
    around = clean_environment(tmp_path, DAGSTER_HOME=str(dagster_home), **own)
    port = free_port()
    command = [sys.executable, "-m", "pipelines.ui.server", str(FILES / "workspace.yaml"), "127.0.0.1", str(port)]
    process = subprocess.Popen(command, env=around)
    try:
        deployment = Deployment(f"http://127.0.0.1:{port}", report=print)
        first = deployment.launch(Phase("generate_and_release", "demo"))
        end_sessions(database)
        assert deployment.launch(Phase("generate_and_release", "demo")) != first
    finally:
        process.terminate()
        process.wait(30)
