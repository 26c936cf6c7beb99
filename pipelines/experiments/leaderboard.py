"""Leaderboards on disk: pages over several runs, beside the runs' folders that they link to."""

import os
from pathlib import Path

from dataset_card.release.digests import canonical_digest
from pipelines.evaluation.folder import PAGE, RESULTS, FinishedRun, read_run
from pipelines.evaluation.report.page import board_page
from pipelines.experiments.compare import Comparison

BOARDS = "boards"


def write_board(comparison: Comparison, *, place: Path) -> Path:
    """Write the page of these runs; its name follows from theirs. `place`: where runs are kept. Raises OSError."""
    ids = sorted(run.manifest.run_id for run in comparison.runs)
    path = place.with_name(BOARDS) / f"{canonical_digest(ids)[:12]}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    pages = {name: f"../{place.name}/{name}/{PAGE}" for name in ids if (place / name / PAGE).is_file()}
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(board_page(comparison, pages=pages), encoding="utf-8")
    draft.replace(path)
    return path


def all_boards(place: Path, *, dataset: str = "") -> list[list[FinishedRun]]:
    """All finished runs, by dataset; `dataset`: how its name begins. Raises EvaluationError for a run that cannot be read."""
    boards: dict[str, list[FinishedRun]] = {}
    for path in sorted(place.glob(f"*/{RESULTS}")):
        run = read_run(str(path.parent), runs=place)
        if run.manifest.dataset.startswith(dataset):
            boards.setdefault(run.manifest.dataset_digest, []).append(run)
    return list(boards.values())
