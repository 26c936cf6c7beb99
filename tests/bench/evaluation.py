"""How close an evaluation comes to what the provider's speed allows. By hand: python -m tests.bench.evaluation [users]

A memory of everything lives with the users of base at the simulated provider, 64 calls in flight. No schedule can be faster
than the longest user's conversation, whose messages wait for each other, nor than all calls spread over the 64 slots; both
follow from the provider's rule and the tokens in the ledger, so that the bound does not gain from a slow machine.
"""

import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pipelines.embedded.bank import model_name
from tests.bench.runs import IN_FLIGHT, LATENCY, Row, generate, provider
from tests.support.commands import AMEMGYM, clean_environment

BEFORE, READING, WRITING = 0.3, 5000, 80  # the provider's rule, as in LATENCY
SECONDS = f"{BEFORE} + input_tokens / {READING}.0 + output_tokens / {WRITING}.0"
CALLS = "FROM calls WHERE cache_hit = 0 AND outcome <> 'error' AND stage LIKE 'evaluation %'"


def evaluate(home: Path, *, url: str, users: int) -> float:
    """Wall seconds of `amemgym evaluate base --memory full-history` in a process of its own."""
    place = {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": "any", "AMEMGYM_MAX_IN_FLIGHT": str(IN_FLIGHT)}
    models = ("--model", model_name(), "--set", f"user_model={model_name()}")
    line = ("evaluate", "base", "--memory", "full-history", "--users", str(users), *models)
    began = time.monotonic()
    done = subprocess.run(
        [*AMEMGYM, *line],
        env=clean_environment(home, **place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return time.monotonic() - began


def bounds(ledger: Path) -> tuple[float, float]:
    """Seconds of the longest conversation, and of all calls one after another."""
    with sqlite3.connect(ledger) as connection:
        longest = connection.execute(
            f"SELECT MAX(seconds_of_user) FROM (SELECT SUM({SECONDS}) AS seconds_of_user {CALLS} "
            "AND stage IN ('evaluation dialogue', 'evaluation simulator') GROUP BY user_id)"
        ).fetchone()[0]
        work = connection.execute(f"SELECT SUM({SECONDS}) {CALLS}").fetchone()[0]
    return float(longest), float(work)


def evaluation(folder: Path, *, users: int = 20) -> list[Row]:
    """Native on so many users of base, beside the lower bound and the sequential sum."""
    generate(folder, "base")
    with provider(*LATENCY) as url:
        wall = evaluate(folder, url=url, users=users)
    longest, work = bounds(folder / "ledger.sqlite")
    return [
        (f"evaluate base, native, {users} users, {IN_FLIGHT} in flight: wall", wall, "s"),
        ("longest conversation, by the provider's rule", longest, "s"),
        (f"all calls / {IN_FLIGHT}", work / IN_FLIGHT, "s"),
        ("evaluation: wall / max(longest conversation, calls / 64)", wall / max(longest, work / IN_FLIGHT), "x"),
        ("evaluation: faster than one call after another", work / wall, "x"),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for name, value, unit in evaluation(Path(place), users=int(sys.argv[1]) if len(sys.argv) > 1 else 20):
            print(f"{name:<70} {value:>10,.2f} {unit}", flush=True)
