"""How reliably a memory lets the same task pass: runs of one plan that differ in their attempt alone (`evaluate --again`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from assets.records.estimate import Estimate
from assets.reporting.intervals import UNIT, Sample, Tallies, share
from dataset_card.release.digests import canonical_digest
from pipelines.evaluation.arms import Question
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.contents import ReportTable
from pipelines.evaluation.report.formatting import format_estimate

REPETITIONS_TITLE = "Passed in every one of k attempts"


@dataclass(frozen=True)
class Repetitions:
    """pass^k of one plan, from k = 1 to its number of attempts: the chance that k attempts at a task all pass."""

    memory: str
    users: int
    passed_all: Sequence[Estimate]


def repetitions(runs: Sequence[FinishedRun]) -> list[Repetitions]:
    """Return pass^k for each plan with two attempts or more among the runs, in the order of the runs."""
    plans: dict[str, list[FinishedRun]] = {}
    for run in runs:
        plans.setdefault(_plan_of(run.manifest), []).append(run)
    return [_repetitions(attempts) for attempts in plans.values() if len(attempts) > 1]


def _plan_of(manifest: RunManifest) -> str:
    return canonical_digest(manifest.model_dump(mode="json", exclude={"run_id", "attempt"}))


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
        sample = Sample.of(Tallies.of(by_user, names=("passed", "asked")), seed=attempts[0].manifest.seed)
        passed_all.append(sample.estimate(share("passed", "asked"), within=UNIT))
    return Repetitions(attempts[0].manifest.memory.name, len(users), passed_all)


def repetitions_table(found: Sequence[Repetitions]) -> ReportTable:
    """Return a line for each plan."""
    most = max(len(one.passed_all) for one in found)
    rows = list[list[str]]()
    for one in found:
        cells = [format_estimate(estimate, users=one.users) for estimate in one.passed_all]
        rows.append([one.memory, *cells, *["-"] * (most - len(cells))])
    return ReportTable(["memory system", *(f"k = {k}" for k in range(1, most + 1))], rows)
