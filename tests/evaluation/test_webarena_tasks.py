"""Tasks of WebArena-Infinity's form without a browser: folders that cannot be used, verifiers, and what a page is shown."""

import json
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from assets.records.base import ItemFailed
from pipelines.agents.browser_page import NoBrowser, chromium_path
from pipelines.agents.webarena_world import MOST_STATE, ApplicationServer, Verifier
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.webarena import WebTask, read_webarena_tasks
from tests.support.waiting import LONG
from tests.support.web_application import verifier_of, write_application

TASK = {"id": "one", "instruction": "Water it.", "verify": "checks/Fern.py"}
DRY = json.dumps({"plants": [{"name": "Fern", "watered": False}]})
WET = json.dumps({"plants": [{"name": "Fern", "watered": True}]})


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ("[]", "has no tasks; it is to be a list of objects with id, instruction, verify"),
        ("{", "cannot be read as tasks"),
        ('["one"]', "Task 1 of .* lacks a text of id, instruction, verify"),
        (json.dumps([{**TASK, "verify": None}]), "Task 1 of .* lacks a text of id"),
        (json.dumps([{**TASK, "id": "../one"}]), "has the id '../one'; write it with letters"),
        (json.dumps([{**TASK, "verify": "../../key.py"}]), "cannot be read: '../../key.py' does not lie inside its folder"),
        (json.dumps([{**TASK, "verify": "checks/other.py"}]), "has the verifier 'checks/other.py', which cannot be read"),
        (json.dumps([TASK, TASK]), "has two tasks plants.one"),
    ],
)
def test_tasks_that_cannot_be_used_are_refused_with_a_sentence(tmp_path: Path, tasks: str, said: str) -> None:
    folder = write_application(tmp_path / "plants")
    (folder / "real-tasks.json").write_text(tasks)
    with pytest.raises(EvaluationError, match=said):
        read_webarena_tasks(f"webarena:{folder}")


@pytest.mark.parametrize("linked", ["checks/Fern.py", "real-tasks.json", ""])
def test_a_link_to_elsewhere_is_refused_with_a_sentence(tmp_path: Path, linked: str) -> None:
    folder = write_application(tmp_path / "clone" / "apps" / "plants")
    (folder / "real-tasks.json").write_text(json.dumps([TASK]))
    (folder / linked).rename(tmp_path / "elsewhere")
    (folder / linked).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EvaluationError, match="is a link, or lies behind one, that leads out of"):
        read_webarena_tasks(f"webarena:{tmp_path / 'clone'}")


@pytest.mark.parametrize("folder", [".", "no-such-folder"])
def test_a_folder_without_tasks_is_refused_with_a_sentence(tmp_path: Path, folder: str) -> None:
    with pytest.raises(EvaluationError, match="has no tasks; give a clone of WebArena-Infinity"):
        read_webarena_tasks(f"webarena:{tmp_path / folder}")


def test_a_chromium_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    with pytest.raises(NoBrowser, match="CHROMIUM names /nowhere/chromium, which is no program; install it"):
        chromium_path()
    monkeypatch.delenv("CHROMIUM")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoBrowser, match="there is no chromium"):
        chromium_path()


def test_a_missing_browser_is_said_before_anything_is_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_application(tmp_path / "apps" / "plants")
    monkeypatch.setenv("CHROMIUM", "/no/such/program")
    with pytest.raises(EvaluationError, match="Acting in a browser needs"):
        read_webarena_tasks(f"webarena:{tmp_path}")


def test_the_needed_facts_are_the_texts_that_a_verifier_compares_with(tmp_path: Path) -> None:
    source = "def verify(url):\n    '''Of no use.'''\n    return kind in ['Tall fern', 'x'] and name == 'Moss', 'said'\n"
    assert WebTask("one", tmp_path, "Water it.", Verifier("one.py", source)).needed_values == ["Tall fern", "Moss"]
    assert WebTask("one", tmp_path, "Water it.", Verifier("one.py", "def verify(")).needed_values == []


def test_a_verifier_reads_the_state_and_says_what_it_lacks() -> None:
    verifier = Verifier("fern.py", verifier_of("Fern"))
    assert verifier.find_failure(WET) == ""
    assert verifier.find_failure(DRY) == "[] are wet, Fern is not"
    assert verifier.find_failure("{}") == "the verifier raised KeyError: 'plants'"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('x' * 9_000_000) or (False, 'no ' * 9_000_000)", "no no no"),
        ("(open('/etc/hostname').read() and True, '')", "the verifier raised"),
        ("(__import__('socket').socket() and True, '')", "the verifier raised"),
        ("[0] * 10 ** 10", "the verifier raised MemoryError"),
    ],
)
def test_a_verifier_that_goes_astray_does_not_pass(body: str, said: str) -> None:
    failed = Verifier("astray.py", f"def verify(server_url):\n    return {body}\n").find_failure(WET)
    assert failed.startswith(said)
    assert len(failed) <= 300


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("while True: pass", "astray.py gives no answer: it ended, or took longer than 1 seconds"),
        ("__import__('os')._exit(0)", "astray.py gives no answer"),
        ("__import__('requests').post(server_url)", "it uses requests.post, and there is requests.get alone"),
        ("__import__('requests').get(server_url + '/api/users')", "/api/users, and there is the state alone"),
    ],
)
def test_a_verifier_that_gives_no_answer_scores_nothing(body: str, said: str) -> None:
    verifier = Verifier("astray.py", f"def verify(server_url):\n    {body}\n")
    with pytest.raises(ItemFailed, match=said):
        verifier.find_failure(WET, seconds=1)


@pytest.fixture
def server(tmp_path: Path) -> Generator[ApplicationServer]:
    folder = write_application(tmp_path / "plants")
    (tmp_path / "key.js").write_text("secret")
    (folder / "away.js").symlink_to(tmp_path / "key.js")
    with closing(ApplicationServer(folder)) as server:
        yield server


def asked(server: ApplicationServer, path: str, body: bytes | None = None) -> int:
    request = urllib.request.Request(server.origin + path, data=body, method="GET" if body is None else "PUT")
    try:
        with urllib.request.urlopen(request, timeout=LONG) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_page_is_shown_and_neither_tasks_nor_verifiers_nor_files_elsewhere(server: ApplicationServer) -> None:
    assert asked(server, "/") == 200
    assert asked(server, "/api/events") == 204
    for hidden in (
        "/real-tasks.json",
        "/checks/Fern.py",
        "/api/state",
        "/../key.js",
        "/%2e%2e/key.js",
        "/away.js",
        "/%00.js",
        "/checks",
    ):
        assert asked(server, hidden) == 404, hidden


def test_the_state_is_what_a_page_put_last_and_json(server: ApplicationServer) -> None:
    assert server.state == ""
    assert asked(server, "/api/state", WET.encode()) == 200
    assert asked(server, "/api/state", b"{") == 400
    assert asked(server, "/elsewhere", DRY.encode()) == 404
    assert json.loads(server.state) == json.loads(WET)


def test_a_state_that_is_too_large_is_refused(server: ApplicationServer) -> None:
    with urllib.request.urlopen(server.origin, timeout=LONG):
        pass
    request = urllib.request.Request(
        server.origin + "/api/state", method="PUT", headers={"Content-Length": str(MOST_STATE + 1)}
    )
    with pytest.raises(urllib.error.HTTPError, match="413"):
        urllib.request.urlopen(request, timeout=LONG)
    assert server.state == ""
