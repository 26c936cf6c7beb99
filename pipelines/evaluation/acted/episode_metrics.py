"""Figures of episodes: how an agent acted with the memory, and with what stood in its place."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from assets.records.estimate import Estimate
from assets.worlds.steps import EpisodeStep, read_episode
from pipelines.evaluation.metrics.own import ASKED, FIRED, OwnFigures, OwnMetrics
from pipelines.evaluation.records import OF_MEMORY, AnswerRow, RunManifest
from pipelines.evaluation.report.sections import ReportSection, ReportTable

WITH_TEXT = ("text", "filled")
# Columns of the table: the figure, its name for a reader, and how it is written.
COLUMNS = (
    (FIRED, "episodes in which the memory gave text", "{:.0%}"),
    (ASKED, "times asked", "{:.1f}"),
    ("gave", "of these with text", "{:.0%}"),
    ("filled", "of these with a full budget", "{:.0%}"),
    ("steps", "steps", "{:.1f}"),
    ("lookups", "lookups", "{:.1f}"),
    ("writes", "writes", "{:.1f}"),
    ("useless", "no action or refused", "{:.1f}"),
    ("tokens_per_pass", "tokens per pass", "{:,.0f}"),
)


class EpisodeMetrics(OwnMetrics):
    """The episodes of each kind of row. Steps, lookups and writes are means over episodes; `passed` is their number.

    `fired`: the share of episodes in which the memory gave any text; no number where no memory was asked, as for the next
    three. `asked`: how often it was asked in an episode; of that `gave` is the share with any text, and `filled` with a full
    budget. `useless`: steps that were no action, or were refused. `tokens_per_pass`: tokens sent and received for each episode
    that passed; no number where none did.
    """

    def figures(self, answers: Sequence[AnswerRow], manifest: RunManifest) -> tuple[OwnFigures, ...]:
        by_kind: dict[str, list[tuple[AnswerRow, Sequence[EpisodeStep]]]] = {}
        for row in answers:
            try:
                steps = read_episode(row.reply)
            except ValidationError:
                continue
            by_kind.setdefault(row.kind, []).append((row, steps))
        return tuple(_figures(kind, rows) for kind, rows in by_kind.items())

    def sections(self, figures: Sequence[OwnFigures]) -> Iterator[ReportSection]:
        if not figures:
            return
        rows: list[list[str]] = []
        for group in figures:
            cells = [group.value.replace("_", " "), f"{group['passed'].value or 0:,.0f} of {group.count:,}"]
            for name, _, form in COLUMNS:
                value = group[name].value
                cells.append("-" if value is None else form.format(value))
            rows.append(cells)
        head = ["asked with", "passed", *(label for _, label, _ in COLUMNS)]
        yield ReportSection("episodes", "Episodes", [ReportTable(head, rows)])


EPISODES = EpisodeMetrics()


def _figures(kind: str, rows: Sequence[tuple[AnswerRow, Sequence[EpisodeStep]]]) -> OwnFigures:
    did: Counter[str] = Counter()
    given: Counter[str] = Counter()
    passed = fired = tokens = 0
    for row, steps in rows:
        did.update(step.did for step in steps)
        given.update(step.memory for step in steps if step.memory)
        passed += row.status == "right"
        fired += bool(row.memories) or any(step.memory in WITH_TEXT for step in steps)
        tokens += row.input_tokens + row.output_tokens
    count = len(rows)
    asked = given.total()
    of_memory = kind in OF_MEMORY
    figures = {
        "passed": passed,
        FIRED: fired / count if of_memory else None,
        ASKED: asked / count if of_memory else None,
        "gave": (asked - given["nothing"]) / asked if of_memory and asked else None,
        "filled": given["filled"] / asked if of_memory and asked else None,
        "steps": did.total() / count,
        "lookups": did["looked"] / count,
        "writes": did["wrote"] / count,
        "useless": did["nothing"] / count,
        "tokens_per_pass": tokens / passed if passed else None,
    }
    estimates: dict[str, Estimate] = {}
    for name, value in figures.items():
        estimates[name] = Estimate(value=None if value is None else round(value, 6), low=None, high=None)
    return OwnFigures(by="kind", value=kind, count=count, figures=estimates)
