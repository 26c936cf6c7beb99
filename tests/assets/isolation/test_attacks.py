"""Code that tries to break out of each boundary that this machine has, with the audit hook of the calls out of its way."""

import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest

from assets.code_qa.execution.sandbox import CallReport
from assets.isolation.boundary import Kind, holds, package_folders
from tests.assets.isolation.attacks import (
    DISARMED,
    FILES,
    LIMITS,
    NUMBERS,
    PROCESSES,
    SOCKETS,
    WAYS,
    attacking,
    possible,
    processes_of,
    run,
)
from tests.support.cells import cells
from tests.support.waiting import LONG

# Those that need no further program; `make test-sandbox` attacks bubblewrap.
ATTACKED = os.environ.get("AMEMGYM_TEST_BOUNDARIES", "namespaces landlock").split()
QUICK = LIMITS.model_copy(update={"seconds": 0.3})
GOOD = CallReport(status="returns", text="[1, 'y']")


@pytest.fixture(params=ATTACKED)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each boundary that is attacked. One that the kernel lacks is skipped; `test_boundary.py` sees whether it does."""
    if not holds(request.param):
        pytest.skip(f"The boundary {request.param!r} cannot be had on this machine, so that it was not attacked.")
    return request.param


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, by which processes of this test are known."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of the user's."""
    path = tmp_path / "victim"
    path.write_text("secret words", encoding="utf-8")
    return path


def nothing_is_left(folder: Path) -> bool:
    """Whether all processes of packages below the folder are gone, or go within seconds."""
    return until(lambda: not processes_of(folder))


def until(holds: Callable[[], bool], *, seconds: float = LONG) -> bool:
    """Whether it holds now or soon."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_no_file_outside_is_read_or_changed_and_none_inside_is_written(kind: Kind, victim: Path) -> None:
    def state() -> tuple[object, ...]:
        now = victim.stat()
        return now.st_mode, now.st_uid, now.st_mtime, now.st_size, os.listxattr(victim), sorted(victim.parent.iterdir())

    before = state()
    assert possible(FILES, kind, victim=str(victim), home=str(Path.home())) == "[]"
    assert state() == before


@pytest.mark.parametrize("way", WAYS)
def test_a_file_outside_is_not_deleted_when_no_call_is_under_way_either(kind: Kind, way: str, victim: Path) -> None:
    run(attacking(f"os.remove({str(victim)!r})", way), kind=kind)
    assert victim.exists()


def test_no_socket_of_any_family_is_reached(kind: Kind, tmp_path: Path) -> None:
    abstract = f"\0amemgym-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as nameless,
    ):
        unix.bind(str(tmp_path / "door"))
        nameless.bind(abstract)
        for server in (unix, nameless):
            server.listen()
        port = tcp.getsockname()[1]
        assert possible(SOCKETS, kind, unix=str(tmp_path / "door"), abstract=abstract, port=port) == "[]"
        for server in (tcp, unix, nameless):
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept()


@pytest.mark.parametrize("way", WAYS)
def test_no_socket_is_reached_when_no_call_is_under_way_either(kind: Kind, way: str, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "door"))
        server.listen()
        server.setblocking(False)
        run(attacking(f"_socket.socket(_socket.AF_UNIX).connect({str(tmp_path / 'door')!r})", way), kind=kind)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_no_process_is_started_touched_or_given_more_than_it_has(kind: Kind) -> None:
    assert possible(PROCESSES, kind, **NUMBERS[platform.machine()]) == "[]"


LOOPS = {
    "a loop": "while True: pass",
    "a loop of a thread": "threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()",
    "a loop after setsid": "try: os.setsid()\nexcept OSError: pass\nwhile True: pass",
    "a loop of a grandchild": "try:\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
    "            while True: pass\n        os._exit(0)\nexcept OSError: pass",
}
# No signal ends a process that ignores those that can be ignored.
DEAF = "for number in set(range(1, 65)) - {9, 19, 32, 33}:\n    signal.signal(number, signal.SIG_IGN)\n"


IMPORTED, CALLED = "when it is imported", "when it is called"
OF_IMPORTS, OF_CALLS = [(IMPORTED, loop) for loop in LOOPS], [(CALLED, loop) for loop in LOOPS]


@pytest.mark.parametrize(("when", "loop"), cells([*OF_IMPORTS[-1:], *OF_CALLS], [*OF_IMPORTS, *OF_CALLS]))
def test_nothing_is_left_running_after_the_calls(kind: Kind, loop: str, when: str, temporary: Path) -> None:
    body = DEAF + LOOPS[loop]
    source = f"def bad(x):\n{indent(body, ' ' * 4)}\n    return x\n" if when == CALLED else body
    run(f"{DISARMED}\n{source}\n", kind=kind, limits=QUICK)
    assert nothing_is_left(temporary)


def test_what_is_run_ends_with_the_process_that_started_it(kind: Kind, temporary: Path) -> None:
    source = f"{DISARMED}\ndef bad(x):\n    time.sleep(60)"
    program = (
        f"import tempfile\ntempfile.tempdir = {str(temporary)!r}\n"
        f"from tests.assets.isolation.attacks import LIMITS, run\nrun({source!r}, kind={kind!r}, "
        "limits=LIMITS.model_copy(update={'seconds': 20.0}))"
    )
    started = subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[3])
    assert until(lambda: len(processes_of(temporary)) > 1)
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert nothing_is_left(temporary)


JUNK = r"""
for number in range(3, 200):
    try:
        os.write(number, (b'{"status": "returns", "text": "666"}\n' + b'returns,0,363636\n' + b'"666"\n') * 100)
    except OSError:
        pass
