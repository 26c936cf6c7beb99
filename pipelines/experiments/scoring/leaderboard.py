"""Leaderboards on disk: pages over several runs, beside the runs' folders that they link to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from assets.records.estimate import FEWEST_ITEMS, ROUGH, Estimate
from assets.reporting.plurals import counted
from assets.whole_files import whole_file
from dataset_card.hub.layout import BaselineScore
from dataset_card.release.digests import canonical_digest
from dataset_card.release.writers import write_durably
from pipelines.embedded.bank import MODEL_FAMILY
from pipelines.errors import EvaluationError
from pipelines.evaluation.arms import MEANINGS as ARMS
from pipelines.evaluation.folder import PAGE, RESULTS, FinishedRun, read_run
from pipelines.evaluation.metrics.operations import MEANINGS as OPERATIONS
from pipelines.evaluation.report.contents import FACTS_NOTE, ReportTable
from pipelines.evaluation.report.formatting import RED, metric_label
from pipelines.evaluation.report.page import Json, plain, render_blocks
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.verification import problems_seen_without_data
from pipelines.experiments.scoring.compare import Comparison
from pipelines.experiments.scoring.question_worth import (
    NEGATIVE_TITLE,
    SHOWN,
    WORTH_TITLE,
    negative_table,
    subset_table,
    worth_csv,
    worth_notes,
    worth_of_questions,
)
from pipelines.experiments.scoring.ranking import (
    ARMS_TITLE,
    FACTS_TITLE,
    FORGOTTEN_TITLE,
    OPERATIONS_TITLE,
    arms_table,
    baseline_labels,
    board_columns,
    board_notes,
    durability_table,
    facts_by_kind,
    operations_table,
    ranked,
    ranking_metric,
    unscored_share,
)

QUESTIONS = "questions.csv"  # behind the name of the board
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
    worth = worth_of_questions(comparison.runs)
    if worth:
        write_durably(path.with_name(f"{path.stem}-{QUESTIONS}"), worth_csv(worth).encode())
    return path


def runs_by_dataset(folder: Path, *, dataset: str = "") -> tuple[list[list[FinishedRun]], list[str]]:
    """Return all finished runs, by dataset, and the names of those that cannot be read; `dataset`: how its name begins."""
    boards: dict[str, list[FinishedRun]] = {}
    unread = list[str]()
    for path in sorted(folder.glob(f"*/{RESULTS}")):
        try:
            run = read_run(str(path.parent), runs=folder)
        except EvaluationError:
            unread.append(path.parent.name)
            continue
        if run.manifest.dataset.startswith(dataset):
            run = replace(run, problems=problems_seen_without_data(run, path.parent))
            boards.setdefault(run.manifest.dataset_digest, []).append(run)
    return list(boards.values()), unread


def publishable_scores(names: Sequence[str], *, data: DatasetInfo, folder: Path) -> tuple[BaselineScore, ...]:
    """Return what these runs reached on the release that is to be published, as its card says it.

    `folder`: that of all runs. Raises EvaluationError for a run whose score says nothing about the whole release.
    """
    scores: list[BaselineScore] = []
    for name in dict.fromkeys(names):
        run = read_run(name, runs=folder)
        reason = _unpublishable(run, data)
        if reason:
            raise EvaluationError(f"The score of {run.manifest.run_id} cannot be published: {reason}. Nothing was sent.")
        scores.append(baseline_score(run))
    return tuple(scores)


def baseline_score(run: FinishedRun) -> BaselineScore:
    """Return the run's score as a card says it."""
    metrics = run.results.metrics
    return BaselineScore(
        assistant=run.manifest.memory.name,
        model=run.manifest.models["assistant"],
        users=len(run.manifest.users),
        accuracy=metrics["overall"],
        memory=metrics.get("memory", Estimate(value=None, low=None, high=None)),
    )


