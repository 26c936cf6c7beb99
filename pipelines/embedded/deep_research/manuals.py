"""Facts in sections of technical manuals, by the set phrases that manuals use for them; names may be any."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from pipelines.embedded.task import PromptTask

NAME = r"[A-Za-z_][\w.]*\w"
# A line that begins what is said of something: "class a.B(c)", "a.b(c)", "exception A", "a_b (integer)".
SIGNATURE = re.compile(
    rf"^(?:class |exception |function )?(?P<name>{NAME})(?:\(.*\)| \((?:integer|boolean|string|enum|floating point)\))?$"
)
# The line that begins what a package says of itself.
PACKAGE = re.compile(r"^Name: (?P<name>\S+)$")


@dataclass(frozen=True)
class ManualFact:
    """A fact with the line that states it; `phrase` has {x} for the subject."""

    subject: str
    relation: str
    phrase: str
    value: str
    kind: str
    quote: str


@dataclass(frozen=True)
class Pattern:
    """A set phrase of manuals, and what it says of the subject of the lines before."""

    relation: str
    phrase: str
    kind: str
    words: re.Pattern[str]


PATTERNS = (
    Pattern(
        "replaced_by",
        "the thing that is to be used instead of {x}",
        "name",
        re.compile(
            rf"^Deprecated since version [\d.]+(?:, [^:]*)?: (?:Please )?[Uu]se (?P<value>{NAME})(?:\(\))?(?: or | instead|\.)"
        ),
    ),
    Pattern("parent", "the parent class of {x}", "name", re.compile(rf"\b[Ss]ubclass of (?P<value>{NAME})\b")),
    Pattern(
        "counterpart",
        "the thing that {x} is the same as or an alias of",
        "name",
        re.compile(
            rf"(?:^|\. )(?:This is |Is )?(?:[Aa]n )?(?:[Aa]lias (?:for|of)|[Tt]he same as|[Ee]quivalent to) "
            rf"(?P<value>{NAME})\(?\)?[.,]"
        ),
    ),
    Pattern(
        "returned_class",
        "the class of what {x} returns",
        "name",
        re.compile(rf"^Returns? (?:an?|the) (?:new |corresponding )?(?P<value>{NAME}) (?:object|instance)\b"),
    ),
    Pattern(
        "raised_error",
        "the error that {x} raises",
        "name",
        re.compile(r"\b[Rr]aises? (?:an? )?(?P<value>[A-Za-z_.]+(?:Error|Exception|Warning))\b"),
    ),
    Pattern(
        "added_in",
        "the version in which {x} was added",
        "number",
        re.compile(r"^New in version (?P<value>\d+\.\d+(?:\.\d+)?)\.$"),
    ),
    Pattern(
        "deprecated_in",
        "the version since which {x} has been deprecated",
        "number",
        re.compile(r"^Deprecated since version (?P<value>\d+\.\d+(?:\.\d+)?)[.:,]"),
    ),
    Pattern(
        "default",
        "the default value of {x}",
        "name",
        re.compile(r"[Tt]he default (?:value |setting )?is (?!None|True|False)(?P<value>\w[\w.-]*\w)[. ,]"),
    ),
    Pattern(
        "needs", "the one package that {x} always needs", "name", re.compile(r"^Requires-Dist: (?P<value>\w[\w.-]*\w)[^;]*$")
    ),
    Pattern(
        "needs_since",
        "the oldest version that {x} takes of what it needs",
        "name",
        re.compile(r"^Requires-Dist: [\w.-]+>=(?P<value>\d[\w.]*)$"),
    ),
    Pattern("release", "the version of {x}", "name", re.compile(r"^Version: (?P<value>\S+)$")),
    Pattern("license", "the license of {x}", "name", re.compile(r"^License-Expression: (?P<value>.+)$")),
    Pattern(
        "oldest_python", "the oldest Python that {x} runs on", "name", re.compile(r"^Requires-Python: .*>= ?(?P<value>[\d.]+)")
    ),
    Pattern("limit", "the setting by which {x} is limited", "name", re.compile(rf"limited by (?P<value>{NAME})\b")),
)


@lru_cache(maxsize=2048)
def manual_facts(text: str) -> tuple[ManualFact, ...]:
    """Read the facts of a section, in order; each is about the signature that stands above it."""
    facts: list[ManualFact] = []
    subject = ""
    for line in text.split("\n"):
        signature = SIGNATURE.match(line) or PACKAGE.match(line)
        if signature:
            subject = signature["name"]
        elif subject:
            facts.extend(_facts_of_line(line, subject))
    return tuple(facts)


def _facts_of_line(line: str, subject: str) -> Iterator[ManualFact]:
    for pattern in PATTERNS:
        match = pattern.words.search(line)
        if match is None:
            continue
        value = match["value"].rstrip(".")
        # A name behind an underscore is the end of another one.
        if value != subject and "_" + value not in line:
            yield ManualFact(subject, pattern.relation, pattern.phrase, value, pattern.kind, line)


def extract_manual_facts(task: PromptTask) -> dict[str, Any]:
    """Return the reply to `dr_facts/extract`."""
    return {"facts": list(map(asdict, manual_facts(task.text("section"))))}
