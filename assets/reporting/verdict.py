"""The verdict on a finished set, which page, asset, first page, terminal, card and publishing say in the same words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assets.records.report import BenchmarkReport
from assets.reporting.plurals import counted, is_or_are

EMBEDDED_FAMILY = "amemgym-embedded"
WORDS = {
    "blocked": "Not to be released",
    "trying": "For trying only",
    "unread": "Not judged",
    "release": "May be released",
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What may be done with a set, with its reasons in sentences; without any it may be released.

    `problems` block a release; `embedded` says that no language model wrote or judged it, `unread` that no judge did.
    """

    problems: tuple[str, ...] = ()
    embedded: str = ""
    unread: str = ""

    @property
    def kind(self) -> Literal["blocked", "trying", "unread", "release"]:
        if self.problems:
            return "blocked"
        if self.embedded:
            return "trying"
        return "unread" if self.unread else "release"

    @property
    def words(self) -> str:
        return WORDS[self.kind]

    @property
    def reasons(self) -> tuple[str, ...]:
        return (*self.problems, *filter(None, (self.embedded, self.unread)))


def verdict_on(report: BenchmarkReport, *, stale: str = "") -> Verdict:
    """Return the verdict on the reported set. `stale`: why the report no longer holds, "" if it does."""
    judges = () if report.unread else report.judges
    return Verdict(
        problems=(*_problems(report), *filter(None, [stale])),
        embedded=embedded_note(report.writer, judges),
        unread=report.unread,
    )


def embedded_note(writer: str, judges: Sequence[str]) -> str:
    """Return a sentence where the embedded model wrote or judged, else ""."""
    for role, models in (("wrote", (writer,)), ("judged", judges)):
        for model in models:
            if model.startswith(EMBEDDED_FAMILY):
                return (
                    f"No language model {role} these texts: {model} did, a small program that repeats sentences of its own. "
                    "They show that everything runs; do not publish them, and report no scores on them."
                )
    return ""


def _problems(report: BenchmarkReport) -> list[str]:
    """Return a sentence for each thing that blocks a release of this set."""
    sentences: list[str] = []
    if report.finished != report.wanted:
        sentences.append(
            f"Only {counted(report.finished, report.noun)} of {report.wanted} {is_or_are(report.finished)} finished."
        )
    for line in report.rules:
        if line.blocking and line.violations:
            times = counted(line.violations, "time")
            stage = line.stage.replace("_", " ")
            sentences.append(f"A rule of {stage} is broken {times}: {line.truth}")
    for line in report.columns:
        if not line.ok:
            rows = counted(line.unexpected, "row")
            sentences.append(f"{rows} of the table {line.table} broke a rule: {line.column or 'it'} {line.expectation}.")
    return [*sentences, *report.exceeded_limits]
