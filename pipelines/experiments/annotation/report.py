"""A study's result in words, for the terminal and as Markdown."""

from collections.abc import Iterator

from assets.records.annotation import StudyResult
from assets.records.estimate import Estimate, percents, shown
from pipelines.experiments.annotation.results import Collected

SCORES = {
    "exposure": "Exposure score (mean rating, from 0 to 1)",
    "integrity": "Consistency score (1: no conflict anywhere)",
    "truth": "Right options chosen",
}


def report(result: StudyResult) -> str:
    """All figures with their intervals over users."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: StudyResult) -> Iterator[str]:
    yield f"# {result.study}: {result.kind} on {result.dataset}{f', run {result.run}' if result.run else ''}"
    yield ""
    if result.dry_run:
        yield "**Dry run:** a model filled in for at least one person. It tells that the tooling works, nothing of the data."
        yield ""
    yield f"{result.items} items of {result.users} users were rated by two or more. Intervals are 95 %, over users."
    yield ""
    yield "| figure | value |"
    yield "|---|---|"
    yield f"| {SCORES[result.kind]} | {percents(result.score)} |"
    yield f"| Raw agreement | {percents(result.raw)} |"
    yield f"| Gwet's AC1 | {shown(result.ac1)} |"
    yield f"| Krippendorff's alpha ({result.level}) | {_alpha(result.alpha)} |"
    yield ""
    yield "| annotator | | rated | as the release says | planted wrong labels found |"
    yield "|---|---|---:|---:|---:|"
    for line in result.annotators:
        who = f"model {line.model}" if line.kind == "model" else "person"
        caught = f"{line.caught} of {line.controls}" if line.controls else "none planted"
        yield f"| {line.name} | {who} | {line.answered} | {percents(line.agrees)} | {caught} |"
    yield ""
    yield f"Items on which they are not of one mind: {result.disputed}; adjudicated of these: {result.adjudicated}."
    yield ""
    yield from (f"- {sentence}" for sentence in result.sizing)


def _alpha(estimate: Estimate) -> str:
    return "does not exist: all labels are alike" if estimate.value is None else shown(estimate)


def progress(found: Collected) -> str:
    """How far each annotator is, in a sentence."""
    parts = [f"{sheet.annotator} {len(sheet.answers)} of {len(sheet.items or found.study.tasks)}" for sheet in found.sheets]
    return f"{found.study.name}: {', '.join(parts)}."
