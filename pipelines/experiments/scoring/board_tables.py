"""The tables of several runs: the leaderboard, and what stands below it."""

from collections.abc import Sequence
from typing import get_args

from pipelines.evaluation.arms import arms_board
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import ASKING_BASELINES, BOARD
from pipelines.evaluation.metrics.operations import operations_board
from pipelines.evaluation.metrics.own import own_metrics_of
from pipelines.evaluation.report.contents import FRESH_TITLE, curve_rows, fresh_rows, isolated_rows, required_rows
from pipelines.evaluation.report.markdown import section_text
from pipelines.evaluation.report.numbers import format_estimate, format_number, headed_table, metric_label
from pipelines.evaluation.report.sections import Block, ReportSection, ReportTable
from pipelines.evaluation.spending import MemoryCall
from pipelines.experiments.scoring.ranking import (
    COSTS,
    COSTS_NOTE,
    board_notes,
    cost_cells,
    rank_runs,
    run_groups,
    score_cells,
    unscored_label,
)
from pipelines.experiments.scoring.repetitions import REPETITIONS_TITLE, repetitions, repetitions_table

SECONDS_TITLE = "Seconds of answers and of the memory's calls, p50 / p95 / p99"


def board_columns(run: FinishedRun) -> list[str]:
    """Return the metrics of a leaderboard that the run's benchmark has."""
    return [name for name in BOARD if name in run.results.metrics]


def leaderboard_table(runs: Sequence[FinishedRun]) -> str:
    """Return one line for each run, the best memory first, and below them what needs no memory or has a perfect one."""
    board = rank_runs(runs)
    best = board[0].run
    columns = board_columns(best)
    head = ["group", "memory system", "mode", *map(metric_label, columns), "gain over none", "unscored", "tokens/answer"]
    head += COSTS
    groups = run_groups(runs)
    rows = [[groups[ranked.run.manifest.run_id], ranked.label_with_mark, *_board_cells(ranked.run)] for ranked in board]
    for name, label in baseline_labels(best, board[0].label).items():
        cells = ["", label, "baseline", format_estimate(best.results.baselines[name])]
        rows.append(cells + [""] * (len(head) - len(cells)))
    return "\n\n".join([headed_table(head, rows), COSTS_NOTE, *board_notes([ranked.run for ranked in board])])


def leaderboard_section(runs: Sequence[FinishedRun]) -> str:
    """Return the leaderboard of these runs, and below it what `board_sections` has."""
    parts = [leaderboard_table(runs)]
    for section in board_sections(runs):
        parts += section_text(section)
    return "\n\n".join(parts)


def baseline_labels(run: FinishedRun, assistant: str) -> dict[str, str]:
    """Return the run's baselines for a leaderboard; those that ask the reasoner say in whose run."""
    labels: dict[str, str] = {}
    for name in run.results.baselines:
        labels[name] = metric_label(name) + (f" of {assistant}" if name in ASKING_BASELINES else "")
    return labels


def _board_cells(run: FinishedRun) -> list[str]:
    results = run.results
    return [
        run.manifest.policy,
        *score_cells(run, board_columns(run)),
        format_estimate(results.isolated.gain) if results.isolated else "-",
        unscored_label(run),
        format_number(results.costs["input_tokens_per_answer"].value, digits=0),
        *cost_cells(run),
    ]


def period_table(runs: Sequence[FinishedRun], name: str) -> str:
    """Return one of the series, a line for each run and a column for each period."""
    rows: list[list[str]] = []
    periods = 0
    for run in rank_runs(runs):
        series = run.run.results.periods[name]
        periods = max(periods, len(series))
        rows.append([run.label, *(format_number(score.value) for score in series)])
    return headed_table(["memory system", *map(str, range(periods))], rows)


def board_sections(runs: Sequence[FinishedRun]) -> list[ReportSection]:
    """Return what stands below a leaderboard: what is measured besides the scores, of runs that have it."""
    named = {run.label: run.run.results for run in rank_runs(runs)}
    sections: list[ReportSection] = []

    def add(key: str, title: str, *blocks: Block) -> None:
        sections.append(ReportSection(key, title, blocks))

    if any(results.isolated for results in named.values()):
        add("isolated", "Isolated scores", isolated_rows(named))
    fresh = {ranked.label: ranked.run.fresh for ranked in rank_runs(runs) if ranked.run.fresh}
    if fresh:
        add("fresh", FRESH_TITLE, fresh_rows(fresh))
    sections.append(operations_board({name: results.operations for name, results in named.items()}))
    own = own_metrics_of(runs[0].manifest.mode)
    if own is not None:
        sections += own.board_sections({name: results.own for name, results in named.items()})
    if any(results.arms for results in named.values()):
        sections.append(arms_board({name: results.arms for name, results in named.items()}))
    repeated = repetitions(runs)
    if repeated:
        add("repetitions", REPETITIONS_TITLE, repetitions_table(repeated))
    if any(run.latency.by_call for run in runs):
        add("seconds", SECONDS_TITLE, seconds_table(runs))
    if any(results.curve for results in named.values()):
        add("budget", "Overall against budget", curve_rows(named))
    if len({count for results in named.values() for count in results.by_required}) > 1:
        add("required", "Overall by number of needed values", required_rows(named))
    return sections


def seconds_table(runs: Sequence[FinishedRun]) -> ReportTable:
    """Return the quantiles of seconds by what was called, a line for each run."""
    calls = ("answer", *get_args(MemoryCall))
    rows: list[list[str]] = []
    for run in rank_runs(runs):
        measured = run.run.latency.by_call
        row = [run.label]
        for call in calls:
            seconds = measured.get(call)
            row.append(seconds.quantiles if seconds else "-")
        rows.append(row)
    return ReportTable(["memory system", *calls], rows)
