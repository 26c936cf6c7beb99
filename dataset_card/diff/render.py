"""A diff in words: what it asks of the version, changed words marked, and the card's section on what changed.

The section is no part of the card's template. Which version comes before is known only when all else is written, and two
releases are the same when they differ in nothing but this section.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from assets.reporting.asset_description import ID
from assets.reporting.plurals import counted, is_or_are
from dataset_card.card import markdown
from dataset_card.diff.records import MetricChange, ReleaseDiff, TableChange
from dataset_card.release.versions import FIRST_RULE

Mark = Literal["same", "gone", "new"]
HEADING = "## Changes since "
SECTION = re.compile(rf"^{HEADING}.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
# The section comes before these, or else at the end.
FOLLOWING = re.compile(r"^## (Intended use|License)", re.MULTILINE)
TEXT_LIMIT = 120
# Counts of a table's rows, as a table shows them.
COUNTS = {
    "before": "before",
    "after": "now",
    "added": "new",
    "removed": "gone",
    "relabelled": "read or scored otherwise",
    "reworded": "wording only",
    "annotated": "notes only",
}


def verdict(diff: ReleaseDiff) -> str:
    """Which number has to grow, and why, in one sentence."""
    if diff.level == "same":
        return f"{diff.before.name} and {diff.after.name} are the same release."
    return f"From {diff.before.name} to {diff.after.name}: a new {diff.level} number, because {named(diff.reason, diff)}."


def named(sentence: str, diff: ReleaseDiff) -> str:
    """The sentence with the users' names in place of their ids. In a card ids stay, because its bytes are released."""
    for item, name in diff.user_names.items():
        if ID.fullmatch(item):
            sentence = sentence.replace(item, name)
    return sentence


def rules_text(diff: ReleaseDiff) -> str:
    """Which rule decided, where the first rule decides otherwise, and by which rule the later version was numbered."""
    sentences = [f"Numbered by rule {diff.rule}: whatever an assistant reads or is scored on counts as a label."]
    if diff.level_by_first_rule != diff.level:
        sentences.append(
            f"Older releases were numbered by rule {FIRST_RULE}, for which free text was no label; it would ask for "
            f"{'nothing' if diff.level_by_first_rule == 'same' else f'a {diff.level_by_first_rule} number'} here."
        )
    after = diff.after
    if after.rule is not None and after.rule != diff.rule:
        sentences.append(f"{after.version} was numbered after {after.previous} by rule {after.rule}.")
    return " ".join(sentences)


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


def by_interest(tables: Iterable[TableChange]) -> list[TableChange]:
    """Options, questions and sessions before users, and the account of the making last."""
    backwards = list(tables)[::-1]
    return [one for one in backwards if one.scored] + [one for one in backwards if not one.scored]


def shown_counts(diff: ReleaseDiff) -> list[str]:
    """Those of `COUNTS` that say something of these releases."""
    return [name for name in COUNTS if name in ("before", "after") or any(getattr(one, name) for one in diff.tables)]


def _paragraphs(diff: ReleaseDiff) -> Iterator[str]:
    compare = {"major": "Scores do not compare", "minor": "Scores on rows that both have compare"}.get(
        diff.level, "Scores compare"
    )
    yield f"{compare} with those on {diff.before.version}."
    yield f"This asks for a new {diff.level} number: {markdown.text(diff.reason)}."
    yield ""
    yield f"{_users(diff)} {rules_text(diff)}"
    yield ""
    names = shown_counts(diff)
    yield from _table(
        ["table", *(COUNTS[name] for name in names)],
        [[f"`{one.table}`", *(f"{getattr(one, name):,}" for name in names)] for one in by_interest(diff.tables) if one.changed],
    )
    news = [one for one in diff.figures if not one.is_noise]
    yield from _metrics(news)
    if len(news) < len(diff.figures):
        yield f"Figures that moved inside the interval they had before: {len(diff.figures) - len(news)}."
        yield ""
    settings = [
        [f"`{one.name}`", *(markdown.text(side, limit=TEXT_LIMIT) for side in (one.before, one.after))] for one in diff.settings
    ]
    yield from _table(["how it was made", "before", "now"], settings)
    yield f"`amemgym diff {diff.before.variant}@{diff.before.version}` and this release shows the rows themselves."


def _users(diff: ReleaseDiff) -> str:
    came, went = len(diff.users_added), len(diff.users_removed)
    if not came and not went:
        return "The users are the same."
    return f"{counted(came, 'user')} {is_or_are(came)} new, {went:,} {is_or_are(went)} gone."


def _metrics(changes: Sequence[MetricChange]) -> Iterator[str]:
    rows = [[markdown.text(one.figure), figure_text(one.before), figure_text(one.after)] for one in changes]
    yield from _table(["figure", "before", "now"], rows)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield f"| {' | '.join(names)} |"
        yield f"|---|{'---:|' * (len(names) - 1)}"
        yield from (f"| {' | '.join(row)} |" for row in rows)
        yield ""


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