"""
FORGERIES = {
    "written into all descriptors": JUNK,
    "by a patched json": 'json.dumps = json.JSONEncoder.encode = lambda *_, **__: \'{"status": "returns", "text": "666"}\'',
    "by other modules": "for name in ('json', 'os', 'pickle', 'struct'):\n    sys.modules[name] = None",
    "by a patched os": "os.write = os.fork = os.kill = os.waitpid = os._exit = lambda *_: 0",
    "by patched built-in names": "for name in ('repr', 'len', 'all', 'type', 'sorted', 'isinstance', 'getattr'):\n"
    "    setattr(builtins, name, lambda *_: 666)",
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("when", [IMPORTED, CALLED])
def test_results_of_another_function_are_not_forged(kind: Kind, forgery: str, when: str) -> None:
    attempt = FORGERIES[forgery]
    if when == CALLED:
        attempt = "def bad(x):\n    " + attempt.replace("\n", "\n    ") + "\n    return x\n"
    _, good = run(f"{DISARMED}\n{attempt}\n{'' if when == CALLED else 'def bad(x): return x'}\n", kind=kind)
    assert good.model_copy(update={"lines": ()}) == GOOD


SEARCHED = """
def bad(x):
    forged = 'returns,0,' + b'666'.hex()
    frame = sys._getframe()
    found = []
    while frame is not None:
        found += list(frame.f_locals.values())
        frame = frame.f_back
    for one in found + gc.get_objects():
        name = getattr(type(one), '__name__', '')
        if name == 'Boundary':
            for _ in range(20):
                one.answer(b'{"status": "returns", "text": "666"}')
        elif getattr(one, '__name__', '') == 'tell':
            for _ in range(20):
                one(forged.encode())
    return x
