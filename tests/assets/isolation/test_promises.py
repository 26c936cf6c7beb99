"""The security page's tables say what was found: every attempt is made in each boundary that there is."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.isolation.boundary import ENDING_SECONDS, KINDS, Kind, holds
from pipelines.memories.hosting import confinement
from tests.assets.isolation.memories import Item
from tests.assets.isolation.promises import OF_PACKAGES, PROMISES, SMALL, Stage, descendants, was_started
from tests.support.waiting import wait_until

PAGE = Path(__file__).parents[3] / "pipelines" / "guide" / "reference" / "security.md"
CELLS = " | ".join(KINDS)
TABLES = {f"| a package's code | {CELLS} |": OF_PACKAGES, f"| a memory's code | {CELLS} |": PROMISES}
# As in `test_attacks.py`.
ATTACKED = os.environ.get("AMEMGYM_TEST_BOUNDARIES", "namespaces landlock").split()
# With it, the test writes what it found instead of comparing it.
WRITING = os.environ.get("AMEMGYM_WRITE_TABLE") == "1"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="Only Linux has boundaries."),
]


@pytest.fixture(params=ATTACKED)
def stage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A boundary, with a folder that is not below the one that memories have for scratch."""
    kind: Kind = request.param
    if not holds(kind):
        pytest.skip(f"The boundary {kind!r} cannot be had on this machine, so that it was not attacked.")
    monkeypatch.setattr(confinement, "available_kind", lambda: kind)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Stage(kind, Path(folder).resolve())


def rows(head: str) -> list[list[str]]:
    """A table's rows as cells: the sentence, then yes or no for each boundary."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = lines.index(head) + 2
    last = next(number for number, line in enumerate(lines) if number >= first and not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[first:last]]


def by_boundary(cells: list[str]) -> dict[str, str]:
    """Return a row's cells by the boundaries that they are about."""
    return dict(zip(map(str, KINDS), cells, strict=True))


def write_column(head: str, kind: str, found: dict[str, str]) -> None:
    """Write what was found in one boundary into the page; of other boundaries its rows stay as they are."""
    known = {sentence: by_boundary(cells) for sentence, *cells in rows(head)}
    before, _, after = PAGE.read_text(encoding="utf-8").partition(head + "\n")
    rest = after.splitlines(keepends=True)
    kept = next(number for number, line in enumerate(rest) if not line.startswith("|"))
    table = [head, "|---" * (1 + len(KINDS)) + "|"]
    for sentence in found:
        cells = dict.fromkeys(map(str, KINDS), "") | known.get(sentence, {}) | {kind: found[sentence]}
        table.append(f"| {sentence} | {' | '.join(cells.values())} |")
    PAGE.write_text(before + "\n".join(table) + "\n" + "".join(rest[kept:]), encoding="utf-8")


@pytest.mark.parametrize("head", TABLES)
def test_the_page_says_what_holds_in_each_boundary(stage: Stage, head: str) -> None:
    possible = {sentence: attempt(stage) for sentence, attempt in TABLES[head].items()}
    found = {sentence: "no" if attempts else "yes" for sentence, attempts in possible.items()}
    if WRITING:
        write_column(head, stage.kind, found)
    told = {sentence: by_boundary(cells)[stage.kind] for sentence, *cells in rows(head)}
    assert told == found, possible


# What a memory may well do, and what it takes to do it behind the boundary.
WORKS = {
    "a database": "import sqlite3\nbase = sqlite3.connect(tempfile.mkdtemp() + '/x')\n"
    "base.execute('pragma journal_mode = wal')\nbase.execute('create table words (one)')\n"
    "base.execute('insert into words values (1)')\nbase.commit()\n"
    "assert base.execute('select count(*) from words').fetchone() == (1,)",
    "copies of files": "import shutil\nplace = tempfile.mkdtemp()\nopen(place + '/a', 'w').close()\n"
    "shutil.copytree(place, place + 'b')\nshutil.copy2(place + '/a', place + '/c')\nshutil.rmtree(place)",
    "programs": "assert subprocess.run(['/bin/sh', '-c', 'ls / | wc -l'], capture_output=True).returncode == 0",
    "an interpreter": "assert subprocess.run([sys.executable, '-c', 'import json'], capture_output=True).returncode == 0",
    "a program that is stopped": "one = subprocess.Popen(['/bin/sleep', '60'])\none.terminate()\nassert one.wait() == -15",
    "processes": "import multiprocessing\nours, theirs = multiprocessing.Pipe()\n"
    "one = multiprocessing.get_context('fork').Process(target=lambda: theirs.send(7))\none.start()\nassert ours.recv() == 7",
    "threads": "many = [threading.Thread(target=time.sleep, args=(0.1,)) for _ in range(20)]\n"
    "[one.start() for one in many]\n[one.join() for one in many]",
    "a loop of events": "import asyncio\nasyncio.run(asyncio.wait_for(asyncio.to_thread(time.sleep, 0.1), 5))",
    "arrays": "import numpy\nassert (numpy.ones((200, 200)) @ numpy.ones((200, 200)))[0, 0] == 200",
    "a signal to itself": "os.kill(os.getpid(), signal.SIGCHLD)",
}


