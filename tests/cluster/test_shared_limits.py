"""What an endpoint's provider and a variant's budget allow holds for all workers together, also when one is killed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pipelines.home import home
from pipelines.resources.ledger.ledger import Ledger, ledger_file
from tests.pipelines.ledger.ledger_stores import spent_in
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support import waiting

ROOT = Path(__file__).parents[2]
IN_FLIGHT, TOKENS = 6, 110
NO_BUDGET = 10**9


@dataclass
class CountingServer:
    """An endpoint that notes how many calls it has at once, and when each came.

    `together`: the first calls are answered when so many are there at once, however late a worker begins.
    """

    seconds: float = 0.1
    together: int = 1
    overloaded: int = 0  # so many calls are refused
    here: int = 0
    peak: int = 0
    came: list[float] = field(default_factory=list[float])
    lock: threading.Lock = field(default_factory=threading.Lock)

    async def answer(self, request: Request) -> Response:
        with self.lock:
            self.here += 1
            self.peak = max(self.peak, self.here)
            self.came.append(time.monotonic())
            refused, self.overloaded = self.overloaded > 0, max(0, self.overloaded - 1)
        try:
            await request.body()
            await waiting.until(lambda: self.peak >= self.together)
            await asyncio.sleep(self.seconds)
            if refused:
                return JSONResponse({"error": {"message": "slow down"}}, status_code=429)
            choice = {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": json.dumps({"name": "x"})},
            }
            return JSONResponse({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": TOKENS - 100}})
        finally:
            with self.lock:
                self.here -= 1


@pytest.fixture
def server() -> Iterator[tuple[CountingServer, str]]:
    counting = CountingServer()
    with on_a_port(Starlette(routes=[Route("/v1/chat/completions", counting.answer, methods=["POST"])])) as url:
        yield counting, url


def asker(url: str, first: int, count: int, *, most_tokens: int = NO_BUDGET, **limits: int) -> "subprocess.Popen[str]":
    settings = {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": "any", "AMEMGYM_MAX_IN_FLIGHT": str(IN_FLIGHT)}
    settings["AMEMGYM_RUNS_AT_ONCE"] = "2"  # so many askers at most run side by side
    settings |= {f"AMEMGYM_{name.upper()}": str(value) for name, value in limits.items()}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.asker", str(first), str(count), str(most_tokens)],
        env={**os.environ, **settings, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> int:
    """How many replies it got."""
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return int(output)


def until(count: int, server: CountingServer) -> None:
    """Wait until so many calls have come."""
    give_up = time.monotonic() + 60
    while len(server.came) < count:
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_two_workers_have_no_more_calls_in_flight_than_one_may(server: tuple[CountingServer, str], database: str) -> None:
    counting, url = server
    counting.together = IN_FLIGHT
    workers = [asker(url, first, 50) for first in (0, 1000)]
    assert [ended(worker) for worker in workers] == [50, 50]
    assert counting.peak == IN_FLIGHT
    assert len(counting.came) == 100


def test_no_finished_call_of_a_killed_worker_is_repeated_and_the_other_goes_on(
    server: tuple[CountingServer, str], database: str
) -> None:
    counting, url = server
    killed, other = asker(url, 0, 200), asker(url, 1000, 100)
    until(80, counting)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert killed.stdout is not None
    killed.stdout.close()
    assert ended(other) == 100
    assert ended(asker(url, 0, 200)) == 200
    assert counting.peak <= IN_FLIGHT
    assert len(counting.came) <= 300 + IN_FLIGHT  # only what was in flight is asked again


def test_an_overload_at_one_worker_ends_neither(server: tuple[CountingServer, str], database: str) -> None:
    counting, url = server
    counting.overloaded = 1
    workers = [asker(url, first, 60, timeout=5) for first in (0, 1000)]
    assert [ended(worker) for worker in workers] == [60, 60]
    assert counting.peak <= IN_FLIGHT


def test_requests_per_minute_are_those_of_all_workers(server: tuple[CountingServer, str], database: str) -> None:
    counting, url = server
    counting.seconds = 0.01
    workers = [asker(url, first, 30, requests_per_minute=600) for first in (0, 1000)]
    assert [ended(worker) for worker in workers] == [30, 30]
    came = sorted(counting.came)
    # Ten a second, ten of them in advance: 3 and 4.9 seconds, of which a busy machine may bunch some. Without a limit for both
    # it were 1 and 2 seconds.
    assert all(later - earlier > 1.5 for earlier, later in zip(came, came[40:], strict=False))
    assert came[-1] - came[0] > 3


def test_what_two_workers_spend_beyond_a_budget_are_the_calls_in_flight(
    server: tuple[CountingServer, str], database: str
) -> None:
    _, url = server
    limit = 50 * TOKENS
    workers = [asker(url, first, 100, most_tokens=limit) for first in (0, 1000)]
    assert sum(ended(worker) for worker in workers) < 200
    ledger = Ledger(ledger_file(home()))
    spent = asyncio.run(spent_in(ledger))
    ledger.close()
    assert limit <= spent.tokens <= limit + IN_FLIGHT * TOKENS
