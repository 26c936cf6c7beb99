"""Hold a changed memory to what it scored before: one-sided, with a named margin, and two controls that have to come out right.

The difference is over the same questions, by Student's t over users. What a gate can find is in `power.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal, Self
from xml.etree import ElementTree

from pydantic import Field, StringConstraints, ValidationError, model_validator

from assets.records.base import Record
from assets.records.estimate import FEWEST_USERS, Estimate
from assets.records.json_text import parse_json
from assets.records.limits import MOST_ITEM_BYTES, read_bounded
from assets.records.problems import first_problem
from assets.reporting.intervals import Tallies, metric_difference, share
from assets.reporting.plurals import counted
from assets.reporting.statistic import CONFIDENCE, Statistic, rounded
from dataset_card.release.digests import canonical_digest
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import AskKind, RunManifest
from pipelines.evaluation.report.numbers import format_estimate, format_number, headed_table

DIFFERENCE = metric_difference(share("after", "asked"), share("before", "asked"))
RUNS = 2  # of the unchanged memory, between which answers flip
Answers = Mapping[str, str]
RightOrNot = Annotated[str, StringConstraints(pattern="^[01]+$")]
Verdict = Literal["worse", "not shown", "no worse"]


class Baseline(Record):
    """`baseline.json`: what a memory got right on a release, in one run or two. It is kept beside the memory's code.

    `settings`: what has to be equal in all runs, by name. `source`: a digest of the memory's code. `runs`: by id, and then by
    user or task, a text of 1 (right) and 0 (not) in the order of the questions.
    """

    format: Literal[2] = 2
    memory: str
    source: str
    noun: str
    settings: dict[str, str]
    runs: dict[str, dict[str, RightOrNot]] = Field(min_length=1, max_length=RUNS)

    @model_validator(mode="after")
    def _of_the_same_questions(self) -> Self:
        if len({canonical_digest(self._sizes(run)) for run in self.runs.values()}) > 1:
            raise ValueError("its runs are of other questions")
        return self

    @staticmethod
    def _sizes(run: Answers) -> dict[str, int]:
        return {user: len(answers) for user, answers in run.items()}

    @property
    def answers(self) -> list[Answers]:
        """The answers of each run."""
        return list(self.runs.values())

    @property
    def asked(self) -> int:
        """The number of questions."""
        return sum(map(len, self.answers[0].values()))


class GateCheck(Record):
    """A score beside the baseline's over the same questions; the difference lies between one-sided 95 % limits."""

    name: str
    score: float
    difference: Estimate
    verdict: Verdict
    must_be_worse: bool = False

    @property
    def as_expected(self) -> bool:
        return (self.verdict == "worse") == self.must_be_worse


@dataclass(frozen=True)
class GateResult:
    """The memory's own check, and the two controls: the needed facts in its place, and nothing.

    `unfinished` says which users or tasks were not evaluated to the end, and why.
    """

    memory: GateCheck
    controls: tuple[GateCheck, ...]
    margin: float
    unfinished: str = ""

    @property
    def checks(self) -> tuple[GateCheck, ...]:
        return (self.memory, *self.controls)

    @property
    def problem(self) -> str:
        """Return one sentence on why the gate is not passed; "" where it is."""
        for control in self.controls:
            if not control.as_expected:
                came = "is not shown to be" if control.must_be_worse else "is"
                return self._after_what_was_lost(
                    f"The gate itself is broken: {control.name} scores {control.score:.3f} and {came} worse than the baseline, "
                    "so nothing follows for the memory. Take a release on which the baseline lies between no memory and the "
                    "needed facts."
                )
        return self.sentence if self.memory.verdict == "worse" else ""

    @property
    def sentence(self) -> str:
        """Say what is shown of the memory, after what hindered its run."""
        return self._after_what_was_lost(self._comparison)

    def _after_what_was_lost(self, sentence: str) -> str:
        return f"{self.unfinished} {sentence}".strip()

    @property
    def _comparison(self) -> str:
        difference = self.memory.difference
        shown = f"{format_estimate(difference)}, one-sided 95 %"
        if self.memory.verdict == "worse":
            return f"The memory is worse than its baseline: it lost {-(difference.value or 0.0):.3f} ({shown})."
        if self.memory.verdict == "no worse":
            return f"The memory is no worse than its baseline: it has not lost {self.margin:g} or more ({shown})."
        lost = -(difference.low or 0.0)
        return f"Not shown: the memory may have lost {lost:.3f} or nothing, and the margin is {self.margin:g} ({shown})."


def comparable_settings(manifest: RunManifest) -> dict[str, str]:
    """Return what two runs must have in common so that only the memory differs."""
    settings = {
        "dataset": manifest.dataset,
        "dataset digest": manifest.dataset_digest,
        "mode": manifest.policy,
        "tokens": str(manifest.tokens),
        "reply tokens": str(manifest.reply_tokens),
        "seed": str(manifest.seed),
        "questions": str(manifest.questions or "all"),
        "wording": manifest.wording,
        "recall query": manifest.recall_query,
        "later holds": str(manifest.later_holds),
        "prompts": canonical_digest(manifest.prompts)[:16],
    }
    for role in manifest.models:
        settings[f"model of {role}"] = manifest.shared().model_of(role)
    return settings


