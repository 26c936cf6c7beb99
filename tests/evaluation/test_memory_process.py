"""A memory of others in its own process: what it is given there, what it may ask, and what is left of it."""

import sys
import threading
from datetime import datetime
from pathlib import Path

import pytest

from assets.isolation.boundary import KINDS, Kind, holds
from assets.llm.ports import EndpointError, RequestFailed
from pipelines.errors import EvaluationError
from pipelines.memories.check import check_memory
from pipelines.memories.code_identity import code_files
from pipelines.memories.contract import MemoryEvent
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting import confinement
from pipelines.memories.hosting.confinement import Confinement, host_memory
from pipelines.memories.hosting.hosted import MemoryHost
from pipelines.memories.others.process import ForeignCode
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel
from tests.evaluation.test_memories import recalled_anew, tools
from tests.support.coroutines import run
from tests.support.guide import ROOT

pytestmark = pytest.mark.slow  # each memory has a process

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
        from amemgym.prompts.template import Message

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


class Following(Mine):
    async def recall(self, query, *, tokens):
        def read(path):
            try:
                return path.read_text()
            except OSError:
                return "not there"

        folder = Path(__file__).parent
        return [read(folder / name) for name in ("model.bin", "up/key.txt", "sub/deep.bin", "same.txt")]


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
    monkeypatch.setattr(confinement, "available_kind", lambda: kind)
    socket, own_file, system_file, scratch = asked(hosted(tmp_path, "Reaching"), "what")
    assert {socket, own_file, system_file} == {"refused"}
    assert scratch == "done"


