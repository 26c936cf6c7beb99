"""Everything that can go wrong from outside, one cell at a time: python -m pytest tests/faults -k "SIGKILL or error_500"."""

import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from dataset_card.release.manifest import read_manifest
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name
from tests.faults.conftest import Row
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.commands import amemgym
from tests.support.fault_proxy import KINDS, OWN, FaultProxy

ASKED = 3  # users of the demo
LONGEST_RUN = 900.0
MOMENTS = range(25)
SURROUNDINGS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "one at a time": ({}, ("--concurrency", "1")),
    "hash seed 0": ({"PYTHONHASHSEED": "0"}, ()),
    "hash seed 1": ({"PYTHONHASHSEED": "1"}, ()),
    "Pacific time": ({"TZ": "Pacific/Kiritimati"}, ()),
    "Turkish": ({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}, ()),
    "plain locale": ({"LC_ALL": "C"}, ()),
}


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    status: int
    output: str
    seconds: float

    @property
    def ending(self) -> str:
        return "made" if self.status == 0 else " ".join(self.output.split())[-160:]


def start(home: Path, url: str, *words: str, **further: str) -> "subprocess.Popen[str]":
    place = {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": "any", "AMEMGYM_TIMEOUT": "5"}
    return amemgym(home, "generate", "demo", "--model", model_name(), *words, **{**place, **further})


def end(process: "subprocess.Popen[str]") -> Ended:
    began = time.monotonic()
    output, _ = process.communicate(timeout=LONGEST_RUN)
    assert "Traceback" not in output, output
    return Ended(process.returncode, output, time.monotonic() - began)


def users(home: Path) -> int:
    """Users of the release; 0 without one."""
    found = sorted((home / "releases" / "demo").glob("*.*.*"))
    files = read_manifest(found[-1]).files if found else ()
    return max((file.rows or 0 for file in files if file.path.endswith("data.json")), default=0)


def digest(home: Path) -> str:
    return read_manifest(sorted((home / "releases" / "demo").glob("*.*.*"))[-1]).data_digest


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the demo's data when nothing goes wrong."""
    home = tmp_path_factory.mktemp("undisturbed")
    with on_a_port(create_app()) as url:
        assert end(start(home, url)).status == 0
    return digest(home)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", ["5 %", "100 % for a minute"])
def test_fault(tmp_path: Path, table: list[Row], undisturbed: str, kind: str, share: str) -> None:
    rate, seconds = (0.05, 0.0) if share == "5 %" else (1.0, 60.0)
    proxy = FaultProxy(create_app(), kind, rate=rate, seconds=seconds, seed=19)
    with on_a_port(proxy) as url:
        first = end(start(tmp_path, url))
        if first.status != 0:
            again = end(start(tmp_path, url))  # the same command goes on
            first = Ended(again.status, f"{first.output} Run again: {again.output}", first.seconds + again.seconds)
    made = users(tmp_path) if first.status == 0 else 0
    table.append(
        Row(
            f"{kind}, {share}",
            f"{made} of {ASKED}",
            proxy.wasted,
            round(proxy.longest_silence, 1),
            round(first.seconds),
            first.ending,
        )
    )
    if kind not in OWN:
        assert first.status == 0, first.output
        assert digest(tmp_path) == undisturbed or kind in ("empty_words", "null_words", "rubbish_words", "half_of_the_words")


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_kill(tmp_path: Path, table: list[Row], undisturbed: str, how: str, moment: int) -> None:
    proxy = FaultProxy(create_app(), "error_500", rate=0.0)
    calls = random.Random(f"{how} {moment}").randint(1, 250)
    with on_a_port(proxy) as url:
        process = start(tmp_path, url)
        while process.poll() is None and proxy.counts["passed"] < calls:
            time.sleep(0.005)
        os.kill(process.pid, signal.Signals[how])
        output, _ = process.communicate(timeout=60)
        assert "Traceback" not in output, output
        ended = end(start(tmp_path, url))
    row = Row(
        f"{how} at call {calls}",
        f"{users(tmp_path)} of {ASKED}",
        proxy.wasted,
        round(proxy.longest_silence, 1),
        round(ended.seconds),
        ended.ending,
    )
    table.append(row)
    assert ended.status == 0, ended.output
    assert digest(tmp_path) == undisturbed


def test_two_first_runs_on_a_new_home(tmp_path: Path, table: list[Row], undisturbed: str) -> None:
    proxy = FaultProxy(create_app(), "error_500", rate=0.0)
    with on_a_port(proxy) as url:
        both = [end(process) for process in [start(tmp_path, url) for _ in range(2)]]
    for number, one in enumerate(both):
        table.append(
            Row(
                f"first run {number + 1} of 2",
                f"{users(tmp_path)} of {ASKED}",
                proxy.wasted,
                round(proxy.longest_silence, 1),
                round(one.seconds),
                one.ending,
            )
        )
    assert [one.status for one in both] == [0, 0], [one.output for one in both]
    assert digest(tmp_path) == undisturbed


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings(tmp_path: Path, table: list[Row], undisturbed: str, name: str) -> None:
    environment, words = SURROUNDINGS[name]
    with on_a_port(create_app()) as url:
        ended = end(start(tmp_path, url, *words, **environment))
    table.append(Row(name, f"{users(tmp_path)} of {ASKED}", 0, 0.0, round(ended.seconds), ended.ending))
    assert digest(tmp_path) == undisturbed
