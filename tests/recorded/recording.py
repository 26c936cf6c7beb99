"""A recording of a real model: the replies to one small variant and its evaluation, and what they came to.

`python -m tests.recorded` makes it anew; `tests/pipelines/test_recorded.py` replays it with no model at all.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dataset_card.manifest import read_manifest
from pipelines.evaluation.folder import read_run

HERE = Path(__file__).parent
RECIPES, REPLIES, OUTCOME = HERE / "recipes", HERE / "replies.jsonl", HERE / "outcome.json"
VARIANT = "real"
GENERATE = ("generate", VARIANT)
EVALUATE = ("evaluate", VARIANT, "--assistant", "llm", "--concurrency", "1")


def amemgym(place: Path, words: Sequence[str], *, endpoint: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command on this data folder; only with `endpoint` does it learn of a model to ask."""
    hidden = () if endpoint else ("OPENAI_", "AMEMGYM_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DAGSTER_", *hidden))}
    environment = {**kept, "AMEMGYM_HOME": str(place), "AMEMGYM_RECIPES": str(RECIPES)}
    line = [sys.executable, "-m", "pipelines.cli.main", *words]
    return subprocess.run(
        line, env=environment, stdout=subprocess.PIPE, stderr=None if endpoint else subprocess.PIPE, text=True
    )


def outcome(place: Path) -> dict[str, Any]:
    """What the replies came to: the release, by its digests and counts, and the scores."""
    release = next((place / "releases" / VARIANT).iterdir())
    manifest = read_manifest(release)
    run = read_run(next(path.name for path in (place / "runs").iterdir() if path.is_dir()), runs=place / "runs")
    return {
        "version": release.name,
        "data_digest": manifest.data_digest,
        "counts": dict(manifest.counts),
        "overall": run.results.metrics["overall"].value,
    }
