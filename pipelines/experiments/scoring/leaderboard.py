"""Leaderboards on disk: pages over several runs, beside the runs' folders that they link to."""

from collections.abc import Mapping
from pathlib import Path

from assets.reporting.plurals import counted
from assets.whole_files import whole_file
from dataset_card.release.digests import canonical_digest
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import PAGE, RESULTS, FinishedRun
from pipelines.evaluation.report.formatting import RED
from pipelines.evaluation.report.page import SECTIONS, Json, plain, render_blocks
from pipelines.evaluation.verifying.verdict import read_judged_run
from pipelines.experiments.scoring.board_tables import baseline_labels, board_columns, board_sections
from pipelines.experiments.scoring.compare import Comparison, comparison_sections
from pipelines.experiments.scoring.ranking import (
    board_notes,
    rank_runs,
    ranking_metric,
    run_groups,
    unscored_share,
)

LEADERBOARDS_FOLDER = "boards"  # beside the runs, so that its links to them are relative


def write_leaderboard(comparison: Comparison, *, runs: Path) -> Path:
    """Write the page of these runs; its name follows from theirs. `runs`: the folder of the runs. Raises OSError."""
    ids = sorted([run.manifest.run_id for run in comparison.runs])
    path = runs.with_name(LEADERBOARDS_FOLDER) / f"{canonical_digest(ids)[:12]}.html"
    pages: dict[str, str] = {}
    for run_id in ids:
        if (runs / run_id / PAGE).is_file():
            pages[run_id] = f"../{runs.name}/{run_id}/{PAGE}"
    data = leaderboard_data(comparison, pages=pages)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:  # a page may be looked at meanwhile
        draft.write_text(render_blocks(str(data["title"]), {"data": data}), encoding="utf-8")
    return path


def runs_by_dataset(folder: Path, *, dataset: str = "") -> tuple[list[list[FinishedRun]], list[str]]:
    """Return all finished runs, by dataset, and the names of those that cannot be read; `dataset`: how its name begins."""
    boards: dict[str, list[FinishedRun]] = {}
    unread = list[str]()
    for path in sorted(folder.glob(f"*/{RESULTS}")):
        try:
            run = read_judged_run(str(path.parent), runs=folder)
        except EvaluationError:
            unread.append(path.parent.name)
            continue
        if run.manifest.dataset.startswith(dataset):
            boards.setdefault(run.manifest.dataset_digest, []).append(run)
    return list(boards.values()), unread


def leaderboard_data(comparison: Comparison, *, pages: Mapping[str, str]) -> Json:
    """Return several runs' scores, and their differences; `pages` are the addresses of their own pages, by run id."""
    board = rank_runs(comparison.runs)
    groups = run_groups(comparison.runs)
    runs = [ranked.run for ranked in board]
    first = runs[0]
    users = len(comparison.users)
    rows: list[Json] = []
    for ranked in board:
        run_id = ranked.run.manifest.run_id
        place = {"label": ranked.label_with_mark, "page": pages.get(run_id), "group": groups[run_id]}
        rows.append(place | _board_run(ranked.run))
    baselines: list[Json] = []
    for name, label in baseline_labels(first, board[0].label).items():
        baselines.append({"name": name, "label": label, "estimate": plain(first.results.baselines[name])})
    return {
        "title": f"{counted(len(runs), 'run')} on {first.manifest.dataset}",
        "subtitle": f"Digest {first.manifest.dataset_digest[:8]}; {counted(users, first.manifest.noun)} in common.",
        "facts": [],
        "notes": board_notes(runs),
        "red": RED,
        "metric": ranking_metric(runs),
        "columns": [name for name in board_columns(first) if name not in ("overall", "memory")],
        "runs": rows,
        "baselines": baselines,
        "users": users,
        "noun": first.manifest.noun,
        "sections": SECTIONS.dump_python([*board_sections(runs), *comparison_sections(comparison)], mode="json"),
    }


def _board_run(run: FinishedRun) -> Json:
    results = run.results
    return {
        **plain(results),
        "mode": run.manifest.policy,
        "kind": run.manifest.memory.kind,
        "tokens": results.costs["input_tokens_per_answer"].value,
        "memory_seconds": run.latency.memory_mean,
        "seconds": plain(run.latency.mean),
        "unscored": unscored_share(run),
    }
