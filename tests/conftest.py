"""Settings of all tests, and the data folder that many of them begin with."""

import atexit
import gc
import os
import shutil
import signal
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is no defect. Each run has other examples, so fewer of them find as much over the days.
settings.register_profile(
    "house", settings.default, max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")

# Tests call packages of the lock, which are installed here anyway. Where a boundary can be had, it is used all the same.
os.environ.setdefault("AMEMGYM_TRUST_PACKAGES", "1")

# It sets what numpy and Arrow read when they are first imported, which a test may do before it imports ours.
import pipelines  # noqa: E402, F401 # pyright: ignore[reportUnusedImport]
from tests.support.made_once import make_once  # noqa: E402
from tests.support.slow import is_slow  # noqa: E402

# readline, which pytest imports, sets them for the workers' processes, and tables would be as narrow as a terminal.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)

# They wait for Dagster's processes more than they compute: begun last, they would leave the other workers idle at the end.
FIRST = ("test_dagster_users.py", "test_dagster_commands.py")


def pytest_configure(config: pytest.Config) -> None:
    """Listen to SIGINT, which a shell's background has ignored: Dagster lets SIGTERM do as it does, and processes inherit both.

    A worker takes no module down at its end: that takes seconds, and DuckDB would print a page about it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        atexit.register(os._exit, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto` is two workers a processor: half of the time tests wait, for processes, sockets and clocks."""
    return int(os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS") or (os.cpu_count() or 1) * 2)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without garbage collection, which later passes over what was imported: it stays to the end."""
    gc.disable()
    try:
        if session.config.args_source is pytest.Config.ArgsSource.TESTPATHS and hasattr(session.config, "workerinput"):
            _import_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _import_share(config: pytest.Config) -> None:
    """Import this worker's share of the tests first: side by side in one order, each worker of a fresh clone compiles all."""
    worker: dict[str, Any] = getattr(config, "workerinput")  # noqa: B009
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    here = Path(__file__).parent
    for path in (*sorted(here.glob("**/conftest.py")), *sorted(here.glob("**/test_*.py"))[number::count]):
        parts = path.relative_to(config.rootpath).with_suffix("").parts
        if parts[1] not in config.getini("norecursedirs"):
            with suppress(Exception):  # which pytest tells as it collects
                import_module(".".join(parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow ones, and begin with the longest; the others keep their order."""
    for item in items:
        if is_slow(item):
            item.add_marker("slow")
    items.sort(key=lambda item: item.path.name not in FIRST)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let the collector have everything again: extensions complain of what it cannot take down, which a worker does not try."""
    if not hasattr(config, "workerinput"):
        gc.unfreeze()


@pytest.fixture(scope="session")
def finished_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a small demo that is made once for all workers, with what was printed beside it in `.txt`.

    It is for reading: who changes it takes a copy, `demo_home`.
    """
    from tests.pipelines.chained import SMALL  # late, as most tests need none of the command line
    from tests.support.commands import amemgym_here

    def make(home: Path) -> None:
        status, output = amemgym_here(home, "generate", "demo", *SMALL)
        assert status == 0, output
        home.with_suffix(".txt").write_text(output, encoding="utf-8")

    return make_once(tmp_path_factory, "finished-demo", make)


@pytest.fixture
def demo_home(finished_demo: Path, tmp_path: Path) -> Path:
    """A copy of the small demo's data folder."""
    return shutil.copytree(finished_demo, tmp_path / "demo")
