"""Runs as the cells start them, mostly of the demo, and what became of them."""

import json
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from dataset_card.release.manifest import read_manifest
from pipelines.embedded.bank import model_name
from tests.support.commands import amemgym
from tests.support.fault_proxy import FaultProxy

FEWER_CALLS = ("--set", "num_users=2", "--set", "num_reserve=2", "--set", "num_questions=2", "--set", "num_periods=1")
# The demo, one of a third of its calls, and few users of the shape of base: variant, users, and the words that ask for it.
SHAPES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "demo": ("demo", 3, ()),
    "small": ("demo", 2, FEWER_CALLS),
    "base": ("base", 4, ("--set", "num_users=4", "--set", "num_reserve=2")),
}
LONGEST_RUN = 900.0


@dataclass(frozen=True)
class Row:
    """What one cell showed.

    `lost`: users that the release lacks. `struck`: tries that the fault spoiled. `repeated`: replies that were paid for twice.
    `wrong`: stored replies that a run without faults does not have. `beyond`: tokens billed beyond the cap, if there is one.
    `silence`: the longest time without a good reply while one was asked for, in seconds, as are `seconds` of all its runs.
    """

    cell: str
    lost: int | str = ""
    struck: int = 0
    repeated: int = 0
    wrong: int | str = ""
    beyond: int | str = ""
    silence: float = 0.0
    seconds: int = 0
    ending: str = ""


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


def start(home: Path, url: str, *words: str, shape: str = "demo", **further: str) -> subprocess.Popen[str]:
    variant, _, shaped = SHAPES[shape]
    return amemgym(home, "generate", variant, "--model", model_name(), *shaped, *words, **{**place_of(url), **further})


def end(process: subprocess.Popen[str], *, ours: bool = True, within: float = LONGEST_RUN) -> Ended:
    """Wait for the end. Kills a run that takes longer, and says so by its status. `ours`: a command without tracebacks."""
    began = time.monotonic()
    try:
        output, _ = process.communicate(timeout=within)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    assert not ours or "Traceback" not in output, output
    return Ended(process.returncode, output, time.monotonic() - began)


def made_users(home: Path, shape: str = "demo") -> int:
    """Users of the release; 0 without one."""
    found = _releases(home, shape)
    files = read_manifest(found[-1]).files if found else ()
    return max((file.rows or 0 for file in files if file.path.endswith("data.json")), default=0)


def digest(home: Path, shape: str = "demo") -> str:
    return read_manifest(_releases(home, shape)[-1]).data_digest


def _releases(home: Path, shape: str) -> list[Path]:
    return sorted((home / "releases" / SHAPES[shape][0]).glob("*.*.*"))


def stored_texts(home: Path) -> Counter[str]:
    """The words of the replies that later runs take from the cache, and how often each stands there."""
    found = Counter[str]()
    if (home / "calls.sqlite").exists():
        with closing(sqlite3.connect(home / "calls.sqlite")) as connection:
            for (content,) in connection.execute("SELECT value FROM replies WHERE rejected = 0"):
                found[json.loads(content)["text"]] += 1
    return found


def row(cell: str, home: Path, proxy: FaultProxy, *runs: Ended, shape: str = "demo") -> Row:
    """What the cell showed; its last run decides how it ended."""
    endings = dict.fromkeys(run.ending for run in runs)
    return Row(
        cell,
        lost=SHAPES[shape][1] - made_users(home, shape),
        struck=proxy.counts["spoiled"],
        repeated=proxy.repeated,
        silence=round(proxy.longest_silence, 1),
        seconds=round(sum(run.seconds for run in runs)),
        ending="; run again: ".join(endings),
    )
