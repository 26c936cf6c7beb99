"""Words of the data in Markdown: shown as they are, never read as markup.

Texts of a release come from models, personas and people who annotate. In a card, which the Hub shows as a page, none of them
may become an image, a link, code, a heading or HTML.
"""

import re

from assets.text.words import shorten

MARKUP = re.compile(r"([\\`*_\[\]!#~$|])")
# What GitHub's Markdown turns into links by itself.
ADDRESS = re.compile(r"(https?|ftp)://|www\.", re.IGNORECASE)
BACKTICKS = re.compile(r"`+")
LIST_ITEM = re.compile(r"^([-+=]|\d+(?=[.)]))")


def text(value: object, *, limit: int | None = None) -> str:
    """One line that shows these words, in a paragraph, a list or a cell of a table; at most `limit` of their characters."""
    flat = " ".join(str(value).split())
    if limit is not None:
        flat = shorten(flat, limit)
    escaped = MARKUP.sub(r"\\\1", flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    escaped = ADDRESS.sub(_without_link, escaped).replace("@", "&#64;")
    return LIST_ITEM.sub(_without_list, escaped)


def code(value: object) -> str:
    """A span of code that shows these words, whatever backticks they hold."""
    flat = " ".join(str(value).split()).replace("|", "\\|") or " "
    # A span ends at the first run of as many backticks.
    fence = "`" * (max((len(run) for run in BACKTICKS.findall(flat)), default=0) + 1)
    space = " " if flat[0] in "` " or flat[-1] in "` " else ""
    return f"{fence}{space}{flat}{space}{fence}"


def _without_link(found: re.Match[str]) -> str:
    return found[0].replace("://", "&#58;//").replace(".", "&#46;")


def _without_list(found: re.Match[str]) -> str:
    return f"&#{ord(found[0][0])};{found[0][1:]}"
