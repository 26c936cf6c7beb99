"""Whole runs in processes of their own, measured from outside, and the simulated provider beside them."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from dataset_card.release.manifest import read_manifest
from pipelines.embedded.bank import model_name
from tests.support.commands import AMEMGYM, clean_environment, free_port

IN_FLIGHT = 64
LATENCY = ("--latency", "0.3", "--prefill", "5000", "--decode", "80")
SAMPLED = 0.1  # seconds between two looks at a running process
Row = tuple[str, float, str]


@dataclass(frozen=True)
class Run:
    """One `amemgym generate`: when it began, wall and processor seconds, peaks, and the data folder it filled.

    `megabytes` and `open_files` are peaks; files are counted every tenth of a second.
    """

    began: float
    seconds: float
    processor: float
    megabytes: float
    open_files: int
    folder: Path

    def calls(self) -> list[tuple[float, float]]:
        """Start and end of every call, in seconds after the run began."""
        with sqlite3.connect(self.folder / "ledger.sqlite") as connection:
            rows = connection.execute("SELECT at, seconds FROM calls WHERE cache_hit = 0").fetchall()
        return [(at - seconds - self.began, at - self.began) for at, seconds in rows]

    def call_seconds(self) -> float:
        """The sum of all calls' latencies: what a strictly sequential run would take."""
        return sum(end - start for start, end in self.calls())

    def calls_per_user(self) -> float:
        """Calls per finished user."""
        manifest = read_manifest(next((self.folder / "releases").glob("*/*")))
        return len(self.calls()) / manifest.counts["users"]

    def tokens_per_user(self) -> tuple[float, float]:
        """Input and output tokens per finished user."""
        manifest = read_manifest(next((self.folder / "releases").glob("*/*")))
        users, usage = manifest.counts["users"], manifest.usage
        assert usage is not None
        return usage.input_tokens / users, usage.output_tokens / users


@contextmanager
def provider(*options: str) -> Generator[str, None, None]:
    """The simulated provider in a process of its own; its base URL."""
    port = free_port()
    command = [sys.executable, "-m", "tests.support.simulated_provider", "--port", str(port), *options]
    process = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        while not answers(url):
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def answers(url: str) -> bool:
    """Whether somebody serves there."""
    try:
        return httpx2.get(f"{url}/models", timeout=1).is_success
    except httpx2.TransportError:
        return False


def generate(folder: Path, *words: str, url: str | None = None, in_flight: int = IN_FLIGHT) -> Run:
    """Make a variant in a process of its own and measure it."""
    place = {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": "any"} if url else {}
    environment = clean_environment(folder, AMEMGYM_MAX_IN_FLIGHT=str(in_flight), **place)
    line = [*AMEMGYM, "generate", *words, *(["--model", model_name()] if url else [])]
    return measured(line, environment=environment, folder=folder)


def measured(line: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> Run:
    """Run a program to its end. Where it fails, the bench ends with what the program said."""
    at, began, open_files = time.time(), time.monotonic(), 0
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=said)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            open_files = max(open_files, open_files_of(process.pid))
            time.sleep(SAMPLED)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{said.read()}\n{' '.join(line)} ended with {process.returncode}; what it said stands above.")
    return Run(at, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, open_files, folder)


def open_files_of(pid: int) -> int:
    """Return how many files, sockets and pipes a process has open; 0 when it has just ended."""
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return 0
