"""Reads calls as an interpreter shows them, also where a memory has put all of a document into one line."""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from assets.records.answers import read_date

DAY = r"\d{1,2} [A-Z][a-z]+ \d{4}"
STRING = r"b?'(?:[^'\\\n]|\\.)*'|b?\"(?:[^\"\\\n]|\\.)*\""
DEEPEST = 5  # brackets within brackets


def _bracket_pattern(depth: int) -> str:
    """Return the pattern of what stands in brackets, texts and other brackets included."""
    within = rf"{STRING}|[^\[\](){{}}'\"\n]"
    if depth:
        within += f"|{_bracket_pattern(depth - 1)}"
    return rf"[\[({{](?:{within})*+[\])}}]"


BRACKETED = _bracket_pattern(DEEPEST)
ERROR = r"Traceback \(most recent call last\):.*?raise (?:\w+\.)*(?P<error>\w+)\b.*?\s(?P=error)(?=:|\s|$)"
TRANSCRIPT = re.compile(
    rf"(?P<day>{DAY})(?:, with (?P<patch>\S+) applied)?:\s+>>> (?P<call>[\w.]+{BRACKETED})\s+"
    rf"(?:{ERROR}|(?P<value>{STRING}|{BRACKETED}|[^\s'\"\[({{]\S*))",
    re.DOTALL,
)


class ShownCall(NamedTuple):
    """A call that was run on a day, with a patch applied or with none, and what it came to: a literal, or an error's name."""

    day: date
    patch: str
    call: str
    result: str


def shown_calls_of(text: str) -> Iterator[ShownCall]:
    """Yield the calls that a document shows, in order."""
    for shown in TRANSCRIPT.finditer(text):
        day = read_date(shown["day"])
        if day is not None:
            yield ShownCall(day, shown["patch"] or "", shown["call"], shown["error"] or shown["value"])
