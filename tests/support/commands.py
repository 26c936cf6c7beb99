"""`amemgym` as the tests and benches run it: with a data folder of its own, and nothing of whoever runs them around it."""

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

AMEMGYM = (sys.executable, "-m", "pipelines.cli.main")
NOT_OURS = ("OPENAI_", "AMEMGYM_", "DAGSTER_", "HF_")


def clean_environment(home: Path | None = None, **further: str) -> dict[str, str]:
    """This environment without endpoint, key, store or folders, and then with these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_OURS)}
    return {**kept, **({"AMEMGYM_HOME": str(home)} if home else {}), **further}


def amemgym(home: Path, *words: str, **further: str) -> subprocess.Popen[str]:
    """Start the command in a process of its own; both its outputs come out of one pipe."""
    environment = clean_environment(home, **further)
    return subprocess.Popen([*AMEMGYM, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end; return the exit status and all output."""
    output, _ = process.communicate(timeout=120)
    return process.returncode, output


@contextmanager
def own_surroundings(home: Path, **further: str) -> Generator[None, None, None]:
    """The same environment for what runs in this process."""
    wanted = clean_environment(home, **further)
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(wanted):
            patch.delenv(name)
        for name, value in wanted.items():
            patch.setenv(name, value)
        yield


def free_port() -> int:
    """A port of this machine that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
