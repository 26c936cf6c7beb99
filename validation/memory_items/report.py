"""The quality report of tasks with documents in turns: measured portion by portion, shown as a page and in Dagster."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from assets.engine.benchmark import Benchmark
from assets.engine.ports import RunContext
from assets.memory_items.ablation import FACT_IN_DOCUMENT, was_right
from assets.memory_items.documents import TOKENIZER, SizedItem
from assets.memory_items.facts import Fact, StatedFacts
from assets.memory_items.final_ablation import EVERYTHING, FACTS, OWN
from assets.memory_items.report import ConditionLine, LengthLine, MemoryItemsReport
from assets.memory_items.tasks import MemoryTask
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.recipe.loading import expect_recipe
from assets.recipe.recipe import Recipe
from assets.records.base import GateRecord
from assets.records.estimate import Estimate, with_interval
from assets.reporting.cheap_readers import CheapReaders, History
from assets.reporting.gate_summary import votes_of
from assets.reporting.statistic import UserShare
from validation.memory_items.arrival import ArrivalCounter
from validation.memory_items.telling_apart import TellingApart
from validation.report import page
from validation.report.builder import MinimalReportBuilder, SharedLines
from validation.report.validation import CheckOutcome, ReportCheck, ReportSpec, values_by_name
from validation.rules import RecordsOfItem

# Each hop is a condition of its own, and tasks differ in their number of hops.
ONE_LEFT_OUT = "without one hop"
# What must come of a condition that is not to be answered wrongly.
EXPECTED = {FACT_IN_DOCUMENT: "right", FACTS: "right", OWN: "right", EVERYTHING: "measured"}


class ConditionCounter:
    """Count readings by condition and task; those without one hop count together."""

    def __init__(self) -> None:
        self._right: defaultdict[str, defaultdict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
        self._errors: Counter[str] = Counter()

    def add(self, item_id: str, votes: Iterable[GateRecord]) -> None:
        for vote in votes:
            # Other votes of these stages are about documents, not about answers.
            if set(vote.target) != {"answer", "kind"}:
                continue
            name = ONE_LEFT_OUT if vote.gate.startswith("without hop") else vote.gate
            right = was_right(vote)
            self._errors[name] += right is None
            if right is not None:
                self._right[name][item_id].append(right)

    def lines(self) -> list[ConditionLine]:
        """Return a line per condition, in the order in which they were first read."""
        lines: list[ConditionLine] = []
        for name, tasks in self._right.items():
            share = UserShare()
            for own in tasks.values():
                share.add(sum(own), len(own))
            line = ConditionLine(
                condition=name,
                expected=EXPECTED.get(name, "wrong"),
                tasks=share.users,
                readings=share.items,
                right=share.estimate(),
                errors=self._errors[name],
            )
            lines.append(line)
        return lines


class LengthCounter:
    """Count the tasks at one length, and what a memory receives of each."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._turns = 0
        self._documents = 0

    def add(self, sized: SizedItem) -> None:
        self._tokens.append(sized.tokens)
        self._turns += len(sized.turns)
        self._documents += len(list(sized.documents))

    def line(self, target: int) -> LengthLine:
        tasks = len(self._tokens)
        return LengthLine(
            target_tokens=target,
            tasks=tasks,
            shortest=min(self._tokens),
            longest=max(self._tokens),
            turns=round(self._turns / tasks, 2),
            documents=round(self._documents / tasks, 2),
        )


def worst_areas(by_length: Iterable[Mapping[str, Estimate]]) -> dict[str, Estimate]:
    """Return each area of the length at which support is told from filler best."""
    worst: dict[str, Estimate] = {}
    for areas in by_length:
        for name, area in areas.items():
            known = worst.get(name)
            if known is None or (area.value or 0.0) > (known.value or 0.0):
                worst[name] = area
    return worst


