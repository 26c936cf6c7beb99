"""How reliably a memory lets the same task pass: runs of one plan that differ in their attempt alone (`evaluate --again`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from assets.records.estimate import Estimate
from assets.reporting.intervals import Tallies, quotient
from dataset_card.release.digests import canonical_digest
from pipelines.evaluation.arms import Question
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.report.numbers import format_estimate
from pipelines.evaluation.report.sections import ReportTable

REPETITIONS_TITLE = "Passed in every one of k attempts"


@dataclass(frozen=True)
class Repetitions:
    """pass^k of one plan, from k = 1 to its number of attempts: the chance that k attempts at a task all pass."""

    memory: str
    passed_all: Sequence[Estimate]


def repetitions(runs: Sequence[FinishedRun]) -> list[Repetitions]:
    """Return pass^k for each plan with two attempts or more among the runs, in the order of the runs."""
    plans: dict[str, list[FinishedRun]] = {}
    for run in runs:
        plan = run.manifest.model_dump(mode="json", exclude={"run_id", "attempt"})
        plans.setdefault(canonical_digest(plan), []).append(run)
    return [_repetitions(attempts) for attempts in plans.values() if len(attempts) > 1]


def _repetitions(attempts: Sequence[FinishedRun]) -> Repetitions:
    """Return unbiased estimates: of n attempts with c passes, the share of all k of them in which every one passes."""
    passes: dict[Question, int] = {}
    for run in attempts:
        for row in run.answers:
            if row.kind == "question":
                passes[row.question_key] = passes.get(row.question_key, 0) + (row.status == "right")
    users = attempts[0].manifest.users
    count = len(attempts)
    passed_all: list[Estimate] = []
    for k in range(1, count + 1):
        by_user = {user: {"asked": 0.0, "passed": 0.0} for user in users}
        for (user, *_), right in passes.items():
            by_user[user]["asked"] += 1
            by_user[user]["passed"] += comb(right, k) / comb(count, k)
        passed_all.append(Tallies.of(by_user, names=("passed", "asked")).estimate(quotient("passed", "asked")))
    return Repetitions(attempts[0].manifest.memory.name, passed_all)


def repetitions_table(found: Sequence[Repetitions]) -> ReportTable:
    """Return a line for each plan."""
    most = max(len(repeated.passed_all) for repeated in found)
    rows = list[list[str]]()
    for repeated in found:
        cells = list(map(format_estimate, repeated.passed_all))
        rows.append([repeated.memory, *cells, *["-"] * (most - len(cells))])
    return ReportTable(["memory system", *(f"k = {k}" for k in range(1, most + 1))], rows)
