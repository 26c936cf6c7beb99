"""Runs of the demo as the cells start them, and what became of them."""

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from dataset_card.release.manifest import read_manifest
from pipelines.embedded.bank import model_name
from tests.support.commands import amemgym
from tests.support.fault_proxy import FaultProxy

ASKED = 3  # users of the demo
LONGEST_RUN = 900.0


@dataclass(frozen=True)
class Row:
    """What one cell showed.

    `struck`: tries that the fault spoiled. `repeated`: replies delivered twice. `silence`: the longest time without a good
    reply while one was asked for, in seconds, as are `seconds` of all its runs.
    """

    cell: str
    users: str
    struck: int
    repeated: int
    silence: float
    seconds: int
    ending: str


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    status: int
    output: str
    seconds: float

    @property
    def ending(self) -> str:
        return "made" if self.status == 0 else " ".join(self.output.split())[-160:]


def place_of(url: str) -> dict[str, str]:
    """The environment's endpoint."""
    return {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": "any", "AMEMGYM_TIMEOUT": "5"}


def start(home: Path, url: str, *words: str, **further: str) -> subprocess.Popen[str]:
    return amemgym(home, "generate", "demo", "--model", model_name(), *words, **{**place_of(url), **further})


def end(process: subprocess.Popen[str], *, ours: bool = True) -> Ended:
    """Wait for the end. Kills a run that takes too long, and says so by its status. `ours`: a command without tracebacks."""
    began = time.monotonic()
    try:
        output, _ = process.communicate(timeout=LONGEST_RUN)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    assert not ours or "Traceback" not in output, output
    return Ended(process.returncode, output, time.monotonic() - began)


def made_users(home: Path) -> int:
    """Users of the release; 0 without one."""
    found = sorted((home / "releases" / "demo").glob("*.*.*"))
    files = read_manifest(found[-1]).files if found else ()
    return max((file.rows or 0 for file in files if file.path.endswith("data.json")), default=0)


def digest(home: Path) -> str:
    return read_manifest(sorted((home / "releases" / "demo").glob("*.*.*"))[-1]).data_digest


def row(cell: str, home: Path, proxy: FaultProxy, *runs: Ended) -> Row:
    """What the cell showed; its last run decides how it ended."""
    endings = dict.fromkeys(run.ending for run in runs)
    return Row(
        cell,
        users=f"{made_users(home)} of {ASKED}",
        struck=proxy.counts["spoiled"],
        repeated=proxy.repeated,
        silence=round(proxy.longest_silence, 1),
        seconds=round(sum(run.seconds for run in runs)),
        ending="; run again: ".join(endings),
    )
