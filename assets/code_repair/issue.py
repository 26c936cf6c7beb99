"""The issue of a repair, in words, and how a program reads it back."""

import re

from assets.code_repair.copy import ReadIssue
from assets.code_repair.records import Patch, Repair
from assets.engine.seeded_random import SeededRandom

OPENINGS = (
    "Since the last change `{call}` ends in `{result}`. Nobody wants that.",
    "`{call}` ends in `{result}`, which breaks our nightly run.",
    "Regression: `{call}` now ends in `{result}`.",
)
PATCHES = "Two patches of `{function}` in `{path}` are proposed. Lines with - go, lines with + come."
CLOSINGS = (
    "What has to come of this call was settled in {ticket}; please repair it by that, and nothing else.",
    "The team has settled this call before, in {ticket}. Please go by that.",
)
FIRST = "First patch:"
SECOND = "Second patch:"
CALLED = tuple(
    re.compile(re.escape(one).replace(r"\{call\}", "(?P<call>.+?)").replace(r"\{result\}", ".+?")) for one in OPENINGS
)
PLACE = re.compile(r"Two patches of `(?P<function>[\w.]+)` in `(?P<path>[^`]+)` are proposed")
SETTLED = re.compile(r"settled (?:this call before, )?in (?P<ticket>[\w-]+)[.;]")
PATCH = re.compile(r"^(?:First|Second) patch:\n((?:[-+].*\n?)+)", re.MULTILINE)


def issue_text(repair: Repair, ticket: str, rng: SeededRandom) -> str:
    """Return the issue: the failing call, both patches, and the ticket in which a rule was settled."""
    first, second = repair.patches
    return "\n".join(
        (
            rng.choice(OPENINGS).format(call=repair.call, result=repair.fails_with),
            PATCHES.format(function=repair.function, path=repair.path),
            FIRST,
            _shown(first),
            SECOND,
            _shown(second),
            rng.choice(CLOSINGS).format(ticket=ticket),
        )
    )


def _shown(patch: Patch) -> str:
    old = [f"-{line}" for line in patch.old.split("\n")]
    return "\n".join([*old, *(f"+{line}" for line in patch.new.split("\n"))])


def read_issue(text: str) -> ReadIssue | None:
    """Return what the issue is about; None where its words do not say."""
    called = next(filter(None, (pattern.search(text) for pattern in CALLED)), None)
    place = PLACE.search(text)
    settled = SETTLED.search(text)
    patches: list[tuple[str, str]] = []
    for block in PATCH.findall(text):
        lines = block.rstrip("\n").split("\n")
        old = [line[1:] for line in lines if line.startswith("-")]
        patches.append(("\n".join(old), "\n".join(line[1:] for line in lines if line.startswith("+"))))
    if called is None or place is None or settled is None or len(patches) != 2:
        return None
    return ReadIssue(place["function"], place["path"], called["call"], patches, settled["ticket"])
