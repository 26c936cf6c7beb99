"""Runs side by side over the same users: paired differences, and on- against off-policy (section 4.2, Table 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import CONFIDENCE, GAIN, UNIT, Array, Sample, Tallies
from assets.reporting.plurals import counted
from dataset_card.release.digests import canonical_digest
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.facts import kind_metrics, kind_tallies
from pipelines.evaluation.metrics.metrics import MEMORY_COUNTS, METRICS, memory_score
from pipelines.evaluation.metrics.results import tally_users
from pipelines.evaluation.records import Mode
from pipelines.evaluation.report.contents import ReportSection, ReportTable
from pipelines.evaluation.report.formatting import format_estimate, format_number, metric_label
from pipelines.evaluation.report.markdown import section_text
from pipelines.experiments.scoring.paired import Paired, difference_of, merged, metric_of_part, paired
from pipelines.experiments.scoring.ranking import leaderboard_section, ranked, run_labels

Pairs = Sequence[tuple[FinishedRun, FinishedRun]]


class PolicyRow(Record):
    """One assistant that was run both ways: its memory in each, the difference off minus on, and the ranks it gains off-policy.

    Ranks are among the assistants that were run both ways, off-policy with the same dialogues. All is over the users that
    the compared runs have in common.
    """

    name: str
    on: Estimate
    off: Estimate
    difference: Estimate
    ranks_gained: Estimate


def policy_rows(runs: Sequence[FinishedRun], *, tallies: Mapping[str, Tallies]) -> list[PolicyRow]:
    """Return the assistants that were run both ways, by the dialogues that were replayed, the best on-policy first.

    `tallies`: counts by run id, of the same users in all runs; intervals are over them.
    """
    on = _by_setup(runs, mode="on-policy")
    replays: dict[str, list[FinishedRun]] = {}
    for run in runs:
        if run.manifest.mode == "off-policy":
            replays.setdefault(run.manifest.replayed_run, []).append(run)
    rows: list[PolicyRow] = []
    for source, of_source in replays.items():
        off = _by_setup(of_source, mode="off-policy")
        pairs = [(run, off[setup]) for setup, run in on.items() if setup in off]
        if pairs:
            rows += _rows(pairs, tallies, dialogues=f", dialogues of {source}" if len(replays) > 1 else "")
    return rows


def _by_setup(runs: Sequence[FinishedRun], *, mode: Mode) -> dict[tuple[object, ...], FinishedRun]:
    """Return runs by what has to be the same on both sides; of several alike the one with most users."""
    by_setup: dict[tuple[object, ...], FinishedRun] = {}
    for run in sorted(runs, key=lambda run: (-len(run.manifest.users), run.manifest.run_id)):
        manifest = run.manifest
        if manifest.mode == mode:
            memory = canonical_digest(
                [manifest.memory.model_dump(), manifest.memory_source, manifest.models, manifest.extra_body]
            )
            budgets = (manifest.tokens, manifest.reply_tokens)
            setup = (memory, manifest.attempt, manifest.seed, budgets, manifest.wording)
            by_setup.setdefault(setup, run)
    return by_setup


def _rows(pairs: Pairs, tallies: Mapping[str, Tallies], *, dialogues: str) -> list[PolicyRow]:
    labels = run_labels([on for on, _ in pairs])
    seed = pairs[0][0].manifest.seed
    named: dict[str, Sample] = {}
    for on, off in pairs:
        both = merged({"a": tallies[on.manifest.run_id], "b": tallies[off.manifest.run_id]})
        named[f"{labels[on.manifest.run_id]}{dialogues}"] = Sample.of(both, seed=seed)
    best = sorted(named, key=lambda name: -(named[name].estimate(metric_of_part("a", memory_score)).value or 0.0))
    samples = [named[name] for name in best]
    gained = _ranks("a", samples) - _ranks("b", samples)
    return list(map(_row, best, samples, gained))


def _row(name: str, sample: Sample, gained: Array) -> PolicyRow:
    low, high = np.quantile(gained[1:], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    several = sample.users > 1
    return PolicyRow(
        name=name,
        on=sample.estimate(metric_of_part("a", memory_score), within=UNIT),
        off=sample.estimate(metric_of_part("b", memory_score), within=UNIT),
        difference=sample.estimate(difference_of(memory_score), within=GAIN),
        ranks_gained=Estimate(value=gained[0], low=low if several else None, high=high if several else None),
    )


def _ranks(side: str, samples: Sequence[Sample]) -> Array:
    """Return ranks from 1, shape (samples, 1 + resamples): over all users first, then over each resample of them."""
    metric = metric_of_part(side, memory_score)
    scores = np.array([[float(metric(sample.total)), *metric(sample.drawn)] for sample in samples])
    order = (-np.nan_to_num(scores)).argsort(axis=0, kind="stable")
    return 1 + order.argsort(axis=0).astype(np.float64)


COMPARED = ("overall", "memory", "write_failure", "read_failure", "utilization_failure")  # few, as each is a test more


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


def compare_runs(runs: Sequence[FinishedRun]) -> Comparison:
    """Compare the runs. Raises EvaluationError for runs that share no dataset or no users."""
    users = common_users(runs)
    tallies = {run.manifest.run_id: counts_of(run, users=users) for run in runs}
    metrics = {name: METRICS[name] for name in COMPARED if name in runs[0].results.metrics}
    metrics |= kind_metrics(tallies[runs[0].manifest.run_id])
    pairs: list[PairedRuns] = []
    for better, worse in combinations(ranked(runs), 2):
        # The worse run first, so that most differences are gains.
        both = (tallies[worse.run.manifest.run_id], tallies[better.run.manifest.run_id])
        differences = paired(metrics, both, seed=worse.run.manifest.seed)
        pairs.append(PairedRuns(f"{better.label} minus {worse.label}", differences))
    return Comparison(tuple(runs), users, tuple(pairs), tuple(policy_rows(runs, tallies=tallies)))


def common_users(runs: Sequence[FinishedRun]) -> tuple[str, ...]:
    """Return the users of the first run that all others have too. Raises EvaluationError where there are none."""
    users = list(runs[0].manifest.users)
    for run in runs:
        if run.manifest.dataset_digest != runs[0].manifest.dataset_digest:
            names = ", ".join(f"{one.manifest.run_id} on {one.manifest.dataset}" for one in runs)
            raise EvaluationError(f"These runs are of different datasets and cannot be compared: {names}.")
        users = [user for user in users if user in run.manifest.users]
    if not users:
        noun = runs[0].manifest.noun
        raise EvaluationError(f"These runs have no {noun} in common; evaluate them on the same {noun}s.")
    return tuple(users)


def counts_of(run: FinishedRun, *, users: Sequence[str]) -> Tallies:
    """Return what the compared metrics need of these users."""
    tallies = tally_users(run.answers, users=users)
    counts = {name: tallies.counts[name] for name in MEMORY_COUNTS}
    return Tallies(tallies.users, counts | kind_tallies(run.answers, users=users).counts)


def comparison_report(comparison: Comparison) -> str:
    """Return leaderboard, paired differences and the two modes as Markdown."""
    runs = comparison.runs
    parts = [f"# {counted(len(runs), 'run')} on {runs[0].manifest.dataset}", leaderboard_section(runs)]
    for section in comparison_sections(comparison):
        parts += section_text(section, users=len(comparison.users))
    return "\n\n".join(parts) + "\n"


def comparison_sections(comparison: Comparison) -> list[ReportSection]:
    """Return what only several runs have: assistants that were run both ways, and differences of pairs."""
    sections: list[ReportSection] = []
    if comparison.policies:
        sections.append(ReportSection("policies", "Memory on- and off-policy", [_policy_table(comparison.policies)]))
    if comparison.pairs:
        noun = comparison.runs[0].manifest.noun
        note = (
            f"The p value comes from swapping whole {noun}s between two runs; for several comparisons mind their number. "
            f"Detectable is the smallest true difference that these {noun}s would show four times out of five."
        )
        title = f"Differences over the same {counted(len(comparison.users), noun)}"
        sections.append(ReportSection("differences", title, [note, _difference_table(comparison.pairs)]))
    return sections


def _difference_table(pairs: Sequence[PairedRuns]) -> ReportTable:
    rows: list[Sequence[str | Estimate]] = []
    for pair in pairs:
        for one in pair.differences:
            p_value = format_number(one.p_value)
            rows.append([pair.title, metric_label(one.metric), one.difference, p_value, one.detectable_label])
    return ReportTable(["runs", "metric", "difference", "p", "detectable"], rows)


def _policy_table(policies: Sequence[PolicyRow]) -> ReportTable:
    rows: list[Sequence[str | Estimate]] = []
    for one in policies:
        rows.append([one.name, one.on, one.off, one.difference, format_estimate(one.ranks_gained, digits=0)])
    return ReportTable(["assistant", "on-policy", "off-policy", "off minus on", "ranks gained off-policy"], rows)
