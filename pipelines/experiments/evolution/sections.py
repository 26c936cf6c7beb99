"""What an improved section must be before any assistant sees it: plain words, short enough, without signs of a template."""

import difflib
import re

TEMPLATE = re.compile(r"\{\{|\}\}|\{%|%\}|\{#|#\}|\$\{")
PLACEHOLDER = re.compile(r"\{\s*[A-Za-z_][\w.-]*\s*\}|<\s*/?\s*[A-Za-z_][^<>\n]{0,60}>")
CONTROL = re.compile(r"[^\n\t\x20-\x7e\u0080-\U0010ffff]|[\u0080-\u009f\u2028\u2029\ufeff]")


def usable(section: str, *, most_characters: int) -> str:
    """The section without blank lines around it. Raises ValueError with a sentence for the model."""
    section = section.strip()
    if not section:
        raise ValueError("The section is empty; list the kinds of information to remember.")
    if len(section) > most_characters:
        raise ValueError(f"The section has {len(section)} characters; at most {most_characters} are allowed, so shorten it.")
    sign = TEMPLATE.search(section) or PLACEHOLDER.search(section) or CONTROL.search(section)
    if sign is not None:
        raise ValueError(
            f"The section holds {sign[0]!r}, which looks like a placeholder, a tag or a control character; write plain words."
        )
    if not _paired(section):
        raise ValueError("The section's braces do not pair; write it without braces.")
    return section


def _paired(text: str) -> bool:
    depth = 0
    for mark in re.findall(r"[{}]", text):
        depth += 1 if mark == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def changed_lines(before: str, after: str) -> tuple[str, ...]:
    """All lines of both, each with "  ", "- " or "+ " before it."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return tuple(line for line in lines if not line.startswith("? "))
