"""What is made to be shared names no folder, user or host of this machine, and no secret of its environment in any form."""

import base64
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.pipelines.chained import SERVED, TINY, endpoint
from tests.support.commands import clean_environment, run_in_turn
from tests.support.echo_server import echo_server

PLACE, USER, HOST = "zanzibarplace", "quokkauser", "kiwihost"
PASSWORD, HEADER, QUERY, TOKEN = "narwh4l-p+ss", "w4lrus-header-0123", "m4rmot-query-0123", "hf_b4dger0123456789"
SECRETS = (PASSWORD, HEADER, QUERY, TOKEN, base64.b64encode(f"otter:{PASSWORD}".encode()).decode())
# What only this machine reads, and what needs whole paths to work: Dagster's own storage, and what Python
# compiles beside the user's own file.
OF_THIS_MACHINE = ("dagster/", "__pycache__/")
MEMORY = """
class Plain:
    def __init__(self):
        self.lines = []

    def write(self, events):
        self.lines += [event.line for event in events]

    def recall(self, query, *, tokens):
        return self.lines[-30:]


class Failing(Plain):
    def recall(self, query, *, tokens):
        if tokens > 2000:  # which a check does not ask for
            raise FileNotFoundError(2, "No such file or directory", __file__)
        return self.lines[-30:]
"""


@dataclass(frozen=True)
class Made:
    """The folder with everything that was made, and the status and the output of each command."""

    root: Path
    told: list[tuple[int, str]]


def in_its_own_host() -> list[str]:
    """What gives a process a host name of ours, where the system lets us."""
    words = ["unshare", "--map-root-user", "--uts", "sh", "-c", f'hostname {HOST} && exec "$@"', "sh"]
    allowed = shutil.which("unshare") and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    return words if allowed else []


def a_memory(path: str) -> tuple[int, object] | None:
    """A service that takes everything and gives nothing; below /echo it answers with all that it was sent."""
    route = path.partition("?")[0]
    if route == "/base/recall":
        return 200, {"texts": ["nothing"]}
    if route.endswith("/write"):
        return 200, {}
    return (404, {}) if route.endswith(("/fork", "/settle")) else None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A release, evaluations, pages, a study and exports, made where every name of the machine is a word of its own."""
    root = tmp_path_factory.mktemp("whole") / PLACE / USER
    home = root / "data"
    home.mkdir(parents=True)
    (root / "mine.py").write_text(MEMORY, encoding="utf-8")
    with endpoint() as served, echo_server(answer=a_memory) as service:
        address = service.url.replace("://", f"://otter:{PASSWORD}@")
        evaluate = [
            "evaluate",
            "demo",
            "--conditions",
            "",
            "--quiet",
            "--model",
            SERVED[1],
            "--set",
            f"embedding_model={SERVED[1]}",
        ]
        commands: list[list[str]] = [
            ["generate", "demo", *SERVED, *TINY],
            [*evaluate, "--memory", f"{root}/mine.py:Plain", "--memory", f"{address}/base?api_key={QUERY}"],
            [*evaluate, "--memory", f"{root}/mine.py:Failing"],
            ["memory", "check", f"{address}/echo"],
            ["memory", "check", f"{service.url}/echo?api_key={QUERY}#Authorization=Bearer $WALRUS"],
            ["leaderboard"],
            ["quality", "demo"],
            ["export", "demo", "--out", str(root / "export")],
            ["cache", "export", str(root / "replies.sqlite")],
        ]
        environment = clean_environment(
            home,
            **served.surroundings | {"AMEMGYM_BASE_URL": f"{served.surroundings['AMEMGYM_BASE_URL']}?key={QUERY}"},
            HOME=str(root),
            USER=USER,
            LOGNAME=USER,
            HF_TOKEN=TOKEN,
            WALRUS=HEADER,
        )
        environment["PYTHONPATH"] = str(Path.cwd())
        told = run_in_turn(commands, environment, folder=Path.cwd(), before=in_its_own_host(), errors=subprocess.STDOUT)
    return Made(root, told)


def told(path: Path) -> Iterator[bytes]:
    """All bytes of a file; of a table and a database, also what they say."""
    content = path.read_bytes()
    yield content
    if content.startswith(b"PAR1"):
        parquet: Any = pq
        table = parquet.read_table(path)
        yield repr(table.to_pylist()).encode()
        yield repr(table.schema.metadata).encode()
    if content.startswith(b"SQLite format 3"):
        with sqlite3.connect(path) as connection:
            yield "\n".join(connection.iterdump()).encode()


def files_with(made: Made, words: tuple[str, ...]) -> list[str]:
    """The files in whose name or content one of the words stands."""
    found = list[str]()
    for path in sorted(made.root.rglob("*")):
        name = path.relative_to(made.root).as_posix()
        inside = told(path) if path.is_file() else iter(())
        for content in (name.encode(), *inside):
            found += [f"{name}: {word}" for word in words if word.encode() in content]
    return list(dict.fromkeys(found))


def test_all_of_it_was_made(made: Made) -> None:
    names = {path.name for path in made.root.rglob("*")}
    assert {"manifest.json", "croissant.json", "report.html", "questions.parquet"} <= names
    assert [status for status, _ in made.told].count(0) == 6


def test_no_secret_of_the_environment_or_of_an_address_stands_in_any_file(made: Made) -> None:
    assert files_with(made, SECRETS) == []


def test_no_secret_is_printed(made: Made) -> None:
    printed = "\n".join(output for _, output in made.told)
    assert "The memory service answered 400" in printed
    assert [secret for secret in SECRETS if secret in printed] == []


def test_no_folder_user_or_host_of_this_machine_stands_in_what_may_be_shared(made: Made) -> None:
    found = files_with(made, (PLACE, USER, HOST))
    assert [place for place in found if not place.removeprefix("data/").startswith(OF_THIS_MACHINE)] == []
