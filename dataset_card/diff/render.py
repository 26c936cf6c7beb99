"""A diff in words: the card's section on what changed since the version before, and one HTML page with changed words marked.

The section is no part of the card's template. Which version comes before is known only when all else is written, and two
releases are the same when they differ in nothing but this section.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dataset_card.diff.records import MetricChange, ReleaseDiff

Mark = Literal["same", "gone", "new"]
USERS_SHOWN = 50
HEADING = "## Changes since "
SECTION = re.compile(rf"^{HEADING}.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
# The section comes before these, or else at the end.
FOLLOWING = re.compile(r"^## (Loading it|Intended use|License)", re.MULTILINE)
TEXT_LIMIT = 120


def changes_section(diff: ReleaseDiff) -> str:
    """Markdown under a heading of its own, with an empty line at the end."""
    return "\n".join([f"{HEADING}{diff.before.version}", "", *_paragraphs(diff)]) + "\n\n"


def with_changes(card: str, section: str) -> str:
    """The card with the section. `without_changes` undoes it."""
    following = FOLLOWING.search(card)
    start = following.start() if following else len(card)
    return f"{card[:start]}{section}{card[start:]}"


def without_changes(card: str) -> str:
    """The card as if there had been no version before."""
    return SECTION.sub("", card, count=1)


def too_low(version: str, *, diff: ReleaseDiff, smallest: str) -> str:
    """One sentence on a version that is lower than the rule of `versions.py` demands."""
    last = diff.before.version
    if diff.level == "same":
        return f"Nothing changed since {diff.before.name}, so {version} would be older; take {last}, or at least {smallest}."
    return f"{version} is too low for {diff.before.variant}: since {last}, {diff.reason}, so it has to be at least {smallest}."


def figure_text(value: float | None) -> str:
    """A figure in a table; a dash where a release does not have it."""
    return "-" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def _paragraphs(diff: ReleaseDiff) -> Iterator[str]:
    yield f"This asks for a new {diff.level} number: {diff.reason}."
    yield ""
    yield f"{_users(diff)} Rows are compared by their keys; labels are all values but free text."
    yield ""
    yield from _table(
        ["table", "rows before", "rows now", "new", "gone", "other labels", "other words"],
        [
            [f"`{one.table}`", *map(str, (one.before, one.after, one.added, one.removed, one.relabelled, one.reworded))]
            for one in diff.tables
            if one.changed
        ],
    )
    yield from _metrics("figure", diff.statistics)
    yield from _metrics("figure of the quality report", diff.quality)
    settings = [[f"`{one.name}`", _cell(one.before), _cell(one.after)] for one in diff.settings]
    yield from _table(["how it was made", "before", "now"], settings)
    yield f"`amemgym diff {diff.before.variant}@{diff.before.version}` and this release shows the rows themselves."


def _users(diff: ReleaseDiff) -> str:
    came, went = len(diff.users_added), len(diff.users_removed)
    if not came and not went:
        return "The users are the same."
    return f"{came} {'user is' if came == 1 else 'users are'} new, {went} {'is' if went == 1 else 'are'} gone."


def _metrics(name: str, changes: Sequence[MetricChange]) -> Iterator[str]:
    rows = [[one.figure, figure_text(one.before), figure_text(one.after)] for one in changes]
    yield from _table([name, "before", "now"], rows)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield f"| {' | '.join(names)} |"
        yield f"|---|{'---:|' * (len(names) - 1)}"
        yield from (f"| {' | '.join(row)} |" for row in rows)
        yield ""


def _cell(text: str) -> str:
    flat = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return flat if len(flat) <= TEXT_LIMIT else f"{flat[: TEXT_LIMIT - 3]}..."


def diff_page(diff: ReleaseDiff) -> str:
    """The page. It follows from the diff alone."""
    return _environment().get_template("diff.html.j2").render(diff=diff, users_shown=USERS_SHOWN)


def marked_words(before: str, after: str) -> list[tuple[Mark, str]]:
    """Both texts in one, word by word. The texts of "same" and "new" make up `after`, of "same" and "gone" `before`."""
    old, new = before.split(" "), after.split(" ")
    marked: list[tuple[Mark, str]] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if kind == "equal":
            marked.append(("same", " ".join(old[start:end])))
            continue
        if start < end:
            marked.append(("gone", " ".join(old[start:end])))
        if new_start < new_end:
            marked.append(("new", " ".join(new[new_start:new_end])))
    return marked


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figure"] = figure_text
    environment.globals["marked_words"] = marked_words  # pyright: ignore[reportArgumentType]
    return environment
