"""Make a variant at a served provider without faults and with faults, and compare the releases. By hand:

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
from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import model_name
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.commands import amemgym
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.simulated_provider.provider import Provider

FAULTY = FaultProfile(errors=0.02, hangs=0.01, cut_off=0.02, refusals=0.01, seed=7)
LIMITS = {"demo": 120, "base": 1200}  # requests per minute, below what a run asks for
DESCRIBES_THE_RUN = ("README.md", "manifest.json")  # what the making took, which is more with faults


@dataclass(frozen=True)
class Made:
    """A release made at a served provider, and what struck meanwhile."""

    folder: Path
    seconds: float
    counts: dict[str, int]

    @property
    def manifest(self) -> Manifest:
        """The release's manifest."""
        return read_manifest(self.folder)

    def data(self) -> dict[str, str]:
        """sha256 of every file that holds rows or the recipe."""
        return {file.path: file.sha256 for file in self.manifest.files if file.path not in DESCRIBES_THE_RUN}

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
def served(profile: FaultProfile) -> Generator[tuple[str, Provider]]:
    """The embedded model on a port, with these faults."""
    provider = Provider(embedded_app(), profile)
    with on_a_port(provider) as url:
        yield url, provider


def command(home: Path, url: str, *words: str, timeout: float = 5.0) -> subprocess.Popen[str]:
    """Start `amemgym generate` against an address, with a data folder of its own."""
    place = {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": "any", "AMEMGYM_TIMEOUT": str(timeout)}
    return amemgym(home, "generate", *words, "--model", model_name(), **place)


def make(home: Path, *words: str, profile: FaultProfile, timeout: float = 5.0) -> Made:
    """Make a variant with these faults; a run that does not end well is an AssertionError with its output."""
    with served(profile) as (url, provider):
        began = time.monotonic()
        process = command(home, url, *words, timeout=timeout)
        output, _ = process.communicate(timeout=1800)
        assert process.returncode == 0, output
        folder = next((home / "releases").glob("*/*"))
        return Made(folder, time.monotonic() - began, dict(provider.log.counts))


def damaged(plain: Made, faulty: Made) -> list[str]:
    """Users of whom every judgement is the same in both, but not the rest. There should be none."""
    users, faulty_users = plain.users(), faulty.users()
    judgements, faulty_judgements = plain.judgements(), faulty.judgements()
    same = [user for user in users.keys() & faulty_users.keys() if judgements.get(user) == faulty_judgements.get(user)]
    return [user for user in same if users[user] != faulty_users[user]]


def main() -> None:
    """Three runs and a table."""
    words = sys.argv[1:] or ["demo"]
    with tempfile.TemporaryDirectory(prefix="amemgym-faults-") as folder:
        homes = Path(folder)
        plain = make(homes / "plain", *words, profile=FaultProfile())
        print(f"plain: {plain.seconds:.0f} s, {len(plain.users())} users, {plain.counts}", flush=True)
        limited = replace(FAULTY, requests_per_minute=LIMITS.get(words[0], 1200))
        for name, profile in (("faulty", limited), ("faulty and misjudged", replace(limited, wrong_judgements=0.15))):
            faulty = make(homes / name.replace(" ", "-"), *words, profile=profile)
            data = "equal" if faulty.data() == plain.data() else "different"
            print(f"{name}: {faulty.seconds:.0f} s, {len(faulty.users())} users, {faulty.counts}", flush=True)
            wanted = (
                "every user there" if faulty.users().keys() == plain.users().keys() else f"{len(faulty.failures())} replaced"
            )
            print(f"  {wanted}; data {data}; users equally judged but different: {len(damaged(plain, faulty))}", flush=True)


if __name__ == "__main__":
    main()
