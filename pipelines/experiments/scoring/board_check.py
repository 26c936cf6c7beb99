"""A board's page checked after the fact: every number on it is computed again from the rows of its runs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from assets.records.json_text import JsonError
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun, find_run, read_run
from pipelines.evaluation.report.page import Json
from pipelines.evaluation.verification import page_data, problems_seen_without_data
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.leaderboard import leaderboard_data


def runs_of_board(page: Path, *, runs: Path) -> tuple[Json, list[FinishedRun]]:
    """Return what the page of a board shows, and its runs. Raises EvaluationError for a page of another kind."""
    try:
        shown = page_data(page)
        ids = [str(row["run_id"]) for row in shown["runs"]]
    except (JsonError, KeyError, TypeError, ValueError) as error:
        raise EvaluationError(f"{page} is no board; give a page that amemgym compare or leaderboard wrote.") from error
    found = list[FinishedRun]()
    for run_id in ids:
        run = read_run(run_id, runs=runs)
        found.append(replace(run, problems=problems_seen_without_data(run, find_run(run_id, runs=runs))))
    return shown, found


def board_problems(shown: Json, runs: Sequence[FinishedRun]) -> Iterator[str]:
    """Yield a sentence for each run whose results do not follow from its rows, and for each other part of the board."""
    for run in runs:
        for problem in run.problems:
            yield f"{run.manifest.run_id}: {problem}"
    pages = {row["run_id"]: row["page"] for row in shown["runs"]}  # no numbers
    computed: Json = json.loads(json.dumps(leaderboard_data(compare_runs(runs), pages=pages)))
    for part in computed:
        if part != "runs" and shown.get(part) != computed[part]:
            yield f"{part} is not what follows from the runs."
    for row, own in zip(shown["runs"], computed["runs"], strict=True):
        for name in own:
            if row.get(name) != own[name]:
                yield f"{name} of {own['run_id']} is not what follows from the run."
