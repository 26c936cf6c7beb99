"""How AMemGym's quality report is shown: as a page, as metadata in the Dagster UI, and the check of its shortcut baselines."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import dagster as dg

from assets.amemgym.records.audit import GateErrorRate
from assets.amemgym.records.report import QualityReport, ShortcutLine, TextLine
from assets.records.estimate import shown
from assets.records.report import GateLine
from assets.reporting.asset_description import Row, markdown_table
from validation.benchmark import CheckOutcome
from validation.report import page

MAX_SENTENCES = 3


@dataclass(frozen=True)
class _Reported:
    """A report; two are equal when their digests are."""

    digest: str
    report: QualityReport = field(compare=False)


def render_page(report: QualityReport) -> str:
    """The page; a function of the report alone."""
    return _rendered(_Reported(report.sha256(), report))


# The release that follows a report in the same process has the same page, whose drawing takes a second.
@lru_cache(maxsize=1)
def _rendered(reported: _Reported) -> str:
    from validation.amemgym.report.figures import figures  # matplotlib comes with them

    report, folder = reported.report, Path(__file__).parent
    return page.render_page(report, template="quality_report.html.j2", folder=folder, figures=figures(report))


def report_metadata(report: QualityReport) -> dict[str, Any]:
    """Numbers that Dagster plots over time, and the report's tables in short."""
    return {
        **{name: report.counts[name] for name in ("users", "sessions", "questions") if name in report.counts},
        "golden_changes": report.golden_changes,
        "rules_broken": sum(bool(line.violations) for line in report.rules),
        "shortcuts_beyond_limit": len(report.crossed),
        **({} if report.ceiling is None or report.ceiling.value is None else {"ceiling": report.ceiling.value}),
        **({} if report.leaks is None or report.leaks.accepted.value is None else {"leaks": report.leaks.accepted.value}),
        **({} if report.motion is None else {"evenness": report.motion.evenness, "returns": report.motion.returns}),
        **({} if report.diversity is None else {"near_duplicates": report.diversity.near_across}),
        **{f"{line.direction}": line.recovered.value for line in report.recovery if line.recovered.value is not None},
        "shortcut_baselines": _table([_shortcut_row(line) for line in report.wall]),
        "text_faults": _table([_text_row(line) for line in report.texts if line.faulty]),
        "paper": _table([{"": line.what, "here": line.here, "base": line.base, "extra": line.extra} for line in report.parity]),
        "gates": _table([_gate_row(report, line) for line in report.gates]),
        "gate_errors": _table([_error_row(line) for line in report.gate_errors if not line.kind]),
    }


def shortcuts_outcome(report: QualityReport) -> CheckOutcome:
    """Passes when no shortcut baseline is beyond its limit; otherwise shows the questions that give most away."""
    worst: list[Row] = [
        {"without memory": line.cue, "user": report.user_name(item.user_id), "question": item.query, "option": item.text}
        for line in report.crossed
        for item in line.worst
    ]
    return CheckOutcome(
        not report.crossed,
        shortcuts_description(report),
        {"lines": len(report.wall), **({"worst": dg.MetadataValue.md(markdown_table(worst))} if worst else {})},
    )


def shortcuts_description(report: QualityReport) -> str:
    """The outcome in a few sentences, with the question that gives most away."""
    if not report.crossed:
        few = f" Too few users to show it of {', '.join(line.cue for line in report.unproven)}." if report.unproven else ""
        return f"Holds: no shortcut baseline is beyond its limit.{few}"
    sentences = [_crossed_sentence(report, line) for line in report.crossed[:MAX_SENTENCES]]
    more = len(report.crossed) - len(sentences)
    return " ".join([*sentences, *([f"{more} more are beyond their limits."] if more else [])])


def _crossed_sentence(report: QualityReport, line: ShortcutLine) -> str:
    first = line.worst[0] if line.worst else None
    item = ""
    if first:
        name = report.user_name(first.user_id)
        item = f" Worst: user {name}, {first.question_id}, {first.query!r}, option {first.text!r}."
    return (
        f"{line.cue!r} ({line.meaning}) is right {shown(line.accuracy)} of the time, where a guess is {line.random:.2f} "
        f"and the limit {line.limit:.2f}.{item}"
    )


def _table(rows: list[Row]) -> dg.MarkdownMetadataValue:
    return dg.MetadataValue.md(markdown_table(rows))


def _shortcut_row(line: ShortcutLine) -> Row:
    limit = "-" if line.verdict == "told" else f"{line.limit:.2f}"
    return {"without memory": line.cue, "right": shown(line.accuracy), "guess": f"{line.random:.2f}", "limit": limit}


def _text_row(line: TextLine) -> Row:
    return {"texts": line.text, "should": line.truth, "fail": line.faulty, "of": line.texts}


def _gate_row(report: QualityReport, line: GateLine) -> Row:
    # Short heads, because the panel that shows the table is narrow.
    return {
        "gate": line.gate,
        "items": line.items,
        "at once": line.passed_at_once,
        "refined": line.passed_after_refining,
        "redrafted": line.passed_after_redrafting,
        "calls each": f"{report.calls_per_item.get(line.gate, 0):.2f}",
    }


def _error_row(line: GateErrorRate) -> Row:
    return {"gate": line.gate, "error": line.error.replace("_", " "), "rate": shown(line.share), "of": line.decoys}
