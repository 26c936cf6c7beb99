"""A quality report as one self-contained HTML page: no scripts, nothing loaded from anywhere, the same bytes each time."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.records.estimate import interval_note, percent, percents
from assets.records.report import BenchmarkReport
from assets.reporting.page_style import NARROW_TABLES, page_style, scale, short_id
from assets.reporting.plurals import counted
from assets.reporting.verdict import verdict_on
from assets.whole_files import whole_file

FOLDER = Path(__file__).parent
CONTENTS = "<!-- contents -->"
HEADING = re.compile(r'<h2 id="([^"]+)">([^<]+)</h2>')


def render_minimal_page(report: BenchmarkReport) -> str:
    """Return the page with what every report has."""
    return render_template(report, template="page.html.j2")


def render_template(report: BenchmarkReport, *, template: str, folder: Path = FOLDER, **values: object) -> str:
    """Return the page by a template of `folder`, which may extend `page.html.j2`. Texts of personas and models are escaped."""
    page = _environment(folder).get_template(template)
    intervals = interval_note(report.finished, report.noun)
    style = page_style(NARROW_TABLES, FOLDER / "page.css")
    html = page.render(report=report, verdict=verdict_on(report), intervals=intervals, style=style, scale=scale, **values)
    links: list[str] = []
    for name, words in HEADING.findall(html):
        links.append(f'<a href="#{name}">{words.partition(":")[0]}</a>')
    return html.replace(CONTENTS, " ".join(links), 1)


def write_page(page: str, path: Path) -> Path:
    """Write the page, replaced in one move, so that no reader sees half of it. Raises OSError from the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:
        draft.write_text(page, encoding="utf-8")
    return path


def broken_rules(report: BenchmarkReport) -> int:
    """Return the number of rules that are broken, those that block nothing included."""
    return len([line for line in report.rules if line.violations])


@cache
def _environment(folder: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder, FOLDER]),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {"percent": percent, "percents": percents, "short_id": short_id, "counted": counted}
    environment.filters.update(filters)
    return environment
