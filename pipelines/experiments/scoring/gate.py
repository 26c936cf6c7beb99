"""Hold a changed memory to what it scored before: a paired test over users, and two controls that have to come out right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import numpy as np
from pydantic import Field, ValidationError

from assets.records.base import Record
from assets.records.json_text import JsonError, parse_json
from assets.reporting.intervals import Tallies, share
from assets.reporting.plurals import counted
from dataset_card.release.digests import canonical_digest
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import AskKind, RunManifest
from pipelines.evaluation.report.formatting import format_estimate, format_number, headed_table
from pipelines.experiments.scoring.paired import Paired, paired

SCORE = share("right", "asked")
FEWEST_USERS = 6  # all swaps of five users are 32, and no loss among so few is rarer than 2 of them
RARE = 0.05  # a p value that shows a loss
SIMULATED_LOSSES = 200
CONDITIONS: tuple[AskKind, ...] = ("no_memory", "facts")


class ScoredUser(Record):
    """One user, or one task over documents: questions asked and answered rightly."""

    user_id: str
    asked: int = Field(ge=1)
    right: int = Field(ge=0)


class Baseline(Record):
    """`baseline.json`: what a memory got right on a release. It is kept beside the memory's code.

    `settings`: what has to be equal in both runs, by name.
    """

    format: Literal[1] = 1
    memory: str
    noun: str
    settings: dict[str, str]
    users: tuple[ScoredUser, ...] = Field(min_length=1)


class GateCheck(Record):
    """A score beside the baseline's over the same users. `should_pass`: what has to come of it; `passed`: what came."""

    name: str
    score: float
    difference: Paired
    should_pass: bool
    passed: bool

    @property
    def as_expected(self) -> bool:
        return self.passed == self.should_pass


@dataclass(frozen=True)
class GateResult:
    """The memory's own check, and the two controls: the needed facts in its place, and nothing."""

    memory: GateCheck
    controls: tuple[GateCheck, ...]

    @property
    def checks(self) -> tuple[GateCheck, ...]:
        return (self.memory, *self.controls)

    @property
    def problem(self) -> str:
        """Return one sentence on why the gate is not passed; "" where it is."""
        for control in self.controls:
            if not control.as_expected:
                came = "passes" if control.passed else "fails"
                return (
                    f"The gate itself is broken: {control.name} {came} with {control.score:.3f}, so nothing follows for the "
                    "memory. Take a release on which the baseline lies between no memory and the needed facts."
                )
        if not self.memory.passed:
            lost = -(self.memory.difference.difference.value or 0.0)
            return f"The memory lost {lost:.3f} against its baseline (p {format_number(self.memory.difference.p_value)})."
        return ""


def comparable_settings(manifest: RunManifest) -> dict[str, str]:
    """Return what two runs must have in common so that only the memory differs."""
    settings = {
        "dataset": manifest.dataset,
        "dataset digest": manifest.dataset_digest,
        "mode": manifest.mode,
        "tokens": str(manifest.tokens),
        "reply tokens": str(manifest.reply_tokens),
        "seed": str(manifest.seed),
        "wording": manifest.wording,
        "recall query": manifest.recall_query,
        "prompts": canonical_digest(manifest.prompts)[:16],
    }
    for role in manifest.models:
        settings[f"model of {role}"] = manifest.shared().model_of(role)
    return settings


def baseline_of(run: FinishedRun) -> Baseline:
    """Return the run's score as a baseline. Raises EvaluationError for too few users."""
    refuse_few_users(run.manifest)
    users = _scored(run, kind="question")
    return Baseline(
        memory=run.manifest.memory.name, noun=run.manifest.noun, settings=comparable_settings(run.manifest), users=users
    )


def refuse_few_users(manifest: RunManifest) -> None:
    """Raise EvaluationError where no loss could be shown, however large."""
    if len(manifest.users) < FEWEST_USERS:
        found = counted(len(manifest.users), manifest.noun)
        raise EvaluationError(
            f"{manifest.dataset} has {found} here, too few to show a loss; a gate needs {FEWEST_USERS} or more."
        )


def read_baseline(path: Path) -> Baseline:
    """Return the baseline in this file. Raises EvaluationError."""
    try:
        return Baseline.model_validate(parse_json(path.read_bytes()))
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read ({error.strerror}); --write makes a baseline.") from error
    except (JsonError, ValidationError) as error:
        raise EvaluationError(f"{path} is no baseline of this program; make it again with --write.") from error


