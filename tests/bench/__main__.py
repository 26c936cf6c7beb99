"""`make bench`: speed, memory and tokens of the pipeline, as a table and as data/bench.json.

Absolute times say what this machine was like; the ratios are what to hold on to, both sides of each being taken in this
run. The provider is simulated in a process of its own: 0.3 s, then 5000 tokens read and 80 written per second.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from assets.llm.ports import ModelRequest
from pipelines.embedded.bank import model_name
from pipelines.home import home
from pipelines.resources.cache.reply_cache import CachedModel, open_replies
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.settings import EndpointSettings
from prompts.catalogue import load_prompt
from tests.bench.evaluation import evaluation
from tests.bench.runs import IN_FLIGHT, LATENCY, Row, generate, provider
from tests.support.commands import clean_environment

UNBOUNDED = 4096
PLAIN_FIELDS = (
    *("gates.votes=1", "gates.votes_needed=1", "gates.unexposed=0", "gates.reverse=false", "gates.consistency=false"),
    "noise_share=0",
    "audit.enabled=false",
)
PLAIN = tuple(word for field in PLAIN_FIELDS for word in ("--set", field))
POLICIES = (
    ("plain gates", PLAIN),
    ("the paper's gates and the audit", ("--set", "gates.policy=paper", "--set", "noise_share=0")),
    ("all gates and audit", ()),
)
SPEED_CALLS = 3000


def start_up() -> list[Row]:
    """Import and help times, best of three."""

    def best(*line: str) -> float:
        times: list[float] = []
        for _ in range(3):
            began = time.monotonic()
            subprocess.run([sys.executable, *line], env=clean_environment(), check=True, capture_output=True)
            times.append(time.monotonic() - began)
        return min(times)

    bare = best("-c", "pass")
    return [
        ("import pipelines.definitions", best("-c", "import pipelines.definitions") - bare, "s"),
        ("amemgym --help", best("-m", "pipelines", "--help"), "s"),
    ]


def fixed_cost(folder: Path) -> list[Row]:
    """The demo, and the demo again when every reply is there: what any run takes beside its calls."""
    first, again = generate(folder, "demo"), generate(folder, "demo")
    return [
        ("demo: processor time", first.processor, "s"),
        ("demo again, all replies cached: processor time", again.processor, "s"),
        ("again / first", again.processor / first.processor, "x"),
    ]


def schedule(folder: Path) -> list[Row]:
    """Base for 20 users at 64 in flight, beside the sequential sum and the lower bound."""
    with provider(*LATENCY) as url:
        bounded = generate(folder / "bounded", "base", "--concurrency", "64", url=url)
        unbounded = generate(folder / "unbounded", "base", "--concurrency", "64", url=url, in_flight=UNBOUNDED)
    work = bounded.call_seconds()
    return [
        ("base, 20 users, 64 in flight: wall", bounded.seconds, "s"),
        ("sum of all call latencies", work, "s"),
        ("critical path (run with unbounded calls in flight)", unbounded.seconds, "s"),
        ("sum / 64", work / IN_FLIGHT, "s"),
        ("faster than sequential", work / bounded.seconds, "x"),
        ("wall / max(critical path, sum / 64)", bounded.seconds / max(unbounded.seconds, work / IN_FLIGHT), "x"),
        ("peak memory", bounded.megabytes, "MB"),
    ]


def calls_per_second(folder: Path) -> list[Row]:
    """Different small calls through cache, client and socket, the provider at zero latency in its own process."""

    async def ask(url: str) -> tuple[float, float]:
        store = open_replies(folder / "calls.sqlite")
        settings = EndpointSettings(base_url=url, api_key=SecretStr("any"), max_in_flight=IN_FLIGHT)
        model = CachedModel(ModelClient(settings), store=store, mode="use")
        await asyncio.gather(*(model.complete(small_request(-1 - number)) for number in range(100)))
        began, cpu = time.monotonic(), time.process_time()
        await asyncio.gather(*(model.complete(small_request(number)) for number in range(SPEED_CALLS)))
        took = time.monotonic() - began, time.process_time() - cpu
        store.close()
        return took

    folder.mkdir()
    with provider() as url:
        wall, cpu = asyncio.run(ask(url))
    return [("calls per second at zero latency", SPEED_CALLS / wall, "/s"), ("CPU per call", 1000 * cpu / SPEED_CALLS, "ms")]


def small_request(number: int) -> ModelRequest:
    """A judge's call of common size."""
    schema = {"type": "object", "properties": {"1": {"type": "integer"}}, "required": ["1"]}
    case = {
        "question": f"How should I plan my week, number {number}?",
        "situations": {str(one): {"daily_free_time": f"value_{one}", "home_type": "small_apartment"} for one in range(1, 6)},
        "answers": {"1": "Keep it simple, and write down what worked. " * 4},
    }
    prompt = load_prompt("answers/check").render(cases={"1": case}, cannot_tell=True, reworded=False)
    return ModelRequest(
        model=model_name(),
        messages=prompt.messages,
        temperature=0.0,
        max_output_tokens=100,
        schema_name="answers_check",
        json_schema={**schema, "additionalProperties": False},
        seed=42,
        sample=0,
    )


def tokens(folder: Path) -> list[Row]:
    """Calls and tokens per base user by policy of the gates, on the embedded model."""
    rows: list[Row] = []
    for name, words in POLICIES:
        run = generate(folder / name.replace(" ", "-"), "base", *words)
        given, got = run.tokens_per_user()
        rows += [(f"calls per base user, {name}", run.calls_per_user(), "")]
        rows += [(f"tokens in per base user, {name}", given / 1000, "K"), (f"tokens out, {name}", got / 1000, "K")]
        rows += [(f"base on the embedded model, {name}: wall", run.seconds, "s"), ("peak memory", run.megabytes, "MB")]
    return rows


def main() -> None:
    """Measure, print, keep."""
    rows: list[Row] = start_up()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for part in (fixed_cost, calls_per_second, tokens, schedule, evaluation):
            (folder / part.__name__).mkdir()
            rows += part(folder / part.__name__ / "run")
    table = Table("measured", "value", "unit", title=f"amemgym bench, {os.cpu_count()} cores")
    for name, value, unit in rows:
        table.add_row(name, f"{value:,.2f}", unit)
    Console(width=100).print(table)
    target = home().root / "bench.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps([{"measured": name, "value": value, "unit": unit} for name, value, unit in rows], indent=2))
    print(f"Kept in {target}.")


if __name__ == "__main__":
    main()
