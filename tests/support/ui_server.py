"""A real `amemgym ui` with a port and a data folder of its own, stopped whatever happens."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.commands import AMEMGYM, clean_environment, free_port, listen_to_signals
from tests.support.processes import members

ROOT = Path(__file__).parent.parent.parent
SECONDS_TO_START = 300.0
SECONDS_TO_STOP = 60.0


@dataclass(frozen=True)
class UiServer:
    """Where the page is, and the data folder behind it."""

    url: str
    home: Path

    @property
    def log(self) -> Path:
        """What the server printed."""
        return self.home / "ui.log"


@contextmanager
def ui_server(home: Path, surroundings: Mapping[str, str], *, workspace: Path | None = None) -> Generator[UiServer, None, None]:
    """Start it with these variables, wait for its page, and stop it with everything it started.

    `workspace`: the web server alone instead, of these locations.
    """
    port = str(free_port())
    server = UiServer(f"http://127.0.0.1:{port}", home)
    alone = [sys.executable, "-m", "pipelines.ui.server", str(workspace), "127.0.0.1", port]
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            alone if workspace else [*AMEMGYM, "ui", "--port", port],
            cwd=ROOT,
            env=clean_environment(home, **surroundings),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=listen_to_signals,
        )
    try:
        _wait_for(server, process)
        yield server
    finally:
        _stop(process)


def _wait_for(server: UiServer, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(f"{server.url}/server_info", timeout=30):
            return
        time.sleep(0.2)
    raise AssertionError(f"The page did not come up:\n{server.log.read_text(encoding='utf-8', errors='replace')[-3000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ctrl-C to all, as in a terminal; who does not end in time is killed."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        deadline = time.monotonic() + SECONDS_TO_STOP
        while time.monotonic() < deadline:
            process.poll()
            if not members(process.pid):
                return
            time.sleep(0.1)
