"""From written lines to finished sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Template

PRONOUNS = {
    "Female": {"S": "She", "s": "she", "P": "Her", "p": "her", "o": "her"},
    "Male": {"S": "He", "s": "he", "P": "His", "p": "his", "o": "him"},
}
REFLEXIVE = {"Female": "herself", "Male": "himself"}
_ARTICLE = re.compile(r"@a (\w+)")
_SOUNDS_CONSONANT = ("unif", "unit", "uniq", "use", "one", "eu")
_DECADES = {
    20: "twenties",
    30: "thirties",
    40: "forties",
    50: "fifties",
    60: "sixties",
    70: "seventies",
    80: "eighties",
}


def is_clause(line: str) -> bool:
    """True for a line that still needs a subject in front."""
    return line[:1].islower()


def names_person(line: str) -> bool:
    """True for a line that can open a text: it will hold the full name."""
    return is_clause(line) or "$N" in line


def fill(line: str, slots: Mapping[str, str]) -> str:
    """Replace the slots and settle every a or an."""
    return _ARTICLE.sub(_with_article, Template(line).substitute(slots))


def _with_article(match: re.Match[str]) -> str:
    word = match.group(1)
    vowel = word[0].lower() in "aeiou" and not word.startswith(_SOUNDS_CONSONANT)
    silent = word.startswith(("hour", "honest"))
    return f"{'an' if vowel or silent else 'a'} {word}"


def sentence(text: str) -> str:
    """Capital letter in front, full stop behind."""
    return f"{text[0].upper()}{text[1:]}."


def subjects(lines: Sequence[str], lead: str = "") -> list[str]:
    """Give every clause its subject: the name first, then turns."""
    turns = ["$S", "$F"]
    told: list[str] = []
    for position, line in enumerate(lines):
        if not is_clause(line):
            told.append(line)
        elif position == 0:
            told.append(f"{lead}$N {line}")
        else:
            told.append(f"{turns[0]} {line}")
            turns.reverse()
    return told


def age_phrase(age: int) -> str:
    """Such as "late thirties", to stand after "in her"."""
    if age < 20:
        return "late teens"
    part = "early" if age % 10 < 4 else "mid" if age % 10 < 7 else "late"
    return f"{part} {_DECADES[age // 10 * 10]}"


def listed(skills: Sequence[str]) -> str:
    """A Python list literal of capitalized entries, as the column holds it."""
    return repr([entry[0].upper() + entry[1:] for entry in skills])
