"""Leaderboards on disk: pages over several runs, beside the runs' folders that they link to."""

import os
from collections.abc import Mapping
from pathlib import Path

from dataset_card.release.digests import canonical_digest
from pipelines.evaluation.folder import PAGE, RESULTS, FinishedRun, read_run
from pipelines.evaluation.report.formatting import plumbing_note, run_labels
from pipelines.evaluation.report.markdown import RED, baseline_labels, best_first, board_columns, ranks, unscored_share
from pipelines.evaluation.report.page import Json, plain, render_page
from pipelines.experiments.compare import Comparison

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


def runs_by_dataset(folder: Path, *, dataset: str = "") -> list[list[FinishedRun]]:
    """All finished runs, by dataset; `dataset`: how its name begins. Raises EvaluationError for a run that cannot be read."""
    boards: dict[str, list[FinishedRun]] = {}
    for path in sorted(folder.glob(f"*/{RESULTS}")):
        run = read_run(str(path.parent), runs=folder)
        if run.manifest.dataset.startswith(dataset):
            boards.setdefault(run.manifest.dataset_digest, []).append(run)
    return list(boards.values())


def leaderboard_page(comparison: Comparison, *, pages: Mapping[str, str]) -> str:
    """Several runs side by side; `pages` are the addresses of their own pages, by run id."""
    data = leaderboard_data(comparison, pages=pages)
    return render_page(str(data["title"]), {"data": data})


def leaderboard_data(comparison: Comparison, *, pages: Mapping[str, str]) -> Json:
    """Several runs' scores, and what lies between them."""
    runs, names = best_first(comparison.runs), run_labels(comparison.runs)
    first, rank = runs[0], ranks(runs)
    return {
        "title": f"{len(runs)} run{'s' * (len(runs) > 1)} on {first.manifest.dataset}",
        "subtitle": f"Digest {first.manifest.dataset_digest[:16]}; {len(comparison.users)} {first.manifest.noun}s in common.",
        "facts": [],
        "notes": list(dict.fromkeys(filter(None, (plumbing_note(run.manifest) for run in runs)))),
        "red": RED,
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
            {"label": label, "estimate": plain(first.results.baselines[name])}
            for name, label in baseline_labels(first, names[first.manifest.run_id]).items()
        ],
        "users": len(comparison.users),
        "noun": first.manifest.noun,
        "pairs": [{"title": pair.title, "differences": list(map(plain, pair.differences))} for pair in comparison.pairs],
        "policies": [plain(row) for row in comparison.policies],
    }


def _board_run(run: FinishedRun) -> Json:
    results = run.results
    return {
        **plain(results),
        "mode": run.manifest.mode,
        "tokens": results.costs["input_tokens_per_answer"].value,
        "seconds": plain(run.latency.mean),
        "unscored": unscored_share(run),
    }
