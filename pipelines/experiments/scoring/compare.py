"""Runs side by side over the same users, and their paired differences; on- against off-policy (section 4.2) among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from assets.records.estimate import Estimate
from assets.reporting.plurals import counted
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import METRICS
from pipelines.evaluation.metrics.own import own_metrics_of
from pipelines.evaluation.records import FAILURES
from pipelines.evaluation.report.markdown import section_text
from pipelines.evaluation.report.numbers import format_number, metric_label
from pipelines.evaluation.report.sections import ReportSection, ReportTable
from pipelines.experiments.scoring.board_tables import leaderboard_section
from pipelines.experiments.scoring.paired import Paired, compare_paired, correct_for_number, counts_of
from pipelines.experiments.scoring.ranking import rank_runs

COMPARED = ("overall", "memory", *FAILURES)  # few, as each is a test more


@dataclass(frozen=True)
class PairedRuns:
    """Two runs and the second's differences from the first."""

    title: str
    differences: Sequence[Paired]


@dataclass(frozen=True)
class Comparison:
    """Runs, the users that all of them have, and how the runs differ."""

    runs: tuple[FinishedRun, ...]
    users: tuple[str, ...]
    pairs: tuple[PairedRuns, ...]


def compare_runs(runs: Sequence[FinishedRun]) -> Comparison:
    """Compare the runs. Raises EvaluationError for runs that share no dataset or no users."""
    users = common_users(runs)
    tallies = {run.manifest.run_id: counts_of(run, users=users) for run in runs}
    own = own_metrics_of(runs[0].manifest.mode)
    own_metrics = own.metrics_for(tallies[runs[0].manifest.run_id].counts) if own else {}
    titles: list[str] = []
    found: list[tuple[Paired, ...]] = []
    for better, worse in combinations(rank_runs(runs), 2):
        # The worse run first, so that most differences are gains.
        both = (tallies[worse.run.manifest.run_id], tallies[better.run.manifest.run_id])
        metrics = {name: METRICS[name] for name in COMPARED if _has(better.run, name) and _has(worse.run, name)}
        found.append(compare_paired(metrics | own_metrics, both))
        titles.append(f"{better.label} minus {worse.label}")
    pairs = map(PairedRuns, titles, correct_for_number(found))
    return Comparison(tuple(runs), users, tuple(pairs))


def _has(run: FinishedRun, metric: str) -> bool:
    """Return False for what is unknown of the run: its failures where no state was probed, its misread where it rewrites."""
    estimate = run.results.metrics.get(metric)
    return estimate is not None and estimate.value is not None


def common_users(runs: Sequence[FinishedRun]) -> tuple[str, ...]:
    """Return the users of the first run that all others have too. Raises EvaluationError where there are none."""
    users = list(runs[0].manifest.users)
    for run in runs:
        if run.manifest.dataset_digest != runs[0].manifest.dataset_digest:
            names = ", ".join(f"{other.manifest.run_id} on {other.manifest.dataset}" for other in runs)
            raise EvaluationError(f"These runs are of different datasets and cannot be compared: {names}.")
        users = [user for user in users if user in run.manifest.users]
    if not users:
        noun = runs[0].manifest.noun
        raise EvaluationError(f"These runs have no {noun} in common; evaluate them on the same {noun}s.")
    return tuple(users)


def comparison_report(comparison: Comparison) -> str:
    """Return leaderboard, paired differences and the two modes as Markdown."""
    runs = comparison.runs
    parts = [f"# {counted(len(runs), 'run')} on {runs[0].manifest.dataset}", leaderboard_section(runs)]
    for section in comparison_sections(comparison):
        parts += section_text(section)
    return "\n\n".join(parts) + "\n"


def comparison_sections(comparison: Comparison) -> list[ReportSection]:
    """Return what only several runs have: assistants that were run both ways, and differences of pairs."""
    sections: list[ReportSection] = []
    if comparison.pairs:
        noun = comparison.runs[0].manifest.noun
        note = f"The p value is by Student's t over {noun}s, and holds for all pairs of runs together (Holm)."
        title = f"Differences over the same {counted(len(comparison.users), noun)}"
        sections.append(ReportSection("differences", title, [note, _difference_table(comparison.pairs)]))
    return sections


def _difference_table(pairs: Sequence[PairedRuns]) -> ReportTable:
    rows: list[Sequence[str | Estimate]] = []
    for pair in pairs:
        for difference in pair.differences:
            name = metric_label(difference.metric)
            rows.append([pair.title, name, difference.difference, format_number(difference.p_value)])
    return ReportTable(["runs", "metric", "difference", "p"], rows)
