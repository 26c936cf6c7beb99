"""A recording of a real model: the replies to one small variant and its evaluation, and what they came to.

`python -m tests.recorded` makes it anew; `tests/pipelines/test_recorded.py` replays it with no model at all.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from dataset_card.manifest import read_manifest
from pipelines.evaluation.folder import read_run
from tests.commands import AMEMGYM, clean_environment

HERE = Path(__file__).parent
RECIPES, REPLIES, OUTCOME = HERE / "recipes", HERE / "replies.jsonl", HERE / "outcome.json"
VARIANT = "real"
MODEL: str = yaml.safe_load((RECIPES / f"{VARIANT}.yaml").read_text(encoding="utf-8"))["models"]["writer"]["model"]
GENERATE = ("generate", VARIANT)
EVALUATE = ("evaluate", VARIANT, "--assistant", "llm", "--model", MODEL, "--user-model", MODEL, "--concurrency", "1")


def amemgym(place: Path, words: Sequence[str], *, endpoint: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command on this data folder; only with `endpoint` does it learn of a model to ask."""
    kept = {name: value for name, value in os.environ.items() if endpoint and name.startswith("AMEMGYM_")}
    environment = clean_environment(place, **{**kept, "AMEMGYM_HOME": str(place), "AMEMGYM_RECIPES": str(RECIPES)})
    told = None if endpoint else subprocess.PIPE
    return subprocess.run([*AMEMGYM, *words], env=environment, stdout=subprocess.PIPE, stderr=told, text=True, check=False)


def outcome(place: Path) -> dict[str, Any]:
    """What the replies came to: the release, by its digest and counts, and the score."""
    release = next((place / "releases" / VARIANT).iterdir())
    manifest = read_manifest(release)
    run = read_run(next(path.name for path in (place / "runs").iterdir() if path.is_dir()), runs=place / "runs")
    return {
        "version": release.name,
        "data_digest": manifest.data_digest,
        "counts": dict(manifest.counts),
        "overall": run.results.metrics["overall"].value,
    }
