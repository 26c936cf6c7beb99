"""What the quality report tells in the Dagster UI: numbers that are plotted over time, and its tables in short."""

from pathlib import Path
from typing import Any

import dagster as dg

from assets.amemgym.audits.rates import GateErrorRate
from assets.amemgym.records.report import QualityReport, ShortcutLine
from assets.records.estimate import shown
from assets.records.report import GateLine
from assets.reporting.markdown import Row, markdown_table
from validation.report.page import problems


def report_metadata(report: QualityReport, page: Path) -> dict[str, Any]:
    """What blocks a release, if anything does, then the figures; `page` is where the whole report lies."""
    blocking = problems(report)
    numbers = {
        **{name: report.counts[name] for name in ("users", "sessions", "questions") if name in report.counts},
        "golden_changes": report.golden_changes,
        "rules_broken": sum(bool(line.violations) for line in report.rules),
        "wall_lines_crossed": len(report.crossed),
        **({} if report.ceiling is None or report.ceiling.value is None else {"ceiling": report.ceiling.value}),
        **({} if report.motion is None else {"evenness": report.motion.evenness, "returns": report.motion.returns}),
        **({} if report.diversity is None else {"near_twins": report.diversity.near_across}),
        **{f"{line.direction}": line.recovered.value for line in report.recovery if line.recovered.value is not None},
    }
    return {
        "page": dg.PathMetadataValue(str(page)),
        "release": "blocked" if blocking else "may be made",
        **({"problems": dg.MetadataValue.md("\n".join(f"- {problem}" for problem in blocking))} if blocking else {}),
        **numbers,
        "wall": _table([_wall_row(line) for line in report.wall]),
        "paper": _table([{"": line.what, "here": line.here, "base": line.base, "extra": line.extra} for line in report.parity]),
        "gates": _table([_gate_row(report, line) for line in report.gates]),
        "gate_errors": _table([_error_row(line) for line in report.gate_errors if not line.kind]),
    }


def _table(rows: list[Row]) -> dg.MarkdownMetadataValue:
    return dg.MetadataValue.md(markdown_table(rows))


def _wall_row(line: ShortcutLine) -> Row:
    limit = "-" if line.verdict == "told" else f"{line.limit:.2f}"
    return {"without memory": line.cue, "right": shown(line.accuracy), "guess": f"{line.random:.2f}", "limit": limit}


def _gate_row(report: QualityReport, line: GateLine) -> Row:
    """Short heads: the panel that shows the table is narrow."""
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
