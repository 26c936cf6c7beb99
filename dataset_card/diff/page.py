"""A diff as one HTML page: the verdict, changed texts with their words marked, and then tables."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.reporting.page_style import NARROW_TABLES, page_style, short_id
from assets.reporting.plurals import counted
from dataset_card.diff.records import ReleaseDiff
from dataset_card.diff.render import COUNTS, LABELS, by_interest, marked_words, rows_table, settings_table

# Longer lists make a page that nobody reads; --json has all of them.
USERS_SHOWN = 50
STYLE = Path(__file__).with_name("page.css")


def diff_page(diff: ReleaseDiff) -> str:
    """Return the page. It follows from the diff alone."""
    template = _environment().get_template("diff.html.j2")
    return template.render(
        diff=diff,
        style=page_style(NARROW_TABLES, STYLE),
        rules=LABELS,
        counts=COUNTS,
        tables=by_interest(diff),
        by_table=rows_table(diff, untouched=True),
        settings=settings_table(diff),
        marked_words=marked_words,
        users_shown=USERS_SHOWN,
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {"counted": counted, "short_id": short_id}
    environment.filters.update(filters)
    return environment