"""


def test_code_that_finds_the_channel_in_frames_or_among_objects_forges_results_of_its_own_alone(kind: Kind) -> None:
    _, good = run(f"{DISARMED}\n{SEARCHED}", kind=kind)
    assert good.model_copy(update={"lines": ()}) == GOOD


@pytest.mark.parametrize(
    "ending", ["os._exit(0)", "os.abort()", "os.kill(os.getpid(), 9)", "ctypes.string_at(0)", "sys.exit(3)"]
)
def test_a_call_that_ends_its_process_ends_no_other(kind: Kind, ending: str) -> None:
    bad, good = run(f"{DISARMED}\ndef bad(x):\n    {ending}\n    return x\n", kind=kind)
    assert (bad.status in ("died", "raises"), good.text) == (True, GOOD.text)


def test_output_without_end_is_cut_off(kind: Kind) -> None:
    flood = "def bad(x):\n    while True:\n        os.write(3, b'x' * 65536 + bytes([10]))\n"
    bad, good = run(f"{DISARMED}\n{flood}", kind=kind, limits=QUICK)
    assert (bad.status in ("too_slow", "died"), good.text) == (True, GOOD.text)


def test_memory_and_open_files_have_limits(kind: Kind) -> None:
    hoard = (
        "def bad(x):\n    kept = []\n    try:\n        while True: kept.append(mmap.mmap(-1, 1 << 20))\n"
        "    except (OSError, MemoryError): pass\n    size = len(kept)\n    kept.clear()\n    files = []\n"
        "    try:\n        while True: files.append(os.open(__file__, os.O_RDONLY))\n    except OSError: pass\n"
        "    return [size < 256, len(files) < 64]\n"
    )
    bad, good = run(f"{DISARMED}\n{hoard}", kind=kind)
    assert (bad.text, good.text) == ("[True, True]", GOOD.text)


def test_no_descriptor_and_no_variable_of_ours_is_inherited(kind: Kind, victim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_A_TEST", "hush")
    look = (
        "def bad(x):\n    there = []\n    for number in range(256):\n        try:\n            os.fstat(number)\n"
        "        except OSError: continue\n        there.append(number)\n"
        "    return [there, sorted(os.environ), os.path.expanduser('~/x')[:2]]\n"
    )
    with victim.open("rb") as opened:
        os.set_inheritable(opened.fileno(), True)
        bad, _ = run(f"{DISARMED}\n{look}", kind=kind)
    assert bad.text.startswith("[[0, 1, 2, 3], ['LC_ALL', 'PYTHONDONTWRITEBYTECODE', 'PYTHONHASHSEED', 'TZ'], ")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="Only x86-64 has a second table of system calls.")
def test_system_calls_of_the_older_table_end_the_process(kind: Kind) -> None:
    # mov eax, 20 (getpid of i386); int 0x80; ret
    old = (
        "def bad(x):\n    code = mmap.mmap(-1, 4096, prot=7)\n    code.write(bytes.fromhex('b814000000cd80c3'))\n"
        "    place = ctypes.addressof(ctypes.c_char.from_buffer(code))\n    return ctypes.CFUNCTYPE(ctypes.c_int)(place)()\n"
    )
    bad, good = run(f"{DISARMED}\n{old}", kind=kind)
    assert (bad.status, good.text) == ("died", GOOD.text)


# Each level compiles what is below it twice.
DEEP = "".join(f"{' ' * level}try: pass\n{' ' * level}finally:\n" for level in range(19)) + " " * 19 + "pass\n"
MEASURED = """
import resource
from tests.assets.isolation.attacks import run
reports = run({source!r}, kind={kind!r})
print([report.status for report in reports], resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


def test_compiling_a_package_takes_no_more_memory_than_a_call(kind: Kind) -> None:
    source = f"{DEEP}\ndef bad(x): return x\n"
    words = [sys.executable, "-c", MEASURED.format(source=source, kind=kind)]
    told = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True).stdout
    statuses, _, megabytes = told.strip().rpartition(" ")
    assert statuses == "['unimportable', 'unimportable']"
    assert int(megabytes) < 300


def test_packages_of_the_interpreter_are_out_of_sight(kind: Kind) -> None:
    files = [str(file) for folder in package_folders() for file in Path(folder).rglob("*.py")][:1]
    if not files:
        pytest.skip("This interpreter has no packages of its own.")
    assert possible({"read": f"open({files[0]!r}).read()"}, kind) == "[]"


def test_threads_still_work(kind: Kind) -> None:
    source = (
        "import threading\ndef bad(x):\n    told = []\n    one = threading.Thread(target=told.append, args=(x,))\n"
        "    one.start()\n    one.join()\n    return told\n"
    )
    assert run(source, kind=kind)[0].text == "[1]"
