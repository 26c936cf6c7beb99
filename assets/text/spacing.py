"""Spaces that a reader cannot tell apart, but a program can: two in a row, a non-breaking one, a tab.

An option that has such a space would be known by it. Replies of writers lose them, and texts of others are checked for them.
"""

import re

# Line ends are seen, so they stay.
ODD_SPACE = re.compile(r"[^\S \n]|[^\S\n]{2,}|[^\S\n]\n|\n[^\S\n]")
SPACES = re.compile(r"[^\S\n]+")
SPACES_AT_LINE_ENDS = re.compile(r" ?\n ?")


def with_plain_spaces(text: str) -> str:
    """Return the text with single ordinary spaces, and none before or after a line's end."""
    return SPACES_AT_LINE_ENDS.sub("\n", SPACES.sub(" ", text))
