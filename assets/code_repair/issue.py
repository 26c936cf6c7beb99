"""The issue of a repair, in words, and how a program reads it back."""

import re

from assets.code_repair.copy import ReadIssue
from assets.code_repair.records import Patch, Repair
from assets.engine.seeded_random import SeededRandom

OPENINGS = (
    "Since the last change `{call}` comes to `{result}`. Nobody wants that.",
    "I get `{result}` from `{call}`, which breaks our nightly run.",
    "Regression: `{call}` now comes to `{result}`.",
)
PATCHES = "Two patches of `{function}` in `{path}` are proposed. Lines with - go, lines with + come."
CLOSINGS = (
    "Which behaviour of the function we hold to was settled before; please repair it by that, and nothing else.",
    "The team has settled before what we hold the function to. Please go by that.",
)
FIRST = "First patch:"
SECOND = "Second patch:"
CALLED = tuple(
    re.compile(re.escape(one).replace(r"\{call\}", "(?P<call>.+?)").replace(r"\{result\}", ".+?")) for one in OPENINGS
)
PLACE = re.compile(r"Two patches of `(?P<function>[\w.]+)` in `(?P<path>[^`]+)` are proposed")
PATCH = re.compile(r"^(?:First|Second) patch:\n((?:[-+].*\n?)+)", re.MULTILINE)


def issue_text(repair: Repair, rng: SeededRandom) -> str:
    """Return the issue: the failing call, both patches, and that a rule was settled before."""
    first, second = repair.patches
    return "\n".join(
        (
            rng.choice(OPENINGS).format(call=repair.call, result=repair.fails_with),
            PATCHES.format(function=repair.function, path=repair.path),
            FIRST,
            _shown(first),
            SECOND,
            _shown(second),
            rng.choice(CLOSINGS),
        )
    )


def _shown(patch: Patch) -> str:
    old = [f"-{line}" for line in patch.old.split("\n")]
    return "\n".join([*old, *(f"+{line}" for line in patch.new.split("\n"))])


def read_issue(text: str) -> ReadIssue | None:
    """Return what the issue is about; None where its words do not say."""
    called = next(filter(None, (pattern.search(text) for pattern in CALLED)), None)
    place = PLACE.search(text)
    patches: list[tuple[str, str]] = []
    for block in PATCH.findall(text):
        lines = block.rstrip("\n").split("\n")
        old = [line[1:] for line in lines if line.startswith("-")]
        patches.append(("\n".join(old), "\n".join(line[1:] for line in lines if line.startswith("+"))))
    if called is None or place is None or len(patches) != 2:
        return None
    return ReadIssue(place["function"], place["path"], called["call"], patches)