def refuse_other_settings(baseline: Baseline, manifest: RunManifest) -> None:
    """Raise EvaluationError where the baseline was made with other settings than this run has."""
    own = comparable_settings(manifest)
    for name in (*own, *baseline.settings):
        before = baseline.settings.get(name, "none")
        now = own.get(name, "none")
        if before != now:
            raise EvaluationError(
                f"The baseline was made with another {name} ({before}, now {now}); give that, or make it again with --write."
            )
    if {user.user_id for user in baseline.users} != set(manifest.users):
        raise EvaluationError(
            f"The baseline is of {counted(len(baseline.users), baseline.noun)} and this run of others, or of "
            f"{len(manifest.users)}; give the same --users, or make it again with --write."
        )


def gate(run: FinishedRun, baseline: Baseline, *, tolerance: float) -> GateResult:
    """Compare the run, and its controls, with the baseline. A fall by more than `tolerance` that is no chance fails."""
    own = _check("the memory", run, baseline, kind="question", should_pass=True, tolerance=tolerance)
    oracle = _check("the needed facts alone", run, baseline, kind="facts", should_pass=True, tolerance=tolerance)
    nothing = _check("no memory", run, baseline, kind="no_memory", should_pass=False, tolerance=tolerance)
    return GateResult(own, (oracle, nothing))


def _check(name: str, run: FinishedRun, baseline: Baseline, *, kind: AskKind, should_pass: bool, tolerance: float) -> GateCheck:
    after = _tallies(_scored(run, kind=kind))
    difference = _difference(_tallies(baseline.users), after, seed=run.manifest.seed)
    return GateCheck(
        name=name,
        score=round(float(SCORE(after.total())), 6),
        difference=difference,
        should_pass=should_pass,
        passed=not _is_loss(difference, tolerance=tolerance),
    )


def _scored(run: FinishedRun, *, kind: AskKind) -> tuple[ScoredUser, ...]:
    """Return the users in the order of their ids, with their answers of this kind; what was not asked counts as wrong."""
    asked = dict.fromkeys(sorted(run.manifest.users), 0)
    right = dict(asked)
    for answer in run.answers:
        if answer.kind == "question":
            asked[answer.user_id] += 1
        if answer.kind == kind:
            right[answer.user_id] += answer.status == "right"
    return tuple(ScoredUser(user_id=user, asked=count, right=right[user]) for user, count in asked.items())


def _tallies(users: Sequence[ScoredUser]) -> Tallies:
    by_user = {user.user_id: {"asked": user.asked, "right": user.right} for user in users}
    return Tallies.of(dict(sorted(by_user.items())), names=("asked", "right"))


def _difference(before: Tallies, after: Tallies, *, seed: int) -> Paired:
    [difference] = paired({"overall": SCORE}, (before, after), seed=seed)
    return difference


def _is_loss(difference: Paired, *, tolerance: float) -> bool:
    lost = -(difference.difference.value or 0.0)
    return lost > max(0.0, tolerance) and difference.p_value is not None and difference.p_value <= RARE


def chance_of_finding(loss: float, baseline: Baseline, *, tolerance: float, seed: int) -> float:
    """Return the share of simulated losses of this size that the gate finds; right answers are lost by chance.

    A loss that hits few users alone is found less often.
    """
    before = _tallies(baseline.users)
    right = before.counts["right"]
    lost_share = min(1.0, loss * float(before.counts["asked"].sum()) / max(1.0, float(right.sum())))
    chance = np.random.Generator(np.random.PCG64(seed))
    found = 0
    for _ in range(SIMULATED_LOSSES):
        lost = chance.binomial(right.astype(int), lost_share)
        after = Tallies(before.users, {"asked": before.counts["asked"], "right": right - lost})
        found += _is_loss(_difference(before, after, seed=seed), tolerance=tolerance)
    return found / SIMULATED_LOSSES


def gate_table(result: GateResult, *, users: int) -> str:
    """Return the checks as a table of Markdown."""
    rows: list[list[str]] = []
    for check in result.checks:
        difference = format_estimate(check.difference.difference, users=users)
        came = "passes" if check.passed else "fails"
        verdict = came if check.as_expected else f"{came} (must {'pass' if check.should_pass else 'fail'})"
        rows.append([check.name, format_number(check.score), difference, format_number(check.difference.p_value), verdict])
    return headed_table(["asked with", "overall", "minus baseline", "p", "verdict"], rows)


def junit_report(result: GateResult, properties: Mapping[str, str]) -> str:
    """Return the checks as JUnit's XML, one case for each."""
    failed = [check for check in result.checks if not check.as_expected]
    suite = ElementTree.Element("testsuite", name="amemgym gate", tests=str(len(result.checks)), failures=str(len(failed)))
    settings = ElementTree.SubElement(suite, "properties")
    for name, value in properties.items():
        ElementTree.SubElement(settings, "property", name=name, value=value)
    for check in result.checks:
        case = ElementTree.SubElement(suite, "testcase", classname="amemgym.gate", name=check.name)
        if not check.as_expected:
            ElementTree.SubElement(case, "failure", message=result.problem)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