@pytest.mark.parametrize("kind", KINDS)
def test_the_network_is_there_for_a_memory_that_declares_it(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not holds(kind):
        pytest.skip(f"{kind} does not hold here")
    monkeypatch.setattr(confinement, "available_kind", lambda: kind)
    socket, own_file, system_file, _ = asked(hosted(tmp_path, "Reaching", network="true"), "what")
    assert (socket, own_file, system_file) == ("done", "refused", "refused")


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_in_its_folder_shows_nothing_that_lies_elsewhere_and_one_sentence_names_it(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not holds(kind):
        pytest.skip(f"{kind} does not hold here")
    monkeypatch.setattr(confinement, "available_kind", lambda: kind)
    own = tmp_path / "own"
    for folder in (own / ".git", own / "sub", own / "venv"):
        folder.mkdir(parents=True)
    (tmp_path / "key.txt").write_text("secret")
    (own / "real.txt").write_text("seen")
    (own / "venv" / "pyvenv.cfg").write_text("")
    for link, place in (
        ("model.bin", "../key.txt"),
        ("up", ".."),
        ("same.txt", "real.txt"),
        ("self", "."),
        ("gone", "nowhere"),
    ):
        (own / link).symlink_to(place)
    (own / "sub" / "deep.bin").symlink_to("../../key.txt")
    (own / "venv" / "python").symlink_to("/usr/bin/python3")
    assert asked(hosted(tmp_path, "Following"), "what") == ["not there", "not there", "not there", "seen"]
    spec = find_memory(f"{own / 'mine.py'}:Following")
    (first, *_) = run(check_memory(spec, tools(HonestModel())))
    assert first.word == "warns"
    assert first.sentence == "'Following' is not shown what links in its folder lead to elsewhere: model.bin, up, sub/deep.bin."


def test_a_link_in_place_of_its_file_or_of_what_that_imports_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    own = tmp_path / "own"
    for folder in (elsewhere, own):
        folder.mkdir()
    (elsewhere / "mine.py").write_text("import helper\n")
    (elsewhere / "helper.py").write_text("key = 'secret'\n")
    (own / "mine.py").write_text("import helper\n")
    (own / "helper.py").symlink_to(elsewhere / "helper.py")
    (own / "linked.py").symlink_to(elsewhere / "mine.py")
    assert code_files(f"{own / 'mine.py'}:Mine") == {"mine.py": own / "mine.py"}
    with pytest.raises(
        EvaluationError, match=r"linked\.py is a link that leads out of its folder; give the file that it leads"
    ):
        find_memory(f"{own / 'linked.py'}:Mine")


REFUSED = """
import os
import sqlite3
import urllib.request


class Refused:
    def write(self, events): ...

    def recall(self, query, *, tokens):
        getattr(self, query)()

    def database(self):
        sqlite3.connect("memory.db").execute("create table m(t)")

    def beside(self):
        open(os.path.join(os.path.dirname(__file__), "notes.json"), "w")

    def relative(self):
        open("notes.json", "w")

    def variable(self):
        os.environ["MY_SERVICE_KEY"]

    def client(self):
        raise ValueError("api_key must be set by passing api_key or by the OPENAI_API_KEY environment variable")

    def network(self):
        urllib.request.urlopen("http://memory.example/v1", timeout=2)

    def fault(self):
        [][10]
"""
FILES = "writes only where `tempfile` makes files and folders."
NETWORK = "That was the sandbox: its process has no network; the setting network=true gives it one."
HINTS = {
    "database": FILES,
    "beside": FILES,
    "relative": FILES,
    "variable": "the setting api_key: $MY_SERVICE_KEY.",
    "client": "the setting api_key: $OPENAI_API_KEY.",
    "network": NETWORK,
    "fault": "IndexError: list index out of range (refused.py, line 32)",
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_sandbox_refuses_is_told_as_that_with_what_to_do(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case memory-writes-beside-itself: 'sqlite3.OperationalError: unable to open database file', and no more."""
    if not holds(kind):
        pytest.skip(f"{kind} does not hold here")
    monkeypatch.setattr(confinement, "available_kind", lambda: kind)
    (tmp_path / "own").mkdir()
    path = tmp_path / "own" / "refused.py"
    path.write_text(REFUSED, encoding="utf-8")

    async def sentences() -> dict[str, str]:
        host = host_memory(find_memory(f"{path}:Refused"), tools(HonestModel()))
        memory = await host.new_memory()
        told = dict[str, str]()
        for what in HINTS:
            with pytest.raises(MemoryFailed) as failed:
                await memory.recall(what, tokens=100)
            told[what] = str(failed.value)
        await host.close()
        return told

    for what, sentence in run(sentences()).items():
        assert sentence.endswith(HINTS[what])


SHARING = """
from pathlib import Path

TOLD = []


class Locked:
    def __init__(self):
        store = Path.home() / "store"
        if store.exists():
            raise RuntimeError("Storage folder is already accessed by another instance")
        store.mkdir()

    def write(self, events):
        TOLD.extend(event.text for event in events)

    def recall(self, query, *, tokens):
        return list(TOLD)


class Listed(Locked):
    def __init__(self): ...
"""


VERSIONS = """
import duckdb
import openai


class Versions:
    def write(self, events): ...

    def recall(self, query, *, tokens):
        return [openai.__version__, "ours" if duckdb.__version__ else ""]
"""


def test_memories_that_share_a_home_or_a_module_are_told_how_each_gets_its_own(tmp_path: Path) -> None:
    """Case mem0-package-telemetry-store: 'Storage folder is already accessed by another instance', and no more."""
    (tmp_path / "own").mkdir()
    path = tmp_path / "own" / "sharing.py"
    path.write_text(SHARING, encoding="utf-8")

    async def recalled_by_another(memory: str) -> list[str]:
        host = host_memory(find_memory(f"{path}:{memory}"), tools(HonestModel()))
        try:
            first = await host.new_memory()
            await first.write([MemoryEvent("I drink tea.", "user")])
            return await (await host.new_memory()).recall("tea", tokens=100)
        finally:
            await host.close()

    with pytest.raises(
        MemoryFailed,
        match=r"another instance \(sharing\.py, line 11\)\. That was .* apart=true gives each its own\.$",
    ):
        run(recalled_by_another("Locked"))
    [*_, verdict] = run(check_memory(find_memory(f"{path}:Listed"), tools(HonestModel())))
    assert verdict.sentence.endswith("or set apart=true, which gives each a process and a home folder of its own.")
    assert run(recalled_by_another("Locked?apart=true")) == []


def test_a_memory_uses_the_packages_of_the_environment_that_it_names(tmp_path: Path) -> None:
    """Case cognee-changes-our-packages: installed beside ours, it takes openai and others back by major versions."""
    packages = tmp_path / "venv" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "openai.py").write_text("__version__ = 'theirs'", encoding="utf-8")
    path = tmp_path / "versions.py"
    path.write_text(VERSIONS, encoding="utf-8")

    settled = f"{path}:Versions?python={tmp_path}/venv/bin/python"
    assert recalled_anew(settled) == ["theirs", "ours"]
    with pytest.raises(EvaluationError, match=r"has packages of its own .* needs its own process"):
        recalled_anew(settled, given=Confinement(in_process=True))
    with pytest.raises(EvaluationError, match=r"site-packages is no folder; give the interpreter of a virtual environment"):
        recalled_anew(f"{path}:Versions?python={tmp_path}/bin/python")


@pytest.mark.parametrize("in_process", [False, True])
def test_a_class_that_takes_the_name_of_its_model_gets_it(tmp_path: Path, in_process: bool) -> None:
    path = tmp_path / "named.py"
    path.write_text(
        "class Named:\n    def __init__(self, tools, *, model):\n        self.names = [model, tools.model_name]\n"
        "    def write(self, events): ...\n    def recall(self, query, *, tokens): return self.names\n",
        encoding="utf-8",
    )

    assert recalled_anew(f"{path}:Named?model=small", given=Confinement(in_process)) == ["small", "small"]


def test_where_a_memory_lies_beside_this_program_the_program_s_files_are_not_the_memory_s() -> None:
    code = ForeignCode("Mine", "mine.py", {}, file=str(ROOT / "mine.py"))
    assert code.name_in_folder(str(ROOT / "notes" / "mine.txt")) == "notes/mine.txt"
    assert code.name_in_folder(str(ROOT / "__pycache__" / "helper.cpython-311.pyc")) == "helper.py"
    assert code.name_in_folder(str(ROOT / "pipelines" / "memories" / "events.py")) == ""
    assert code.name_in_folder(str(ROOT.parent / "notes.txt")) == ""
