"""Runs on several datasets in one table: memories that are told apart by their isolated scores, whatever the benchmark.

MemGym's five tracks are five such datasets: deep research, code questions, tool dialogues, repairs and tasks in a browser.
"""

from collections.abc import Sequence

from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.report.formatting import format_estimate, format_number, headed_table
from pipelines.experiments.scoring.ranking import off_board, ranked

TITLE = "All datasets"
HEAD = ("dataset", "memory system", "S", "N", "O", "F", "P", "S - N", "fired")
NOTE = (
    "S: right with the memory. N: with nothing. O: with the needed facts. F: with everything. P: with chance texts (`--arms`), "
    "where some are as short as what was recalled. Fired: the share of questions or episodes for which it gave any text."
)


def all_datasets_table(groups: Sequence[Sequence[FinishedRun]]) -> str:
    """Return a line for each run that has isolated scores, by dataset, the best memory first.

    `groups`: the runs of each dataset. Runs that are off their board are left out. Returns "" for fewer than two datasets.
    """
    rows = list[list[str]]()
    for runs in sorted(groups, key=lambda runs: runs[0].manifest.dataset):
        for one in ranked(runs):
            if one.run.results.isolated and not off_board(one.run):
                rows.append([one.run.manifest.dataset, one.label, *_cells(one.run)])
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
    memory, gain = (format_estimate(share, users=results.users) for share in (scores.memory, scores.gain))
    return [memory, *others, placebo, gain, f"{share_fired(run):.0%}"]


def share_fired(run: FinishedRun) -> float:
    """Return the share of questions, or of episodes, for which the memory gave any text."""
    for figures in run.results.episodes:
        if figures.kind == "question" and figures.fired is not None:
            return figures.fired
    asked = [row for row in run.answers if row.kind == "question"]
    return sum(bool(row.memories) for row in asked) / len(asked) if asked else 0.0
