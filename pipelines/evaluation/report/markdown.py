"""The report of a run in Markdown, which the terminal shows as well."""

from collections.abc import Mapping, Sequence

from assets.records.estimate import Estimate, interval_note
from assets.reporting.plurals import counted
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.report.contents import run_contents, run_notes
from pipelines.evaluation.report.formatting import mode_label, recall_label, repeat_label, settings_line
from pipelines.evaluation.report.numbers import format_estimate, headed_table, metric_label
from pipelines.evaluation.report.sections import LineChart, PeriodSeries, ReportSection, ReportTable


def run_report(run: FinishedRun) -> str:
    """Return the whole report of one run."""
    manifest = run.manifest
    settings = f"at most {counted(manifest.tokens, 'token')} of recalled text"
    if manifest.memory.settings:
        settings = f"{settings_line(manifest.memory)}, {settings}"
    settings = ", ".join(filter(None, [settings, recall_label(manifest)]))
    simulated = f", user simulated by {manifest.model_of('user')}" if "user" in manifest.models else ""
    parts = [
        f"# {manifest.memory.name} on {manifest.dataset}",
        f"Run `{manifest.run_id}`, {mode_label(manifest)}; {counted(len(manifest.users), manifest.noun)}; {settings}; answered "
        f"by {manifest.model_of('assistant')}{simulated}. A repetition {repeat_label(manifest)}.",
        *run_notes(run),
        *error_list(run),
        interval_note(run.results.users, manifest.noun),
    ]
    for section in run_contents(run):
        parts += section_text(section)
    return "\n\n".join(parts) + "\n"


def error_list(run: FinishedRun) -> list[str]:
    """Return a list of the users who could not be evaluated to the end, each with a sentence; nothing where all were."""
    errors = run.results.errors
    if not errors:
        return []
    lines = "\n".join(f"- {error.sentence}" for error in errors)
    return [
        f"**Finished with errors**: {counted(len(errors), run.manifest.noun)} could not be evaluated to the end; their other "
        f"questions count as wrong. The same command tries these again.\n\n{lines}"
    ]


def section_text(section: ReportSection) -> list[str]:
    """Return the section's parts; nothing of one that consists of charts."""
    parts = list[str]()
    for block in section.blocks:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, ReportTable):
            parts.append(table_text(block))
        elif isinstance(block, PeriodSeries):
            parts.append(_periods(block.metrics))
        else:
            # Its numbers stand in a table.
            assert isinstance(block, LineChart)
    return [f"## {section.title}", *parts] if parts else []


def table_text(table: ReportTable) -> str:
    """Return the table with its estimates in words."""
    rows = list[list[str]]()
    for row in table.rows:
        cells = list[str]()
        for cell in row:
            if isinstance(cell, Estimate):
                cell = format_estimate(cell, digits=table.digits, missing=table.missing)
            cells.append(cell)
        rows.append(cells)
    return headed_table(table.head, rows)


def _periods(metrics: Mapping[str, Sequence[Estimate]]) -> str:
    """Return a line for each period, because a terminal has more lines than columns."""
    rows = list[list[str | Estimate]]()
    for period, estimates in enumerate(zip(*metrics.values(), strict=True)):
        rows.append([str(period), *estimates])
    return table_text(ReportTable(["period", *map(metric_label, metrics)], rows))
