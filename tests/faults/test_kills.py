"""Runs that are ended at random calls, and the same command afterwards: make test-endurance CELLS=SIGINT."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.cli import STOPPED
from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import model_name
from tests.faults.runs import Row, digest, end, place_of, row, start
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.commands import clean_environment
from tests.support.fault_proxy import FaultProxy

MOMENTS = range(25)
CALLS = {"demo": 250, "base": 480}  # of a whole run of each shape, nearly
LATENCY = 0.3  # seconds of each reply; far below a provider's, but not nothing: the embedded model answers in a millisecond


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("how", "latency"), [("SIGKILL", 0.0), ("SIGKILL", LATENCY), ("SIGTERM", 0.0), ("SIGINT", 0.0)])
@pytest.mark.parametrize("shape", CALLS)
def test_kill(
    tmp_path: Path,
    note: Callable[[Row], None],
    of_shape: Callable[[str], str],
    shape: str,
    how: str,
    latency: float,
    moment: int,
) -> None:
    undisturbed = of_shape(shape)
    proxy = FaultProxy(embedded_app(latency=latency), rate=0.0)
    calls = random.Random(f"{how} {moment}").randint(1, CALLS[shape])
    with on_a_port(proxy) as url:
        process = start(tmp_path, url, shape=shape)
        while process.poll() is None and proxy.counts["passed"] < calls:
            time.sleep(0.005)
        process.send_signal(signal.Signals[how])
        answered, load = Counter(proxy.delivered), os.getloadavg()[0]
        ended = end(process)
        proxy.next_run()
        again = end(start(tmp_path, url, shape=shape))
    lost = sum(proxy.delivered[request] > times for request, times in answered.items())
    cell = f"{how} of {shape} at call {calls}, latency {latency:g} s, load {load:.1f}"
    whole = row(cell, tmp_path, proxy, ended, again, shape=shape)
    note(replace(whole, repeated=lost, ending=f"{proxy.repeated - lost} more were under way; {whole.ending}"))
    if how == "SIGINT":
        assert ended.status == 0 or ended.output.rstrip().endswith(STOPPED), ended
    assert again.status == 0, again.output
    assert digest(tmp_path, shape) == undisturbed


def start_job(home: Path, url: str) -> subprocess.Popen[str]:
    """The same as a job of Dagster's own command."""
    (home / "dagster").mkdir(exist_ok=True)
    (home / "dagster" / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    roles = {role: {"model": model_name()} for role in ("writer", "judge", "user_simulator")}
    (home / "config.yaml").write_text(json.dumps({"ops": {"amemgym__recipe": {"config": {"models": roles}}}}), encoding="utf-8")
    words = ("job", "execute", "-m", "pipelines.definitions", "-j", "generate_and_release", "-c", str(home / "config.yaml"))
    return subprocess.Popen(
        [sys.executable, "-m", "dagster", *words, "--tags", json.dumps({"dagster/partition": "demo"})],
        env=clean_environment(home, **place_of(url), DAGSTER_HOME=str(home / "dagster")),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_kill_of_a_job_of_dagster(tmp_path: Path, note: Callable[[Row], None], undisturbed: str, how: str) -> None:
    proxy = FaultProxy(embedded_app(), rate=0.0)
    with on_a_port(proxy) as url:
        process = start_job(tmp_path, url)
        while process.poll() is None and proxy.counts["passed"] < 100:
            time.sleep(0.005)
        process.send_signal(signal.Signals[how])
        ended = end(process, ours=False)
        proxy.next_run()
        again = end(start_job(tmp_path, url), ours=False)
    note(row(f"{how} of dagster job execute", tmp_path, proxy, ended, again))
    assert again.status == 0, again.output[-3000:]
    assert digest(tmp_path) == undisturbed
