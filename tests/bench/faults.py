"""Make a variant at a served provider in fair and in foul weather, and compare the releases. By hand:

python -m tests.bench.faults base        (default: demo; makes the variant three times)
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from dataset_card.release.manifest import Manifest, read_manifest
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name
from pipelines.embedded.simulated_provider.fault_profile import Weather
from pipelines.embedded.simulated_provider.provider import Provider, simulate
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.commands import amemgym

FOUL = Weather(errors=0.02, hangs=0.01, cut_off=0.02, refusals=0.01, seed=7)
LIMITS = {"demo": 120, "base": 1200}  # requests per minute, below what a run asks for
TOLD = ("README.md", "manifest.json")  # these tell what the making took, and asking again takes more


@dataclass(frozen=True)
class Made:
    """A release made at a served provider, and what the weather brought meanwhile."""

    folder: Path
    seconds: float
    counts: dict[str, int]

    @property
    def manifest(self) -> Manifest:
        """The release's manifest."""
        return read_manifest(self.folder)

    def data(self) -> dict[str, str]:
        """sha256 of every file that holds rows or the recipe."""
        return {file.path: file.sha256 for file in self.manifest.files if file.path not in TOLD}

    def users(self) -> dict[str, Any]:
        """Users by id, as the reference's JSON has them."""
        path = next(self.folder.glob("*/data.json"))
        return {user["id"]: user for user in json.loads(path.read_text())}

    def failures(self) -> list[dict[str, Any]]:
        """Users that could not be finished."""
        path = next(self.folder.glob("tables/*/failures.parquet"))
        return pq.read_table(path).to_pylist()  # pyright: ignore[reportUnknownMemberType]

    def judgements(self) -> dict[str, list[dict[str, Any]]]:
        """Gate records by user."""
        path = next(self.folder.glob("tables/*/gate_records.parquet"))
        found: dict[str, list[dict[str, Any]]] = {}
        for row in pq.read_table(path).to_pylist():  # pyright: ignore[reportUnknownMemberType]
            found.setdefault(row["user_id"], []).append(row)
        return found


@contextmanager
def served(weather: Weather) -> Generator[tuple[str, Provider]]:
    """The embedded model on a port, in this weather."""
    provider = simulate(create_app(), weather)
    with on_a_port(provider) as url:
        yield url, provider


def command(home: Path, url: str, *words: str, timeout: float = 5.0) -> subprocess.Popen[str]:
    """Start `amemgym generate` against an address, with a data folder of its own."""
    place = {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": "any", "AMEMGYM_TIMEOUT": str(timeout)}
    return amemgym(home, "generate", *words, "--model", model_name(), **place)


def make(home: Path, *words: str, weather: Weather, timeout: float = 5.0) -> Made:
    """Make a variant in this weather; a run that does not end well is an AssertionError with its output."""
    with served(weather) as (url, provider):
        began = time.monotonic()
        process = command(home, url, *words, timeout=timeout)
        output, _ = process.communicate(timeout=1800)
        assert process.returncode == 0, output
        folder = next((home / "releases").glob("*/*"))
        return Made(folder, time.monotonic() - began, dict(provider.log.counts))


def spoilt(fair: Made, foul: Made) -> list[str]:
    """Users of whom every judgement is the same in both, but not the rest. There should be none."""
    there, here = fair.users(), foul.users()
    told, heard = fair.judgements(), foul.judgements()
    same = [user for user in there.keys() & here.keys() if told.get(user) == heard.get(user)]
    return [user for user in same if there[user] != here[user]]


def main() -> None:
    """Three runs and a table."""
    words = sys.argv[1:] or ["demo"]
    with tempfile.TemporaryDirectory(prefix="amemgym-faults-") as folder:
        homes = Path(folder)
        fair = make(homes / "fair", *words, weather=Weather())
        print(f"fair: {fair.seconds:.0f} s, {len(fair.users())} users, {fair.counts}", flush=True)
        limited = replace(FOUL, requests_per_minute=LIMITS.get(words[0], 1200))
        for name, weather in (("foul", limited), ("foul and misjudged", replace(limited, wrong_judgements=0.15))):
            foul = make(homes / name.replace(" ", "-"), *words, weather=weather)
            told = "equal" if foul.data() == fair.data() else "different"
            print(f"{name}: {foul.seconds:.0f} s, {len(foul.users())} users, {foul.counts}", flush=True)
            wanted = "every user there" if foul.users().keys() == fair.users().keys() else f"{len(foul.failures())} replaced"
            print(f"  {wanted}; data {told}; users equally judged but different: {len(spoilt(fair, foul))}", flush=True)


if __name__ == "__main__":
    main()
