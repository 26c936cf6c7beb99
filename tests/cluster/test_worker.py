"""A worker's log holds no secrets, and a worker that lacks something says what."""

import importlib
import logging
import os
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette

from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.waiting import LONG

ROOT = Path(__file__).parents[2]


def test_a_worker_without_a_broker_says_so_in_one_sentence() -> None:
    around = {name: value for name, value in os.environ.items() if name != "AMEMGYM_BROKER"}
    command = [sys.executable, "-m", "celery", "-A", "pipelines.cluster.worker", "worker"]
    ended = subprocess.run(command, env=around, cwd=ROOT, capture_output=True, text=True, check=False, timeout=5 * LONG)
    assert ended.returncode == 1
    [sentence] = ended.stderr.splitlines()
    assert sentence.startswith("AMEMGYM_BROKER is not set; give the address")


@pytest.mark.parametrize("number", ["0", "-1", "many"])
def test_a_worker_of_a_cluster_that_runs_nothing_or_anything_at_once_says_so_in_one_sentence(number: str) -> None:
    around = {**os.environ, "AMEMGYM_BROKER": "redis://127.0.0.1:1/0", "AMEMGYM_RUNS_AT_ONCE": number}
    command = [sys.executable, "-m", "celery", "-A", "pipelines.cluster.worker", "worker"]
    ended = subprocess.run(command, env=around, cwd=ROOT, capture_output=True, text=True, check=False, timeout=5 * LONG)
    assert ended.returncode == 1
    [sentence] = ended.stderr.splitlines()
    assert sentence.startswith(f"AMEMGYM_RUNS_AT_ONCE is {number!r}; give")


def test_a_worker_at_info_writes_no_addresses_of_calls(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AMEMGYM_BROKER", "redis://127.0.0.1:1/0")
    caplog.set_level(logging.INFO)
    importlib.import_module("pipelines.cluster.worker")
    with on_a_port(Starlette()) as url:
        httpx2.get(f"{url}?token=hush")
    assert "hush" not in caplog.text
