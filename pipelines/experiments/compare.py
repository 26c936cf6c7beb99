"""Runs side by side over the same users: paired differences, and on- against off-policy with ranks (Table 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from assets.reporting.intervals import Tallies
from assets.reporting.plurals import counted
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import MEMORY_COUNTS, METRICS
from pipelines.evaluation.metrics.results import tally_users
from pipelines.evaluation.report.formatting import format_estimate, format_number, metric_label, table
from pipelines.experiments.on_off_policy import PolicyRow, policy_rows
from pipelines.experiments.paired import Paired, paired
from pipelines.experiments.ranking import best_first, board_sections, leaderboard, run_labels

COMPARED = ("overall", "memory", "write_failure", "read_failure", "utilization_failure")


@dataclass(frozen=True)
class PairedRuns:
    """Two runs and the second's differences from the first."""

    title: str
    differences: tuple[Paired, ...]


@dataclass(frozen=True)
class Comparison:
    """Runs, the users that all of them have, and how the runs differ."""

    runs: tuple[FinishedRun, ...]
    users: tuple[str, ...]
    pairs: tuple[PairedRuns, ...]
    policies: tuple[PolicyRow, ...]


def compare(runs: Sequence[FinishedRun]) -> Comparison:
    """Compare the runs. Raises EvaluationError for runs that share no dataset or no users."""
    users, names = common_users(runs), run_labels(runs)
    tallies = {run.manifest.run_id: counts_of(run, users=users) for run in runs}
    board = [run.manifest for run in best_first(runs)]
    metrics = {name: METRICS[name] for name in COMPARED if name in runs[0].results.metrics}
    # The worse run first, so that most differences are gains.
    pairs = [
        PairedRuns(
            f"{names[better.run_id]} minus {names[worse.run_id]}",
            paired(metrics, (tallies[worse.run_id], tallies[better.run_id]), seed=worse.seed),
        )
        for better, worse in combinations(board, 2)
    ]
    return Comparison(tuple(runs), users, tuple(pairs), tuple(policy_rows(runs, tallies=tallies)))


def common_users(runs: Sequence[FinishedRun]) -> tuple[str, ...]:
    """The users of the first run that all others have too."""
    if len({run.manifest.dataset_digest for run in runs}) > 1:
        names = ", ".join(f"{run.manifest.run_id} on {run.manifest.dataset}" for run in runs)
        raise EvaluationError(f"These runs are of different datasets and cannot be compared: {names}.")
    users = tuple(user for user in runs[0].manifest.users if all(user in run.manifest.users for run in runs))
    if not users:
        noun = runs[0].manifest.noun
        raise EvaluationError(f"These runs have no {noun} in common; evaluate them on the same {noun}s.")
    return users


def counts_of(run: FinishedRun, *, users: Sequence[str]) -> Tallies:
    """What the compared metrics need of these users."""
    tallies = tally_users(run.answers, users=users)
    return Tallies(tallies.users, {name: tallies.counts[name] for name in MEMORY_COUNTS})


def comparison_report(comparison: Comparison) -> str:
    """Leaderboard, paired differences and the two modes as Markdown."""
    noun = comparison.runs[0].manifest.noun
    parts = [
        f"# {counted(len(comparison.runs), 'run')} on {comparison.runs[0].manifest.dataset}",
        leaderboard(comparison.runs),
        *(f"## {title}\n\n{content}" for title, content in board_sections(comparison.runs).items()),
        f"## Differences over the same {counted(len(comparison.users), noun)}",
        f"The p value comes from swapping whole {noun}s between two runs; for several comparisons mind their number. "
        f"Detectable is the smallest true difference that these {noun}s would show four times out of five.",
        *(_pair_section(pair, users=len(comparison.users)) for pair in comparison.pairs),
        *_policies(comparison.policies),
    ]
    return "\n\n".join(parts) + "\n"


def _pair_section(pair: PairedRuns, *, users: int) -> str:
    rows = [
        [
            metric_label(row.metric),
            format_estimate(row.difference, users=users),
            format_number(row.p_value),
            row.detectable_label,
        ]
        for row in pair.differences
    ]
    return f"### {pair.title}\n\n{table(['metric', 'difference', 'p', 'detectable'], rows)}"


def _policies(rows: Sequence[PolicyRow]) -> list[str]:
    if not rows:
        return []
    head = ["assistant", "on-policy", "off-policy", "off minus on", "ranks gained off-policy"]
    lines = [
        [
            row.name,
            format_estimate(row.on),
            format_estimate(row.off),
            format_estimate(row.difference),
            format_estimate(row.ranks_gained, digits=0),
        ]
        for row in rows
    ]
    return ["## Memory on- and off-policy", table(head, lines)]
