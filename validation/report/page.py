"""A quality report as one self-contained HTML page: no scripts, nothing loaded from anywhere, the same bytes each time."""

import re
import secrets
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from assets.engine.last_made import LastMade
from assets.records.estimate import Estimate, percent, percents, rough_told
from assets.records.report import BenchmarkReport
from assets.reporting.page_style import NARROW_TABLES, page_style, scale, titled
from assets.reporting.plurals import counted, is_or_are

FOLDER = Path(__file__).parent
CONTENTS = "<!-- contents -->"
HEADING = re.compile(r'<h2 id="([^"]+)">([^<]+)</h2>')


def render_minimal_page(report: BenchmarkReport) -> str:
    """The page with what every report has."""
    return render_page(report, template="page.html.j2")


def render_page(report: BenchmarkReport, *, template: str, folder: Path = FOLDER, **values: object) -> str:
    """The page by a template of `folder`, which may extend `page.html.j2`. Texts of personas and models are escaped."""
    page = _environment(folder).get_template(template)
    rough = rough_told(report.finished, report.noun)
    style = page_style(NARROW_TABLES, FOLDER / "page.css")
    told = page.render(report=report, problems=problems(report), rough=rough, style=style, scale=scale, **values)
    contents = " ".join(f'<a href="#{name}">{words.partition(":")[0]}</a>' for name, words in HEADING.findall(told))
    return told.replace(CONTENTS, contents, 1)


def write_page(page: str, path: Path) -> Path:
    """Write the page, replaced in one move. Raises OSError from the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        draft.write_text(page, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def write_report_page(report: BenchmarkReport, render: Callable[[Any], str], path: Path) -> Path:
    """Write the report's page, unless it is there as the very same report came to it before. Raises OSError from the disk."""
    last = LastMade(path.with_name(f".{path.name}.made"), report.sha256())
    if not path.is_file() or last.find() != sha256(path.read_bytes()).hexdigest():
        write_page(render(report), path)
        last.note(sha256(path.read_bytes()).hexdigest())
    return path


def problems(report: BenchmarkReport) -> list[str]:
    """What blocks a release of this set, a sentence each; none when it may be released."""
    sentences: list[str] = []
    if report.finished != report.wanted:
        sentences.append(
            f"Only {counted(report.finished, report.noun)} of {report.wanted} {is_or_are(report.finished)} finished."
        )
    sentences += [
        f"The rule {line.stage}.{line.rule} is broken {counted(line.violations, 'time')}: {line.truth}"
        for line in report.rules
        if line.blocking and line.violations
    ]
    sentences += [
        f"{counted(line.unexpected, 'row')} of the table {line.table} broke a rule: {line.column or 'it'} {line.promise}."
        for line in report.columns
        if not line.ok
    ]
    return [*sentences, *report.exceeded_limits]


@pass_context
def percents_of_report(context: Context, estimate: Estimate | None) -> str:
    """The filter `percents` of templates that show a report, over whose items the intervals are."""
    report: BenchmarkReport | None = context["report"]
    return percents(estimate, items=report.finished) if report else percents(estimate)


@cache
def _environment(folder: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder, FOLDER]),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {"percent": percent, "percents": percents_of_report, "titled": titled, "counted": counted}
    environment.filters.update(filters)
    return environment