def _unpublishable(run: FinishedRun, data: DatasetInfo) -> str:
    """Return the reason why a run's score may not stand on the release's card; "" where it may."""
    manifest = run.manifest
    if manifest.dataset_digest != data.digest:
        return f"it is of {manifest.dataset} with another digest ({manifest.dataset_digest[:8]}, not {data.digest[:8]})"
    if len(manifest.users) < len(data.users):
        return f"it is over {len(manifest.users)} of {counted(len(data.users), data.noun)}; evaluate without --users"
    if run.results.errors:
        return f"it could not finish {counted(len(run.results.errors), data.noun)}; give the same evaluate command again"
    if manifest.mode == "off-policy":
        return "it replays the dialogues of another run; evaluate without --replay"
    for role, model in manifest.models.items():
        if model.startswith(MODEL_FAMILY):
            return f"the embedded model plays its {role}, which tests the plumbing only; evaluate with a real model"
    return ""


def leaderboard_data(comparison: Comparison, *, pages: Mapping[str, str]) -> Json:
    """Return several runs' scores, and their differences; `pages` are the addresses of their own pages, by run id."""
    board = ranked(comparison.runs)
    runs = [one.run for one in board]
    first = runs[0]
    users = len(comparison.users)
    rows: list[Json] = []
    for one in board:
        rows.append({"label": one.label, "page": pages.get(one.run.manifest.run_id), "rank": one.rank, **_board_run(one.run)})
    baselines: list[Json] = []
    for name, label in baseline_labels(first, board[0].label).items():
        baselines.append({"name": name, "label": label, "estimate": plain(first.results.baselines[name])})
    pairs: list[Json] = []
    for pair in comparison.pairs:
        differences = [{**plain(row), "detectable": row.detectable_label} for row in pair.differences]
        pairs.append({"title": pair.title, "differences": differences})
    return {
        "title": f"{counted(len(runs), 'run')} on {first.manifest.dataset}",
        "subtitle": f"Digest {first.manifest.dataset_digest[:8]}; {counted(users, first.manifest.noun)} in common.",
        "facts": [],
        "notes": board_notes(runs),
        "red": RED,
        "mark": ROUGH if users < FEWEST_ITEMS else "",
        "metric": ranking_metric(runs),
        "columns": [name for name in board_columns(first) if name not in ("overall", "memory")],
        "runs": rows,
        "baselines": baselines,
        "users": users,
        "noun": first.manifest.noun,
        "pairs": pairs,
        "policies": list(map(plain, comparison.policies)),
        "tables": _tables(runs),
    }


def _tables(runs: Sequence[FinishedRun]) -> list[Json]:
    """Return what the page shows as plain tables."""
    tables = list[Json]()
    if any(run.results.operations for run in runs):
        notes = [f"{metric_label(name).capitalize()}: {meaning}." for name, meaning in OPERATIONS.items()]
        tables.append(_table("operations", OPERATIONS_TITLE, operations_table(runs), notes=notes))
    if any(run.results.facts for run in runs):
        tables.append(_table("kinds", FACTS_TITLE, facts_by_kind(runs), notes=[FACTS_NOTE]))
        notes = ["The share of questions for which a recalled text held the deleted value, and of those that it answered."]
        tables.append(_table("forgotten", FORGOTTEN_TITLE, durability_table(runs), notes=notes))
    if any(run.results.arms for run in runs):
        notes = [f"{name.capitalize()}: {meaning}." for name, meaning in ARMS.items()]
        notes.append("Harm: the share of questions that are right with nothing, and wrong with the memory.")
        tables.append(_table("arms", ARMS_TITLE, arms_table(runs), notes=notes))
    worth = worth_of_questions(runs)
    if worth:
        tables.append(_table("worth", WORTH_TITLE, subset_table(worth), notes=worth_notes(worth)))
        if worth.negative:
            notes = [f"The {SHOWN} lowest at most; {QUESTIONS} beside this page has every question."]
            tables.append(_table("negative", NEGATIVE_TITLE, negative_table(worth), notes=notes))
    return tables


def _table(key: str, title: str, table: ReportTable, *, notes: Sequence[str]) -> Json:
    return {"key": key, "title": title, "notes": [" ".join(notes)], "head": table.head, "rows": table.rows}


def _board_run(run: FinishedRun) -> Json:
    results = run.results
    return {
        **plain(results),
        "mode": run.manifest.mode,
        "kind": run.manifest.memory.kind,
        "tokens": results.costs["input_tokens_per_answer"].value,
        "seconds": plain(run.latency.mean),
        "calls": {name: seconds.quantiles for name, seconds in run.latency.by_call.items()},
        "unscored": unscored_share(run),
    }
