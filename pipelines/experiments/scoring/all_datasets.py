"""Runs on several datasets in one table: memories that are told apart by their isolated scores, whatever the benchmark.

Four of MemGym's five tracks are such datasets: deep research, code questions, tool dialogues and coding sessions.
"""

from collections.abc import Sequence

from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.own import FIRED
from pipelines.evaluation.report.formatting import loss_mark
from pipelines.evaluation.report.numbers import format_estimate, format_number, headed_table
from pipelines.experiments.scoring.ranking import off_board, rank_runs

TITLE = "All datasets"
HEAD = ("dataset", "memory system", "S", "N", "O", "F", "P", "S - N", "fired")
NOTE = (
    "S: right with the memory. N: with nothing. O: with the needed facts. F: with everything. P: with chance texts (arms), "
    "where some are as short as what was recalled. Fired: the share of questions or episodes for which it gave any text."
)


def all_datasets_table(groups: Sequence[Sequence[FinishedRun]]) -> str:
    """Return a line for each run that has isolated scores, by dataset, the best memory first.

    `groups`: the runs of each dataset. Runs that are off their board are left out. Returns "" for fewer than two datasets.
    """
    rows = list[list[str]]()
    for runs in sorted(groups, key=lambda runs: runs[0].manifest.dataset):
        for run in rank_runs(runs):
            if run.run.results.isolated and not off_board(run.run):
                rows.append([run.run.manifest.dataset, run.label, *_cells(run.run)])
    if len({row[0] for row in rows}) < 2:
        return ""
    return f"{headed_table(HEAD, rows)}\n\n{NOTE}"


def _cells(run: FinishedRun) -> list[str]:
    results = run.results
    scores = results.isolated
    if scores is None:
        return []
    others = [format_number(share.value) for share in (scores.none, scores.facts, scores.everything)]
    placebo = next((format_number(arm.right.value) for arm in results.arms if arm.name == "placebo"), "-")
    memory, gain = map(format_estimate, (scores.memory, scores.gain))
    return [f"{memory}{loss_mark(results)}", *others, placebo, gain, f"{share_fired(run):.0%}"]


def share_fired(run: FinishedRun) -> float:
    """Return the share of questions, or of episodes, for which the memory gave any text."""
    fired = run.results.own_figure(FIRED)
    if fired is not None:
        return fired
    asked = [row for row in run.answers if row.kind == "question"]
    return sum(bool(row.memories) for row in asked) / len(asked) if asked else 0.0
