"""Boards and published scores checked after the fact: every number is computed again from the rows of its runs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assets.records.json_text import JsonError
from dataset_card.hub.layout import BaselineScore
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun, find_run, read_run
from pipelines.evaluation.report.page import Json
from pipelines.evaluation.verification import page_data, problems_seen_without_data, results_problems
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.leaderboard import baseline_score, leaderboard_data


def runs_of_board(page: Path, *, runs: Path) -> tuple[Json, list[FinishedRun]]:
    """Return what the page of a board says, and the runs that it is of. Raises EvaluationError for a page of another kind."""
    try:
        told = page_data(page)
        ids = [str(row["run_id"]) for row in told["runs"]]
    except (JsonError, KeyError, TypeError, ValueError) as error:
        raise EvaluationError(f"{page} is no board; give a page that amemgym compare or leaderboard wrote.") from error
    found = list[FinishedRun]()
    for run_id in ids:
        run = read_run(run_id, runs=runs)
        problems = problems_seen_without_data(run, find_run(run_id, runs=runs))
        found.append(replace(run, problems=problems))
    return told, found


def board_problems(told: Json, found: Sequence[FinishedRun]) -> Iterator[str]:
    """Yield a sentence for each run whose results do not follow from its rows, and for each other number of the board."""
    for run in found:
        for problem in run.problems:
            yield f"{run.manifest.run_id}: {problem}"
    # As the page holds it: texts, numbers and lists.
    computed: Json = json.loads(json.dumps(leaderboard_data(compare_runs(found), pages={})))
    for name, value in told.items():
        if name in computed and name != "runs":
            yield from _difference(name, value, computed[name])
    for row, own in zip(told["runs"], computed["runs"], strict=True):
        for name, value in row.items():
            # Whether a run has a page is no number.
            if name in own and name != "page":
                yield from _difference(f"{name} of {own['run_id']}", value, own[name])


def _difference(what: str, told: Any, computed: Any) -> Iterator[str]:
    if told != computed:
        yield f"{what} is not what follows from the runs."


def published_problems(scores: Sequence[BaselineScore], *, digest: str, runs: Sequence[FinishedRun]) -> Iterator[str]:
    """Yield a sentence for each published score that the rows of its runs do not give.

    `digest`: of the release; `runs`: those on this machine. A score without a run here is in `not_here`.
    """
    for score in scores:
        own = _runs_of(score, digest=digest, runs=runs)
        sound = [run for run in own if not results_problems(run)]
        if own and score not in map(baseline_score, sound):
            names = ", ".join(run.manifest.run_id for run in own)
            yield f"The published score of {score.assistant} with {score.model} does not follow from the rows of {names}."


def not_here(scores: Sequence[BaselineScore], *, digest: str, runs: Sequence[FinishedRun]) -> list[str]:
    """Return the published scores whose runs are not on this machine, so that nothing of them can be recomputed."""
    return [f"{one.assistant} with {one.model}" for one in scores if not _runs_of(one, digest=digest, runs=runs)]


def _runs_of(score: BaselineScore, *, digest: str, runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    found = list[FinishedRun]()
    for run in runs:
        own = baseline_score(run)
        same = (own.assistant, own.model, own.users) == (score.assistant, score.model, score.users)
        if same and run.manifest.dataset_digest == digest:
            found.append(run)
    return found
