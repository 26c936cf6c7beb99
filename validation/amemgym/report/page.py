"""Show AMemGym's quality report: as a page, as metadata in the Dagster UI, and as the check of its shortcut baselines."""

from pathlib import Path
from typing import Any

import dagster as dg

from assets.amemgym.records.report import QualityReport, ShortcutLine
from assets.records.estimate import with_interval
from assets.reporting.asset_description import Row, markdown_table
from validation.report import page
from validation.report.validation import CheckOutcome, values_by_name

MAX_SENTENCES = 3  # the table below has them all


def render_quality_page(report: QualityReport) -> str:
    """Return the page; a function of the report alone."""
    return page.render_template(report, template="quality_report.html.j2", folder=Path(__file__).parent)


def quality_metadata(report: QualityReport) -> dict[str, Any]:
    """Return numbers that Dagster plots over time."""
    metadata: dict[str, Any] = {}
    for name in ("users", "sessions", "questions"):
        if name in report.counts:
            metadata[name] = report.counts[name]
    metadata["golden_changes"] = report.golden_changes
    metadata["rules_broken"] = page.broken_rules(report)
    metadata["shortcuts_beyond_limit"] = len(report.crossed)
    if report.ceiling and report.ceiling.value is not None:
        metadata["ceiling"] = report.ceiling.value
    if report.leaks and report.leaks.accepted.value is not None:
        metadata["leaks"] = report.leaks.accepted.value
    if report.movement:
        metadata["evenness"] = report.movement.evenness
    if report.diversity:
        metadata["near_duplicates"] = report.diversity.near_across
    for line in report.recovery:
        if line.recovered.value is not None:
            metadata[line.direction] = line.recovered.value
    return metadata


def shortcuts_outcome(report: QualityReport) -> CheckOutcome:
    """Pass when no shortcut baseline and no figure of difficulty is beyond its limit; else show what gives most away."""
    worst: list[Row] = []
    for line in report.crossed:
        for item in line.worst:
            worst.append({"without memory": line.shortcut, "user": item.user_id, "question": item.query, "option": item.text})
    metadata: dict[str, Any] = values_by_name({line.shortcut: line.accuracy for line in report.shortcuts})
    if worst:
        metadata["worst"] = dg.MetadataValue.md(markdown_table(worst))
    metadata |= values_by_name({line.figure: line.value for line in report.difficulty})
    return CheckOutcome(not report.crossed and not report.too_easy, shortcuts_description(report), metadata)


def shortcuts_description(report: QualityReport) -> str:
    """Return the outcome in a few sentences, with the question that gives most away."""
    sentences: list[str] = []
    for figure in report.too_easy:
        sentences.append(f"{figure.figure!r} ({figure.meaning}) is {with_interval(figure.value)}; its limit is {figure.limit}.")
    if not report.crossed:
        sentences.append("Holds: no shortcut baseline is beyond its limit.")
        if report.unproven:
            names = ", ".join([line.shortcut for line in report.unproven])
            sentences.append(f"There are too few users to show it for {names}.")
    for line in report.crossed[:MAX_SENTENCES]:
        sentences.append(_crossed_sentence(line))
    more = len(report.crossed) - MAX_SENTENCES
    if more > 0:
        sentences.append(f"{more} more are beyond their limits.")
    return " ".join(sentences)


def _crossed_sentence(line: ShortcutLine) -> str:
    item = ""
    if line.worst:
        first = line.worst[0]
        item = f" Worst: user {first.user_id}, {first.question_id}, {first.query!r}, option {first.text!r}."
    return (
        f"{line.shortcut!r} ({line.meaning}) is right {with_interval(line.accuracy)} of the time, where a guess is "
        f"{line.random:.2f} and the limit {line.limit:.2f} ({line.luck:.2f} by chance).{item}"
    )
