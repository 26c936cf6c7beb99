"""So many of something, as a sentence has it: 1 user is, 2 users are, 1,200 replies."""

import re

ENDS_IN_Y = re.compile(r"[^aeiou]y$")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, as in 1 user and 1,200 users."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun that forms it by rule: users, replies, batches."""
    if ENDS_IN_Y.search(noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def is_or_are(count: int) -> str:
    """Return the verb after this number of things."""
    return "is" if count == 1 else "are"
