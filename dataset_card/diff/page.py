"""The diff as one HTML page that needs nothing else, with changed words marked."""

from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dataset_card.diff.card_section import figure_text
from dataset_card.diff.records import ReleaseDiff

Mark = Literal["same", "gone", "new"]
USERS_SHOWN = 50


def diff_page(diff: ReleaseDiff) -> str:
    """The page. It follows from the diff alone."""
    return _environment().get_template("diff.html.j2").render(diff=diff, users_shown=USERS_SHOWN)


def marked_words(before: str, after: str) -> list[tuple[Mark, str]]:
    """Both texts in one, word by word. The texts of "same" and "new" make up `after`, of "same" and "gone" `before`."""
    old, new = before.split(" "), after.split(" ")
    found: list[tuple[Mark, str]] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if kind == "equal":
            found.append(("same", " ".join(old[start:end])))
            continue
        if start < end:
            found.append(("gone", " ".join(old[start:end])))
        if new_start < new_end:
            found.append(("new", " ".join(new[new_start:new_end])))
    return found


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
