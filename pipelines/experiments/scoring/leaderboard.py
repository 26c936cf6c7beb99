"""Leaderboards on disk: pages over several runs, beside the runs' folders that they link to, and the check of such a page."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from assets.records.json_text import JsonError
from assets.records.paths import path_inside, read_file_name
from assets.reporting.plurals import counted
from assets.whole_files import whole_file
from dataset_card.release.digests import canonical_digest
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FRESH, PAGE, RESULTS, VERIFICATION, FinishedRun
from pipelines.evaluation.report.formatting import RED
from pipelines.evaluation.report.page import SECTIONS, Json, plain, render_blocks
from pipelines.evaluation.verifying.verdict import file_digests, page_data, problems_without_data, read_judged_run
from pipelines.experiments.scoring.board_tables import baseline_labels, board_columns, board_sections
from pipelines.experiments.scoring.compare import Comparison, compare_runs, comparison_sections
from pipelines.experiments.scoring.ranking import (
    MARK,
    NOT_VERIFIED,
    board_notes,
    off_board,
    rank_runs,
    ranking_metric,
    run_groups,
    unscored_share,
)

AGAIN = "make it again with amemgym leaderboard, or compare."
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
    for row in data["runs"]:
        row["files"] = file_digests(runs / row["run_id"])
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


def runs_of_board(page: Path, *, runs: Path) -> tuple[Json, list[FinishedRun]]:
    """Return what the page of a board shows, and its runs. Raises EvaluationError for a page of another kind.

    A row has the run's `files` as the board read them, and `files_now`.
    """
    try:
        shown = page_data(page)
        for row in shown["runs"]:
            row["files"] = dict(row.get("files", ()))
            row["files_now"] = file_digests(path_inside(runs, read_file_name(str(row["run_id"]))))
    except (AttributeError, JsonError, KeyError, TypeError, ValueError) as error:
        raise EvaluationError(f"{page} is no board; give a page that amemgym compare or leaderboard wrote.") from error
    return shown, [read_judged_run(row["run_id"], runs=runs) for row in shown["runs"]]


def board_news(shown: Json) -> Iterator[str]:
    """Yield a sentence for each run that has got files since the board was made, which then shows nothing of them."""
    for row in shown["runs"]:
        more = sorted(row["files_now"].keys() - row["files"].keys())
        if more:
            yield f"{row['run_id']} has got {', '.join(more)} since this board was made; {AGAIN}"


def board_problems(shown: Json, runs: Sequence[FinishedRun]) -> Iterator[str]:
    """Yield a sentence for each run whose results do not follow from its rows or that has changed, else for each part of the
    board that does not follow from its runs as they were.
    """
    as_read = list[FinishedRun]()
    changed = list[str]()
    for row, run in zip(shown["runs"], runs, strict=True):
        for problem in run.problems:
            yield f"{run.manifest.run_id}: {problem}"
        others = sorted(name for name, digest in row["files"].items() if row["files_now"].get(name) != digest)
        if others:
            changed.append(f"{run.manifest.run_id} has changed since this board was made ({', '.join(others)}); {AGAIN}")
        elif row["files"]:
            as_read.append(_as_read(run, row["files"]))
            if off_board(run) and not off_board(as_read[-1]) and not run.problems:
                yield off_board(run)
        else:
            changed.append(f"The board does not say which files of {run.manifest.run_id} it was made from; {AGAIN}")
    yield from changed or _parts_that_differ(shown, as_read)


def _as_read(run: FinishedRun, files: Mapping[str, str]) -> FinishedRun:
    """Return the run without what it has got since a board read these files of it."""
    fresh = run.fresh if FRESH in files else None
    run = replace(run, fresh=fresh, unverified=())
    return run if VERIFICATION in files else replace(run, problems=tuple(problems_without_data(run)))


def _parts_that_differ(shown: Json, runs: Sequence[FinishedRun]) -> Iterator[str]:
    """Yield a sentence for each part of a board that does not follow from these runs, of which nothing is left open."""
    pages = {row["run_id"]: row["page"] for row in shown["runs"]}  # no numbers
    computed: Json = json.loads(json.dumps(leaderboard_data(compare_runs(runs), pages=pages)))
    # A run may have been verified since the board was made.
    shown = {**shown, "notes": [note for note in shown.get("notes", ()) if not note.startswith(NOT_VERIFIED)]}
    for part in computed:
        if part != "runs" and shown.get(part) != computed[part]:
            yield f"{part} is not what follows from the runs."
    for row, own in zip(shown["runs"], computed["runs"], strict=True):
        row = {**row, "label": str(row["label"]).removesuffix(MARK)}
        for name in own:
            if row.get(name) != own[name]:
                yield f"{name} of {own['run_id']} is not what follows from the run."
