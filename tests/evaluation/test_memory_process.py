"""A memory of others in its own process: what it is given there, what it may ask, and what is left of it."""

import threading
from datetime import datetime
from pathlib import Path

import pytest

from assets.isolation.boundary import KINDS, Kind, holds
from assets.llm.ports import EndpointError, RequestFailed
from pipelines.memories import registry
from pipelines.memories.contract import MemoryEvent
from pipelines.memories.hosting import MemoryFailed, MemoryHost
from pipelines.memories.registry import find_memory, host_memory
from tests.evaluation.scripted_evaluation import HonestModel
from tests.evaluation.test_memories import tools
from tests.support.coroutines import run

CODE = """
import asyncio
import os
import socket
import sys
import tempfile
from pathlib import Path


class Mine:
    def __init__(self, tools=None, words=""):
        self.tools = tools
        self.lines = [words] if words else []

    def write(self, events):
        print("\\x1b[2Jsaid", file=sys.stderr)
        self.lines += [f"{event.line} {event.at.year}" for event in events]

    async def recall(self, query, *, tokens):
        from prompts.template import Message

        if query == "chat":
            return [await self.tools.chat([Message("user", "hello")]), str(len((await self.tools.embed(["ab"]))[0]))]
        if query == "end":
            os._exit(3)
        if query == "dagster":
            return [name for name in sys.modules if name.startswith(("dagster", "pydantic"))]
        if query == "variables":
            return [name for name in os.environ if "KEY" in name]
        return self.lines

    def fork(self):
        copy = type(self)(self.tools)
        copy.lines = list(self.lines)
        return copy


class Reaching(Mine):
    async def recall(self, query, *, tokens):
        def tried(work):
            try:
                work()
            except OSError:
                return "refused"
            return "done"

        own_file = Path(__file__)
        system_file = Path("/etc/passwd")
        work = [socket.socket, lambda: own_file.write_text(""), system_file.read_text, tempfile.TemporaryFile]
        return [tried(one) for one in work]


class Plain:
    def __init__(self, words=""): self.lines = [words]
    def write(self, events): self.lines += [event.text for event in events]
    def recall(self, query, *, tokens):
        import sys
        return [name for name in sys.modules if name.startswith(("dagster", "pydantic"))] + self.lines
"""


def hosted(folder: Path, name: str = "Mine", model: HonestModel | None = None, **settings: str) -> MemoryHost:
    path = folder / "own" / "mine.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(CODE, encoding="utf-8")
    spec = find_memory(f"{path}:{name}").model_copy(update={"settings": settings})
    return host_memory(spec, tools(model or HonestModel()))


def asked(host: MemoryHost, query: str) -> list[str]:
    async def work() -> list[str]:
        try:
            memory = await host.new_memory()
            await memory.write([MemoryEvent("I drink tea.", "user", datetime(2020, 1, 1))])
            copy = await memory.fork()
            await memory.write([MemoryEvent("I drink coffee.", "user", datetime(2021, 1, 1))])
            return await copy.recall(query, tokens=100)
        finally:
            await host.close()

    return run(work())


def test_it_is_given_events_and_settings_and_its_copies_see_nothing_later(tmp_path: Path) -> None:
    assert asked(hosted(tmp_path, words="begun"), "tea") == ["begun", "[2020-01-01 00:00:00] user: I drink tea. 2020"]


def test_what_it_prints_steers_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = threading.enumerate()
    asked(hosted(tmp_path), "tea")
    for thread in threading.enumerate():
        if thread.name == "memory-prints" and thread not in before:
            thread.join()
    assert capsys.readouterr().err == "said\n" * 2


def test_it_asks_the_models_of_the_run_which_are_counted_here(tmp_path: Path) -> None:
    model = HonestModel()
    assert asked(hosted(tmp_path, model=model), "chat") == ["Noted.", "27"]
    assert len(model.asked("chat")) == 1


@pytest.mark.parametrize("error", [EndpointError("The endpoint is gone."), RequestFailed("Too long.")])
def test_an_error_of_a_model_of_the_run_comes_out_as_it_went_in(error: EndpointError, tmp_path: Path) -> None:
    class Gone(HonestModel):
        async def complete(self, request: object) -> object:  # pyright: ignore
            raise error

    with pytest.raises(type(error)) as raised:
        asked(hosted(tmp_path, model=Gone()), "chat")
    assert raised.value is error


def test_a_process_that_ends_is_an_error_of_the_memory(tmp_path: Path) -> None:
    with pytest.raises(MemoryFailed, match=r"failed in 'recall': RuntimeError: its process ended: with status 3"):
        asked(hosted(tmp_path), "end")


def test_a_memory_that_asks_no_model_imports_nothing_that_takes_long(tmp_path: Path) -> None:
    assert asked(hosted(tmp_path, "Plain"), "dagster") == ["I drink tea."]


def test_it_has_no_variable_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMGYM_API_KEY", "walrus")
    assert asked(hosted(tmp_path), "variables") == []


@pytest.mark.parametrize("kind", KINDS)
def test_each_boundary_leaves_it_scratch_alone(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not holds(kind):
        pytest.skip(f"{kind} does not hold here")
    monkeypatch.setattr(registry, "available_kind", lambda: kind)
    socket, own_file, system_file, scratch = asked(hosted(tmp_path, "Reaching"), "what")
    assert {socket, own_file, system_file} == {"refused"}
    assert scratch == "done"


@pytest.mark.parametrize("kind", KINDS)
def test_the_network_is_there_for_a_memory_that_declares_it(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not holds(kind):
        pytest.skip(f"{kind} does not hold here")
    monkeypatch.setattr(registry, "available_kind", lambda: kind)
    socket, own_file, system_file, _ = asked(hosted(tmp_path, "Reaching", network="true"), "what")
    assert (socket, own_file, system_file) == ("done", "refused", "refused")
