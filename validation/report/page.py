"""The quality report as one self-contained HTML page: no scripts, nothing loaded from anywhere, the same bytes each time."""

import secrets
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.amemgym.records.report import QualityReport
from assets.records.estimate import percent, percents

FOLDER = Path(__file__).parent


def render_page(report: QualityReport) -> str:
    """The page; a function of the report alone. Texts of personas and models are escaped wherever they stand."""
    from validation.amemgym.report.figures import figures

    return (
        _environment()
        .get_template("report_page.html.j2")
        .render(report=report, problems=problems(report), figures=figures(report))
    )


def write_page(report: QualityReport, path: Path) -> Path:
    """Write the page, replaced in one move. Raises OSError from the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        draft.write_text(render_page(report), encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def problems(report: QualityReport) -> list[str]:
    """What blocks a release of this set, a sentence each; none when it may be released."""
    found: list[str] = []
    if report.users != report.users_wanted:
        found.append(f"Only {report.users} of {report.users_wanted} users are finished.")
    found += [
        f"The rule {line.stage}.{line.rule} is broken {line.violations} times: {line.truth}"
        for line in report.rules
        if line.blocking and line.violations
    ]
    found += [
        f"{line.unexpected} rows of the table {line.table} break a promise about {line.column or 'it'}: {line.promise}"
        for line in report.columns
        if not line.ok
    ]
    found += report.exceeded_limits
    return found


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(percent=percent, percents=percents)
    return environment
