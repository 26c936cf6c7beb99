"""Rules about behaviours: calls of a package's functions, and what they return or raise."""

import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from assets.code_qa.records.behaviours import CodeBehaviours, is_literal
from assets.code_qa.records.sources import CodeSources
from assets.isolation.boundary import run_isolated
from assets.recipe.code_qa import PackageRecipe
from assets.records.base import duplicates
from assets.reporting.plurals import counted, is_or_are
from validation.rules import Rule

# Calls are made again by other code than the one that found their results, so that a fault in either shows.
PROGRAM = Path(__file__).with_name("recalling.py")
SECONDS = 120  # for all calls of one package


def behaviours_are_true(behaviours: CodeBehaviours, sources: CodeSources, _: PackageRecipe) -> Iterator[str]:
    calls = [ToldCall(behaviour.call, behaviour.result.outcome, behaviour.result.text) for behaviour in behaviours.behaviours]
    yield from false_calls(calls, {file.path: file.text for file in sources.files})


def calls_are_of_targets(behaviours: CodeBehaviours, sources: CodeSources, _: PackageRecipe) -> Iterator[str]:
    for behaviour in behaviours.behaviours:
        if behaviour.symbol_id not in sources.targets:
            yield f"{behaviour.call} calls no function of the question's"


def calls_are_literal(behaviours: CodeBehaviours, _: PackageRecipe) -> Iterator[str]:
    for call in duplicates([behaviour.call for behaviour in behaviours.behaviours]):
        yield f"{call} is there twice"
    for behaviour in behaviours.behaviours:
        texts = list(map(_value_of, behaviour.arguments))
        if behaviour.result.outcome == "returns":
            texts.append(behaviour.result.text)
        for text in texts:
            if not is_literal(text):
                yield f"{behaviour.call} has {text}, which is no literal"


def lengths_fit(behaviours: CodeBehaviours, recipe: PackageRecipe) -> Iterator[str]:
    policy = recipe.behaviours
    count = len(behaviours.behaviours)
    if count < policy.min_behaviours:
        yield f"there {is_or_are(count)} only {counted(count, 'behaviour')}"
    for behaviour in behaviours.behaviours:
        if len(behaviour.call) > policy.max_call_characters or len(behaviour.result.text) > policy.max_result_characters:
            yield f"{behaviour.call} or its result is longer than the recipe allows"


def near_misses_are_of_changes(behaviours: CodeBehaviours, _: PackageRecipe) -> Iterator[str]:
    for behaviour in behaviours.behaviours:
        for near in behaviour.near_misses:
            if " in line " not in near.change:
                yield f"a near miss of {behaviour.call} does not say what was changed"


def _value_of(argument: str) -> str:
    """Return the value of an argument as it is written, positional or by name."""
    name, is_named, value = argument.partition("=")
    return value if is_named and name.isidentifier() else argument


class ToldCall(NamedTuple):
    """A call as it is written. `outcome`: returns or raises; `result`: the literal, or the exception's name."""

    call: str
    outcome: str
    result: str


def false_calls(calls: Sequence[ToldCall], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each call whose result differs from the recorded one. `texts`: a package's files by path.

    Raises NoBoundary.
    """
    reports = _made_again(calls, texts)
    for told, report in zip(calls, reports, strict=False):
        if report:
            yield f"a text says that {told.call} gives {told.result}; it {report}"
    if len(reports) < len(calls):
        yield f"{calls[len(reports)].call} cannot be made again: it ended the process, or took longer than {SECONDS} seconds"


def _made_again(calls: Sequence[ToldCall], texts: Mapping[str, str]) -> list[str]:
    """Return for each call "", or what else it came to; fewer than calls when one of them ended the process."""
    with tempfile.TemporaryDirectory(prefix="calls-") as folder:
        archive = Path(folder) / "package.zip"
        with zipfile.ZipFile(archive, "w") as written:
            for path, text in sorted(texts.items()):
                written.writestr(path, text)
        job = {"archive": str(archive), "calls": [call._asdict() for call in calls], "seconds": SECONDS}
        made = run_isolated(PROGRAM, job=job, folder=Path(folder), seconds=2 * SECONDS)
    # Code of the package may have written lines of its own, so there may be more than were asked for.
    return [_decode_line(line) for line in made.split(b"\n")[: len(calls)] if line]


def _decode_line(line: bytes) -> str:
    """Return the text of a line, which code of the package may have forged."""
    try:
        return bytes.fromhex(line.removeprefix(b"=").decode("ascii")).decode()
    except ValueError:
        return "sends something that is no report"


RULES = (
    Rule(
        "behaviours_are_true",
        "Every call, made again, gives the result that is told.",
        behaviours_are_true,
        reads=("sources",),
    ),
    Rule("calls_are_of_targets", "Every call is of a function of the question's.", calls_are_of_targets, reads=("sources",)),
    Rule("calls_are_literal", "Arguments and results are literals, and no call is there twice.", calls_are_literal),
    Rule("lengths_fit", "Calls and results are short, and there are enough.", lengths_fit),
    Rule("near_misses_are_of_changes", "A near miss says what was changed.", near_misses_are_of_changes),
)
