"""A recording of a real model: the replies to one small variant and its evaluation, and what they came to.

`python -m tests.recorded` makes it anew; `tests/pipelines/test_recorded.py` replays it with no model at all.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from dataset_card.release.manifest import read_manifest
from pipelines.evaluation.folder import read_run

HERE = Path(__file__).parent
RECIPES, REPLIES, OUTCOME = HERE / "recipes", HERE / "replies.jsonl", HERE / "outcome.json"
VARIANT = "real"


def commands(place: Path, *, replay: bool) -> Iterator[list[str]]:
    """What is asked of `amemgym`, in order: to make the variant, look at it and evaluate on it, in this data folder."""
    recipe = yaml.safe_load((RECIPES / f"{VARIANT}.yaml").read_text(encoding="utf-8"))
    model, offline = recipe["models"]["writer"]["model"], ["--offline"] if replay else []
    if replay:
        yield ["cache", "import", str(REPLIES)]
    yield ["generate", VARIANT, *offline]
    yield ["verify", str(_release(place))]
    models = ["--model", model, "--user-model", model]
    yield ["evaluate", VARIANT, "--assistant", "llm", "--concurrency", "1", *models, *offline]
    if not replay:
        yield ["cache", "export", str(REPLIES)]


def outcome(place: Path) -> dict[str, Any]:
    """What the replies came to: the release, by its digest and counts, and the score."""
    release = _release(place)
    manifest = read_manifest(release)
    run = read_run(next(path.name for path in (place / "runs").iterdir() if path.is_dir()), runs=place / "runs")
    return {
        "version": release.name,
        "data_digest": manifest.data_digest,
        "counts": dict(manifest.counts),
        "overall": run.results.metrics["overall"].value,
    }


def _release(place: Path) -> Path:
    return next((place / "releases" / VARIANT).iterdir())
