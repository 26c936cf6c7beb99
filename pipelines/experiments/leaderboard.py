"""Leaderboards on disk: pages over several runs, beside the runs' folders that they link to."""

import os
from collections.abc import Mapping
from pathlib import Path

from assets.records.estimate import FEWEST_ITEMS, ROUGH, Estimate
from assets.reporting.plurals import counted
from dataset_card.hub.versions_file import BaselineScore
from dataset_card.release.digests import canonical_digest
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import MANIFEST, PAGE, RESULTS, FinishedRun, read_run
from pipelines.evaluation.metrics.results import Results
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.formatting import RED
from pipelines.evaluation.report.page import Json, plain, render_page
from pipelines.experiments.compare import Comparison
from pipelines.experiments.paired import Paired
from pipelines.experiments.ranking import (
    baseline_labels,
    best_first,
    board_columns,
    board_notes,
    ranking_metric,
    ranks,
    run_labels,
    unscored_share,
)

LEADERBOARDS_FOLDER = "boards"


def write_leaderboard(comparison: Comparison, *, runs: Path) -> Path:
    """Write the page of these runs; its name follows from theirs. `runs`: the folder of the runs. Raises OSError."""
    ids = sorted(run.manifest.run_id for run in comparison.runs)
    path = runs.with_name(LEADERBOARDS_FOLDER) / f"{canonical_digest(ids)[:12]}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    pages = {name: f"../{runs.name}/{name}/{PAGE}" for name in ids if (runs / name / PAGE).is_file()}
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(leaderboard_page(comparison, pages=pages), encoding="utf-8")
    draft.replace(path)
    return path


def runs_by_dataset(folder: Path, *, dataset: str = "") -> tuple[list[list[FinishedRun]], list[str]]:
    """All finished runs, by dataset, and the names of those that cannot be read; `dataset`: how its name begins."""
    boards: dict[str, list[FinishedRun]] = {}
    unread = list[str]()
    for path in sorted(folder.glob(f"*/{RESULTS}")):
        try:
            run = read_run(str(path.parent), runs=folder)
        except EvaluationError:
            unread.append(path.parent.name)
            continue
        if run.manifest.dataset.startswith(dataset):
            boards.setdefault(run.manifest.dataset_digest, []).append(run)
    return list(boards.values()), unread


def scores_on(digest: str, *, runs: Path) -> list[BaselineScore]:
    """What memories reached on a release in finished runs, by name; off-policy runs and unreadable ones are left out."""
    found: list[tuple[str, BaselineScore]] = []
    for path in sorted(runs.glob(f"*/{RESULTS}")):
        try:
            manifest = RunManifest.model_validate_json((path.parent / MANIFEST).read_bytes())
            results = Results.model_validate_json(path.read_bytes())
        except (OSError, ValueError):
            continue
        if manifest.dataset_digest == digest and manifest.mode != "off-policy":
            score = BaselineScore(
                assistant=manifest.memory.name,
                model=manifest.models["assistant"],
                users=len(manifest.users),
                accuracy=results.metrics["overall"],
                memory=results.metrics.get("memory", Estimate(value=None, low=None, high=None)),
            )
            found.append((manifest.run_id, score))
    return [score for _, score in sorted(found, key=lambda one: (one[1].assistant, one[0]))]


def leaderboard_page(comparison: Comparison, *, pages: Mapping[str, str]) -> str:
    """Several runs side by side; `pages` are the addresses of their own pages, by run id."""
    data = leaderboard_data(comparison, pages=pages)
    return render_page(str(data["title"]), {"data": data})


def leaderboard_data(comparison: Comparison, *, pages: Mapping[str, str]) -> Json:
    """Several runs' scores, and what lies between them."""
    runs, names = best_first(comparison.runs), run_labels(comparison.runs)
    users = len(comparison.users)
    first, rank = runs[0], ranks(runs)
    return {
        "title": f"{counted(len(runs), 'run')} on {first.manifest.dataset}",
        "subtitle": f"Digest {first.manifest.dataset_digest[:8]}; {counted(users, first.manifest.noun)} in common.",
        "facts": [],
        "notes": board_notes(runs),
        "red": RED,
        "mark": ROUGH if users < FEWEST_ITEMS else "",
        "metric": ranking_metric(runs),
        "columns": [name for name in board_columns(first) if name not in ("overall", "memory")],
        "runs": [
            {
                "label": names[run.manifest.run_id],
                "page": pages.get(run.manifest.run_id),
                "rank": rank[run.manifest.run_id],
                **_board_run(run),
            }
            for run in runs
        ],
        "baselines": [
            {"name": name, "label": label, "estimate": plain(first.results.baselines[name])}
            for name, label in baseline_labels(first, names[first.manifest.run_id]).items()
        ],
        "users": users,
        "noun": first.manifest.noun,
        "pairs": [{"title": pair.title, "differences": list(map(_difference, pair.differences))} for pair in comparison.pairs],
        "policies": [plain(row) for row in comparison.policies],
    }


def _difference(row: Paired) -> Json:
    return {**plain(row), "detectable": row.detectable_label}


def _board_run(run: FinishedRun) -> Json:
    results = run.results
    return {
        **plain(results),
        "mode": run.manifest.mode,
        "tokens": results.costs["input_tokens_per_answer"].value,
        "seconds": plain(run.latency.mean),
        "unscored": unscored_share(run),
    }