def baseline_of(run: FinishedRun, before: Baseline | None = None) -> Baseline:
    """Return the run's score as a baseline, with the first run of `before` if that is of the same plan and code.

    Raises EvaluationError for too few users.
    """
    manifest = run.manifest
    refuse_few_users(manifest)
    own = Baseline(
        memory=manifest.memory.name,
        source=manifest.memory_source,
        noun=manifest.noun,
        settings=comparable_settings(manifest),
        runs={manifest.run_id: _answers_of(run, kind="question")},
    )
    if before is None or before.model_copy(update={"runs": own.runs}) != own or set(before.answers[0]) != set(own.answers[0]):
        return own
    first = next(iter(before.runs))
    return own.model_copy(update={"runs": {first: before.runs[first], **own.runs}})


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
        return Baseline.model_validate(parse_json(read_bounded(path, most=MOST_ITEM_BYTES)))
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read ({error.strerror}); --write makes a baseline.") from error
    # Of JSON, pydantic and a file that is too large.
    except ValueError as error:
        said = str(error)
        if isinstance(error, ValidationError):
            said = ": ".join(first_problem(error))
        said = f"{path} is no baseline of this program ({said}); --write makes one, in a file of another name."
        raise EvaluationError(said) from error


def refuse_overwriting(path: Path, before: Baseline, manifest: RunManifest) -> None:
    """Raise EvaluationError where the file holds the baseline of another memory, or one that was made on other data."""
    own = comparable_settings(manifest)
    same_data = all(before.settings.get(name) == own[name] for name in ("dataset", "dataset digest"))
    if before.memory != manifest.memory.name or not same_data:
        data = before.settings.get("dataset", "other data")
        raise EvaluationError(
            f"{path} has a baseline of {before.memory} on {data}; give --write another file name, or remove that file first."
        )


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
    users = baseline.answers[0]
    if set(users) != set(manifest.users):
        raise EvaluationError(
            f"The baseline is of {counted(len(users), baseline.noun)} and this run of others, or of "
            f"{len(manifest.users)}; give the same --users, or make it again with --write."
        )


def gate(run: FinishedRun, baseline: Baseline, *, margin: float) -> GateResult:
    """Compare the run, and its controls, with the baseline."""
    own = _check("the memory", run, baseline, kind="question", margin=margin)
    oracle = _check("the needed facts alone", run, baseline, kind="facts", margin=margin)
    nothing = _check("no memory", run, baseline, kind="no_memory", margin=margin)
    return GateResult(own, (oracle, nothing.model_copy(update={"must_be_worse": True})), margin, run.unfinished)


def _check(name: str, run: FinishedRun, baseline: Baseline, *, kind: AskKind, margin: float) -> GateCheck:
    after = _answers_of(run, kind=kind)
    limits = one_sided(difference_over_users(baseline.answers, after))
    score = rounded("".join(after.values()).count("1") / baseline.asked)
    return GateCheck(name=name, score=score, difference=limits, verdict=verdict_of(limits, margin=margin))


def difference_over_users(before: Sequence[Answers], after: Answers) -> Statistic:
    """Return the share right after, less its mean over the runs before."""
    by_user: dict[str, dict[str, float]] = {}
    for user, answers in after.items():
        right = fmean([run[user].count("1") for run in before])
        by_user[user] = {"asked": len(answers), "before": right, "after": answers.count("1")}
    return Tallies.of(by_user, names=("asked", "before", "after")).statistic(DIFFERENCE)


def one_sided(difference: Statistic) -> Estimate:
    """Return the difference between its one-sided 95 % limits."""
    reach = difference.quantile(CONFIDENCE) * (difference.error or 0.0)
    value = difference.value
    return Estimate(value=rounded(value), low=rounded(value - reach), high=rounded(value + reach))


def verdict_of(limits: Estimate, *, margin: float) -> Verdict:
    """Return what the limits show: no loss of the margin, a loss, or neither."""
    if limits.low is not None and limits.low >= -margin:
        return "no worse"
    return "worse" if limits.high is not None and limits.high < 0 else "not shown"


def _answers_of(run: FinishedRun, *, kind: AskKind) -> dict[str, str]:
    """Return 1 for each question that is right in answers of this kind, else 0, by user; sorted by user and question."""
    right = {answer.question_key for answer in run.answers if answer.kind == kind and answer.status == "right"}
    found = dict.fromkeys(sorted(run.manifest.users), "")
    for question in sorted(answer.question_key for answer in run.answers if answer.kind == "question"):
        found[question[0]] += "1" if question in right else "0"
    return found


def gate_table(result: GateResult) -> str:
    """Return the checks as a table of Markdown."""
    rows: list[list[str]] = []
    for check in result.checks:
        verdict = f"no worse by {result.margin:g}" if check.verdict == "no worse" else check.verdict
        if not check.as_expected:
            verdict += " (must be worse)" if check.must_be_worse else " (must not be)"
        rows.append([check.name, format_number(check.score), format_estimate(check.difference), verdict])
    return headed_table(["asked with", "overall", "minus baseline [one-sided 95 % limits]", "verdict"], rows)


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
        elif check is result.memory and check.verdict == "not shown":
            ElementTree.SubElement(case, "skipped", message=result.sentence)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
