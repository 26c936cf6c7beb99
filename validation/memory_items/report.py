"""The quality report of tasks with documents in turns: measured portion by portion, shown as a page and in Dagster."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.ports import RunContext
from assets.memory_items.ablation import FACT_IN_DOCUMENT, was_right
from assets.memory_items.documents import TOKENIZER
from assets.memory_items.recipe import DocumentTaskRecipe
from assets.memory_items.report import ConditionLine, LengthLine, MemoryItemsReport
from assets.memory_items.tasks import MemoryTask
from assets.recipe.loading import expect_recipe
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, GateRecord
from assets.records.estimate import Estimate, shown
from assets.reporting.asset_description import Row, markdown_table
from assets.reporting.gate_summary import votes_of
from assets.reporting.user_share import UserShare
from validation.benchmark import CheckOutcome, ReportCheck, ReportSpec
from validation.memory_items.telling_apart import TellingApart
from validation.report import page
from validation.report.builder import MinimalReportBuilder, SharedLines
from validation.rules import RecordsByStage

ONE_LEFT_OUT = "without one hop"


class ConditionCounter:
    """Readings by condition and task; those without one hop count together."""

    def __init__(self) -> None:
        self._right: defaultdict[str, defaultdict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
        self._errors: Counter[str] = Counter()

    def add(self, item_id: str, votes: Iterable[GateRecord]) -> None:
        for vote in votes:
            if set(vote.target) != {"answer", "kind"}:
                continue
            name = ONE_LEFT_OUT if vote.gate.startswith("without hop") else vote.gate
            right = was_right(vote)
            self._errors[name] += right is None
            if right is not None:
                self._right[name][item_id].append(right)

    def lines(self, expected: Mapping[str, str]) -> list[ConditionLine]:
        """By condition, in the order in which they were first read; `expected` says what must come of each."""
        return [
            ConditionLine(
                condition=name,
                expected=expected.get(name, "wrong"),
                tasks=len(tasks),
                readings=sum(map(len, tasks.values())),
                right=share_over_items([(sum(own), len(own)) for own in tasks.values()]),
                errors=self._errors[name],
            )
            for name, tasks in self._right.items()
        ]


def share_over_items(counts: Sequence[tuple[int, int]]) -> Estimate:
    """A share with its interval over items; pairs of how many and of how many."""
    share = UserShare()
    for right, readings in counts:
        share.add(right, readings)
    return share.estimate()


class MemoryItemsReportBuilder(MinimalReportBuilder):
    """Measures ablation, lengths and how alike support and filler are, beside what every report has."""

    def __init__(self, recipe: Recipe, *, items: int, benchmark: Benchmark) -> None:
        super().__init__(recipe, items=items, benchmark=benchmark)
        self._measured, self._final = expect_recipe(recipe, DocumentTaskRecipe), benchmark.final.name
        self._conditions, self._apart = ConditionCounter(), TellingApart()
        self._sizes: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self._answers, self._hops, self._licenses = Counter[str](), Counter[str](), Counter[str]()

    def add(self, records: RecordsByStage) -> None:
        super().add(records)
        for rows in records.values():
            for item_id, record in rows.items():
                self._conditions.add(item_id, votes_of(record))
        for item in records[self._final].values():
            if isinstance(item, MemoryTask):
                self._measure(item)

    def _measure(self, task: MemoryTask) -> None:
        self._answers[task.answer.kind] += 1
        self._hops[str(len(task.hops))] += 1
        for sized in task.lengths:
            self._sizes[sized.target_tokens].append((sized.tokens, len(sized.turns), sum(1 for _ in sized.documents)))
        self._apart.add(task.item_id, task.lengths[0].documents)
        shown_or_written = (*task.lengths[-1].documents, *task.shown_with_question)
        self._licenses.update(one.license or "invented" for one in shown_or_written)

    async def report(self, shared: SharedLines, *, run_context: RunContext, problems: list[str]) -> MemoryItemsReport:
        self._add_failures(shared.failures)
        minimal = await super().report(shared, run_context=run_context, problems=problems)
        expected = {FACT_IN_DOCUMENT: "right", "facts": "right", "everything": "measured"}
        return MemoryItemsReport(
            **{name: getattr(minimal, name) for name in type(minimal).model_fields},
            tokenizer=TOKENIZER,
            conditions=tuple(self._conditions.lines(expected)),
            lengths=tuple(self._length_line(target) for target in sorted(self._sizes)),
            length_tolerance=self._measured.length_tolerance,
            auroc=self._apart.auroc(),
            max_auroc=self._measured.max_auroc,
            answers=dict(sorted(self._answers.items())),
            hops=dict(sorted(self._hops.items())),
            licenses=dict(sorted(self._licenses.items())),
        )

    def _add_failures(self, failures: Sequence[Failure]) -> None:
        """Replaced tasks count among the readings too, so that shares are not those of a choice."""
        for failure in failures:
            self._conditions.add(failure.item_id, failure.gate_records)

    def _length_line(self, target: int) -> LengthLine:
        tokens, turns, documents = zip(*self._sizes[target], strict=True)
        return LengthLine(
            target_tokens=target,
            tasks=len(tokens),
            shortest=min(tokens),
            longest=max(tokens),
            turns=round(sum(turns) / len(turns), 2),
            documents=round(sum(documents) / len(documents), 2),
        )


def render_page(report: MemoryItemsReport) -> str:
    """The page; a function of the report alone."""
    return page.render_page(report, template="page_of_items.html.j2", folder=Path(__file__).parent, shown=shown)


def report_metadata(report: MemoryItemsReport) -> dict[str, Any]:
    """Numbers that Dagster plots over time, and the report's tables in short."""
    conditions: list[Row] = [
        {
            "condition": one.condition,
            "expected": one.expected,
            "right": shown(one.right),
            "tasks": one.tasks,
            "errors": one.errors,
        }
        for one in report.conditions
    ]
    lengths: list[Row] = [one.model_dump() for one in report.lengths]
    plotted = chain(
        ((f"right_{one.condition.replace(' ', '_')}", one.right.value) for one in report.conditions),
        [("auroc", report.auroc.value if report.auroc else None)],
    )
    return {
        **{name: value for name, value in plotted if value is not None},
        "rules_broken": sum(bool(line.violations) for line in report.rules),
        "ablation": dg.MetadataValue.md(markdown_table(conditions)),
        "lengths": dg.MetadataValue.md(markdown_table(lengths)),
    }


def limits_outcome(report: MemoryItemsReport) -> CheckOutcome:
    """Passes when lengths are met and a bag of words tells support from filler no better than the recipe allows."""
    measured = shown(report.auroc) if report.auroc else "not measured, for there are too few tasks"
    sentence = f"A bag of words tells support from filler with an area of {measured}."
    return CheckOutcome(not report.exceeded_limits, " ".join(report.exceeded_limits) or sentence)


def document_report(measured: str) -> ReportSpec:
    """The report of a benchmark whose items are tasks over documents; `measured` begins the list of what it holds."""
    return ReportSpec(
        builder=MemoryItemsReportBuilder,
        render=render_page,
        metadata=report_metadata,
        checks=(
            ReportCheck(
                "limits_hold",
                "Lengths are met, and a bag of words cannot tell support from filler better than the recipe allows.",
                limits_outcome,
            ),
        ),
        description=f"How good the finished set is, as a record and a page: {measured}, lengths by what a memory receives, "
        "how alike support and filler are, rules, and what was replaced. A release needs it to pass.",
        sources=(MemoryItemsReportBuilder.add,),
    )