def test_a_program_and_the_memory_itself_can_be_stopped_though_who_began_all_this_ignores_that(stage: Stage) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with stage.item() as item:
            assert item.answer(WORKS["a program that is stopped"]) == "done"
            begun = time.monotonic()
        assert time.monotonic() - begun < ENDING_SECONDS
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_memory_still_does_what_memories_do(stage: Stage) -> None:
    with stage.item() as item:
        assert {name: item.answer(attempt) for name, attempt in WORKS.items()} == dict.fromkeys(WORKS, "done")


def test_a_memory_that_declares_the_network_reaches_a_server_and_resolves_names(stage: Stage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, stage.item(network="true") as item:
        port = server.getsockname()[1]
        attempt = f"socket.getaddrinfo('127.0.0.1', {port})\nsocket.create_connection(('127.0.0.1', {port}))"
        assert item.answer(attempt) == "done"
        server.setblocking(False)
        server.accept()[0].close()


ENDS = {
    "ctypes.string_at(0)": r"by signal 11 (SIGSEGV): a library that it uses read or wrote where it must not",
    "os.abort()": "by signal 6 (SIGABRT): a library that it uses gave up, as they do where memory runs out",
    "os.kill(os.getpid(), 9)": "by signal 9 (SIGKILL): somebody killed it; the kernel does where memory runs out",
    "os._exit(3)": "with status 3",
}


@pytest.mark.parametrize("attempt", ENDS)
def test_how_a_process_ended_is_told(stage: Stage, attempt: str) -> None:
    with stage.item() as item:
        assert item.end_of(attempt) == f"Memory 'Attempts' failed in 'recall': RuntimeError: its process ended: {ENDS[attempt]}"


LIMITED = {
    "while True: kept.append(b'x' * 10**7)": "it held more than 150 MB of memory; the setting max_memory_mb allows more",
    "while True:\n    kept.append(mmap.mmap(-1, 1 << 24))\n    kept[-1].write(b'x' * (1 << 24))": "it held more than 150 MB of "
    "memory; the setting max_memory_mb allows more",
    "for _ in range(40): in_child(lambda: time.sleep(20))\ntime.sleep(15)": "it had more than 30 processes and threads; the "
    "setting max_processes allows more",
}


@pytest.mark.parametrize("attempt", LIMITED)
def test_a_memory_that_takes_too_much_ends_and_is_told_which_setting_allows_more(stage: Stage, attempt: str) -> None:
    with stage.item(**SMALL) as item:
        assert LIMITED[attempt] in item.end_of(attempt)


def test_memory_that_is_reserved_and_not_used_is_not_counted(stage: Stage) -> None:
    """Kuzu, the graph database of Graphiti, reserves 8 TB at its start."""
    reserve = "kept.append(mmap.mmap(-1, 2**43, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000))"  # MAP_NORESERVE
    assert stage.done({"reserve": reserve}, **SMALL) == ["reserve"]


def test_a_limit_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        Exception, match=r"The setting 'max_memory_mb' of memory 'Attempts' is 'much'; it must be a whole number"
    ):
        Item(tmp_path, max_memory_mb="much")


RUNNER = """
import sys, time
from pathlib import Path
from pipelines.memories.hosting import confinement
from tests.assets.isolation.memories import Item
confinement.available_kind = lambda: sys.argv[1]
with Item(Path(sys.argv[2])) as item:
    item.answer("daemon()")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_what_a_memory_has_started_ends_with_a_runner_that_is_killed(stage: Stage) -> None:
    words = [sys.executable, "-c", RUNNER, stage.kind, str(stage.folder)]
    with subprocess.Popen(words, cwd=PAGE.parents[2], stdout=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == b"ready\n"
        started = descendants(runner.pid)
        runner.kill()
    assert len(started) > 2
    wait_until(lambda: not any(map(was_started, started)))