class MemoryItemsReportBuilder(MinimalReportBuilder):
    """Measures ablation, lengths, the order of arrival and how alike support and filler are, beside what every report has."""

    def __init__(self, recipe: Recipe, *, items: int, benchmark: Benchmark) -> None:
        super().__init__(recipe, items=items, benchmark=benchmark)
        self._document_recipe = expect_recipe(recipe, DocumentTaskRecipe)
        self._conditions = ConditionCounter()
        self._apart: defaultdict[int, TellingApart] = defaultdict(TellingApart)
        self._arrival = ArrivalCounter()
        self._lengths: defaultdict[int, LengthCounter] = defaultdict(LengthCounter)
        self._answers = Counter[str]()
        self._operations = Counter[str]()
        self._hops = Counter[str]()
        self._licenses = Counter[str]()
        self._cheap_readers = CheapReaders()

    def add(self, records: RecordsOfItem) -> None:
        super().add(records)
        facts: Sequence[Fact] = ()
        for record in records.values():
            self._conditions.add(record.item_id, votes_of(record))
            if isinstance(record, StatedFacts):
                facts = record.facts
        item = records[self._benchmark.final.name]
        if isinstance(item, MemoryTask):
            self._measure(item)
            self._arrival.add(item, facts)

    def _measure(self, task: MemoryTask) -> None:
        self._answers[task.answer.kind] += 1
        self._operations[task.operation] += 1
        self._hops[str(len(task.hops))] += 1
        for sized in task.lengths:
            self._lengths[sized.target_tokens].add(sized)
        # The shortest length has least filler to hide among; in the longest more names recur.
        for sized in (*task.lengths[:1], *task.lengths[1:][-1:]):
            self._apart[sized.target_tokens].add(task.item_id, sized)
        self._cheap_readers.add(list(map(partial(_read_cheaply, task), task.lengths)))
        for document in (*task.lengths[-1].documents, *task.shown_with_question):
            self._licenses[document.license or "invented"] += 1

    async def report(self, shared: SharedLines, *, run_context: RunContext, problems: list[str]) -> MemoryItemsReport:
        # Replaced tasks count among the readings too: without them the shares would be those of a selection.
        for failure in shared.failures:
            self._conditions.add(failure.item_id, failure.gate_records)
        minimal = await super().report(shared, run_context=run_context, problems=problems)
        return MemoryItemsReport(
            **minimal.model_dump(exclude={"cheap_readers", "max_found_cheaply"}),
            tokenizer=TOKENIZER,
            cheap_readers=self._cheap_readers.lines(),
            max_found_cheaply=self._document_recipe.max_found_cheaply,
            conditions=tuple(self._conditions.lines()),
            lengths=tuple([counter.line(target) for target, counter in sorted(self._lengths.items())]),
            length_tolerance=self._document_recipe.length_tolerance,
            told_apart=worst_areas(measured.areas() for measured in self._apart.values()),
            max_auroc=self._document_recipe.max_auroc,
            arrival=tuple(self._arrival.lines()),
            arrival_gap=self._arrival.gap(),
            answers=dict(sorted(self._answers.items())),
            operations=dict(sorted(self._operations.items())),
            hops=dict(sorted(self._hops.items())),
            licenses=dict(sorted(self._licenses.items())),
        )


def _read_cheaply(task: MemoryTask, sized: SizedItem) -> Mapping[str, Sequence[str]]:
    """Return what cheap readers find of a length of a task."""
    needed: defaultdict[int, list[str]] = defaultdict(list)
    told_names: dict[int, str] = {}
    texts: list[str] = []
    for document in sized.documents:
        for hop in task.hops:
            if hop.fact_id in document.facts:
                if hop.relation == task.names_by:
                    told_names[len(texts)] = hop.value
                needed[len(texts)] += [hop.subject, document.text[hop.start : hop.end]]
        texts.append(document.text_with_title)
    names = task.names_in_question
    return History(texts).readers_that_find(needed, question=task.question, names=names, told_names=told_names)


def render_document_page(report: MemoryItemsReport) -> str:
    """Return the page; a function of the report alone."""
    return page.render_template(report, template="page_of_items.html.j2", folder=Path(__file__).parent, shown=with_interval)


def document_metadata(report: MemoryItemsReport) -> dict[str, Any]:
    """Return numbers that Dagster plots over time."""
    metadata: dict[str, Any] = {}
    for condition in report.conditions:
        if condition.right.value is not None:
            metadata[f"right_{condition.condition.replace(' ', '_')}"] = condition.right.value
    areas = [area.value for area in report.told_apart.values() if area.value is not None]
    if areas:
        metadata["auroc"] = max(areas)
    metadata["rules_broken"] = page.broken_rules(report)
    return metadata


def limits_outcome(report: MemoryItemsReport) -> CheckOutcome:
    """Pass when lengths are met, support is told from filler no better than allowed, and arrival tells nothing."""
    told = [f"by {name} with an area of {with_interval(area)}" for name, area in report.told_apart.items()]
    measured = "; ".join(told) or "not measured, for there are too few tasks"
    sentence = " ".join(report.exceeded_limits) or f"Support told from filler: {measured}."
    return CheckOutcome(not report.exceeded_limits, sentence, values_by_name(report.told_apart))


def document_report(measured: str) -> ReportSpec:
    """Return the report of a benchmark of tasks over documents. `measured` begins the list of what the report holds."""
    return ReportSpec(
        builder=MemoryItemsReportBuilder,
        render=render_document_page,
        metadata=document_metadata,
        checks=(
            ReportCheck(
                "limits_hold",
                "Lengths are met, nothing tells support from filler better than the recipe allows, and the order of arrival "
                "does not tell what counts.",
                limits_outcome,
            ),
        ),
        description=f"How good the finished set is: {measured}, lengths by what a memory receives, "
        "how alike support and filler are, what the order tells, rules, and what was replaced. A release needs it to pass.",
        sources=(MemoryItemsReportBuilder.add,),
    )
