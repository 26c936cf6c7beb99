"""A recording of a real model: the prompts as they were asked, the replies to them, and what these came to.

It is of one small variant and its evaluation. `make record` makes it anew; `tests/pipelines/test_recorded.py`
replays it with no model at all, with the recorded prompts in place of the shipped ones: a reply belongs to what was asked.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from prompts.catalogue import load_shipped_prompt, prompt_names, prompt_path
from prompts.template import Prompt, parse_prompt

HERE = Path(__file__).parent
RECIPES, REPLIES, OUTCOME, PROMPTS = HERE / "recipes", HERE / "replies.jsonl", HERE / "outcome.json", HERE / "prompts"
VARIANT = "real"


def recorded_prompts() -> list[Prompt]:
    """The prompts that the recorded model was asked with."""
    return [parse_prompt(_name_of(path), path.read_text(encoding="utf-8")) for path in sorted(PROMPTS.glob("*/*.md"))]


def _name_of(path: Path) -> str:
    return path.relative_to(PROMPTS).with_suffix("").as_posix()


def keep_prompts(place: Path) -> None:
    """Put the prompts of all calls in this data folder beside the replies, in place of those that are there."""
    with sqlite3.connect(place / "ledger.sqlite") as ledger:
        asked = {str(name) for (name,) in ledger.execute("SELECT DISTINCT prompt FROM calls")}
    names = asked.intersection(prompt_names())  # a user's own turns, and embeddings, have no template
    shutil.rmtree(PROMPTS, ignore_errors=True)
    for name in names:
        kept = PROMPTS / f"{name}.md"
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(prompt_path(name), kept)


def reworded() -> list[str]:
    """The recorded prompts whose words are others by now: what a model makes of the new ones nobody has recorded."""
    return [prompt.name for prompt in recorded_prompts() if prompt.fingerprint != load_shipped_prompt(prompt.name).fingerprint]


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
        memories = ["--memory", "full-history", "--memory", "bm25"]
        yield ["evaluate", VARIANT, *memories, "--concurrency", "1", *models, *offline]
    if not replay:
        yield ["cache", "export", str(REPLIES)]


def outcome(place: Path) -> dict[str, Any]:
    """What the replies came to: who was replaced and why, the rows of each stage by digest, what prompts and gates yielded.

    Then release and score, if any.
    """
    # Imported when the recipes' folder is set, which is read once.
    from assets.engine.provenance import ReportValue
    from pipelines.cli.prompts import yields_of_run
    from pipelines.home import Home
    from pipelines.resources.storage.io_manager import open_asset_values

    value = open_asset_values(Home(place)).find("quality_report", VARIANT)
    assert isinstance(value, ReportValue)
    stages = value.provenance.snapshots[VARIANT]
    yields = yields_of_run(VARIANT)
    made = {
        "reworded": reworded(),
        "finished": value.report.finished,
        "replaced": value.report.replaced,
        "calls": {name: ref.usage.calls for name, ref in stages.items()},
        "rows": {name: ref.digest[:16] for name, ref in stages.items()},
        "prompts": {name: asdict(one) for name, one in yields.prompts.items()},
        "gates": {name: asdict(one) for name, one in yields.gates.items()},
        "given_up": yields.given_up,
    }
    release = _release(place)
    return {**made, **_released(place, release)} if release else made


def _released(place: Path, release: Path) -> dict[str, Any]:
    # As above.
    from dataset_card.release.manifest import read_manifest
    from pipelines.evaluation.folder import read_run

    manifest = read_manifest(release)
    overall: dict[str, float | None] = {}
    for folder in sorted(path.name for path in (place / "runs").iterdir() if path.is_dir()):
        run = read_run(folder, runs=place / "runs")
        overall[run.manifest.memory.name] = run.results.metrics["overall"].value
    return {
        "version": release.name,
        "data_digest": manifest.data_digest,
        "counts": dict(manifest.counts),
        "overall": overall,
    }


def _release(place: Path) -> Path | None:
    """The release; none where the model finished no user."""
    return next(iter((place / "releases" / VARIANT).glob("*.*.*")), None)
