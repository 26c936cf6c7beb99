"""A recording of a real model: the replies to one small variant and its evaluation, and what they came to.

`python -m tests.recorded` makes it anew; `tests/pipelines/test_recorded.py` replays it with no model at all.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
RECIPES, REPLIES, OUTCOME = HERE / "recipes", HERE / "replies.jsonl", HERE / "outcome.json"
VARIANT = "real"


def commands(place: Path, *, replay: bool) -> Iterator[list[str]]:
    """What is asked of `amemgym`, in order: to make the variant and, where it finished, look at it and evaluate on it."""
    recipe = yaml.safe_load((RECIPES / f"{VARIANT}.yaml").read_text(encoding="utf-8"))
    model, offline = recipe["models"]["writer"]["model"], ["--offline"] if replay else []
    if replay:
        yield ["cache", "import", str(REPLIES)]
    yield ["generate", VARIANT, *offline]
    if release := _release(place):
        yield ["verify", str(release)]
        models = ["--model", model, "--user-model", model]
        yield ["evaluate", VARIANT, "--memory", "full-history", "--concurrency", "1", *models, *offline]
    if not replay:
        yield ["cache", "export", str(REPLIES)]


def outcome(place: Path) -> dict[str, Any]:
    """What the replies came to: who was replaced and why, the rows of each stage by digest; then release and score, if any."""
    # Imported when the recipes' folder is set, which is read once.
    from assets.engine.provenance import ReportValue
    from pipelines.home import Home
    from pipelines.resources.storage.io_manager import open_asset_values

    value = open_asset_values(Home(place)).find("quality_report", VARIANT)
    assert isinstance(value, ReportValue)
    stages = value.provenance.snapshots[VARIANT]
    made = {
        "finished": value.report.finished,
        "replaced": value.report.replaced,
        "calls": {name: ref.usage.calls for name, ref in stages.items()},
        "rows": {name: ref.digest[:16] for name, ref in stages.items()},
    }
    release = _release(place)
    return {**made, **_released(place, release)} if release else made


def _released(place: Path, release: Path) -> dict[str, Any]:
    # As above.
    from dataset_card.release.manifest import read_manifest
    from pipelines.evaluation.folder import read_run

    manifest = read_manifest(release)
    run = read_run(next(path.name for path in (place / "runs").iterdir() if path.is_dir()), runs=place / "runs")
    return {
        "version": release.name,
        "data_digest": manifest.data_digest,
        "counts": dict(manifest.counts),
        "overall": run.results.metrics["overall"].value,
    }


def _release(place: Path) -> Path | None:
    """The release; none where the model finished no user."""
    return next(iter((place / "releases" / VARIANT).glob("*.*.*")), None)
