"""A diff in words: its verdict, its tables for all renderers, changed words marked, and the card's section on what changed.

The section is no part of the card's template. Which version comes before is known only when all else is written, and two
releases are the same when they differ in nothing but this section.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from assets.reporting.plurals import counted, is_or_are
from dataset_card.card import markdown
from dataset_card.diff.records import ReleaseDiff, TableChange

Mark = Literal["same", "gone", "new"]
HEADING = "## Changes since "
LABELS = "Everything that an assistant reads or is scored on counts as a label."
SECTION = re.compile(rf"^{HEADING}.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
# The section comes before these, or else at the end.
FOLLOWING = re.compile(r"^## (Intended use|License)", re.MULTILINE)
# A setting may be a whole prompt or query; the card shows its beginning.
TEXT_LIMIT = 120
# Counts of a table's rows, as a table shows them.
COUNTS = {
    "before": "before",
    "after": "now",
    "added": "new",
    "removed": "gone",
    "relabelled": "read or scored otherwise",
    "annotated": "notes only",
}


@dataclass(frozen=True)
class DiffTable:
    """A table of a diff, as the terminal, the page and the card show it. `numbers`: all cells but a row's first are numbers."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: bool = True


def rows_table(diff: ReleaseDiff, *, untouched: bool = False) -> DiffTable:
    """Return the rows by table; `untouched`: also those of tables without a change."""
    counts = [name for name in COUNTS if name in ("before", "after") or any(getattr(table, name) for table in diff.tables)]
    rows: list[tuple[str, ...]] = []
    for table in by_interest(diff):
        if table.changed or untouched:
            rows.append((table.table, *(f"{getattr(table, name):,}" for name in counts)))
    return DiffTable("Rows by table", ("table", *map(COUNTS.__getitem__, counts)), tuple(rows))


def settings_table(diff: ReleaseDiff) -> DiffTable:
    """Return what else made the later release."""
    rows = tuple((setting.name, setting.before, setting.after) for setting in diff.settings)
    return DiffTable("How it was made", ("how it was made", "before", "now"), rows, numbers=False)


def verdict(diff: ReleaseDiff) -> str:
    """Say in one sentence which number has to grow, and why."""
    if diff.level == "same":
        return f"{diff.before.name} and {diff.after.name} are the same release."
    return f"From {diff.before.name} to {diff.after.name}: a new {diff.level} number, because {diff.reason}."


def changes_section(diff: ReleaseDiff) -> str:
    """Return Markdown under a heading of its own, with an empty line at the end."""
    return "\n".join([f"{HEADING}{diff.before.version}", "", *_paragraphs(diff)]) + "\n\n"


def with_changes(card: str, section: str) -> str:
    """Return the card with the section. `without_changes` undoes it."""
    following = FOLLOWING.search(card)
    start = following.start() if following else len(card)
    return f"{card[:start]}{section}{card[start:]}"


def without_changes(card: str) -> str:
    """Return the card as if there had been no version before."""
    return SECTION.sub("", card, count=1)


def too_low(version: str, *, diff: ReleaseDiff, smallest: str) -> str:
    """Refuse in one sentence a version that is lower than the rule of `versions.py` demands."""
    last = diff.before.version
    if diff.level == "same":
        return f"Nothing changed since {diff.before.name}, so {version} would be older; take {last}, or at least {smallest}."
    return f"{version} is too low for {diff.before.variant}: since {last}, {diff.reason}, so it has to be at least {smallest}."


def by_interest(diff: ReleaseDiff) -> list[TableChange]:
    """Return options, questions and sessions before users, and the account of the making last."""
    backwards = diff.tables[::-1]
    return sorted(backwards, key=lambda table: not table.scored)


def _paragraphs(diff: ReleaseDiff) -> Iterator[str]:
    compare = {"major": "Scores do not compare", "minor": "Scores on rows that both have compare"}
    yield f"{compare.get(diff.level, 'Scores compare')} with those on {diff.before.version}."
    yield f"This needs a new {diff.level} number: {markdown.text(diff.reason)}."
    yield ""
    yield f"{_users(diff)} {LABELS}"
    yield ""
    for table in (rows_table(diff), settings_table(diff)):
        yield from _markdown_table(table)
    yield f"`amemgym diff {diff.before.variant}@{diff.before.version}` and this release shows the rows themselves."


def _users(diff: ReleaseDiff) -> str:
    came = len(diff.users_added)
    went = len(diff.users_removed)
    if not came and not went:
        return "The users are the same."
    return f"{counted(came, 'user')} {is_or_are(came)} new, {went:,} {is_or_are(went)} gone."


def _markdown_table(table: DiffTable) -> Iterator[str]:
    """Yield the lines of a table unless it is empty; a row's first cell is a name in the data."""
    if not table.rows:
        return
    yield f"| {' | '.join(table.heads)} |"
    yield f"|---|{'---:|' * (len(table.heads) - 1)}"
    for first, *cells in table.rows:
        if not table.numbers:
            cells = [markdown.text(cell, limit=TEXT_LIMIT) for cell in cells]
        yield f"| {' | '.join([f'`{first}`', *cells])} |"
    yield ""


def marked_words(before: str, after: str) -> list[tuple[Mark, str]]:
    """Return both texts in one, word by word. The texts of "same" and "new" make up `after`, of "same" and "gone" `before`."""
    old = before.split(" ")
    new = after.split(" ")
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
