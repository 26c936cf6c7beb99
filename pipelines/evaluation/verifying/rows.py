"""The rows of a finished run held against its data set: none is missing, and each follows from its reply and its texts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from assets.llm.usage import Usage
from assets.reporting.plurals import counted
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.isolated import KIND_OF
from pipelines.evaluation.reasoning import Answer
from pipelines.evaluation.records import CALL_FAILED, AnswerRow, Arm, AskKind, RunManifest
from pipelines.evaluation.spending import priced_fields
from pipelines.evaluation.timeline.steps import Perceived, Timeline
from pipelines.evaluation.verifying.graded import GradedQuestions
from pipelines.evaluation.verifying.usage import changed_prompts, usage_differences
from pipelines.memories.contract import cut_to_budget

TOLD = 3  # rows of one kind of problem that are named
VERDICT = ("expected", "given", "status")
RowKey = tuple[AskKind, tuple[str, int, int, str]]


@dataclass
class RowsOfItem:
    """The rows of one item, and the same as they follow from the data set. `asks`: the usage of each ask, once."""

    timeline: Timeline
    rows: list[AnswerRow] = field(default_factory=list[AnswerRow])
    graded: list[AnswerRow] = field(default_factory=list[AnswerRow])
    asks: dict[tuple[int, str, int], Usage] = field(default_factory=dict[tuple[int, str, int], Usage])


def row_problems(run: FinishedRun, timelines: Sequence[Timeline]) -> Iterator[str]:
    """Yield what is wrong with the answers: missing or twice there, graded otherwise, changed, or longer than the budget."""
    missing = list(_missing_rows(run, timelines))
    yield from missing
    items = rows_by_item(run, timelines)
    differing = list[str]()
    otherwise = list[str]()
    ended = {error.item_id for error in run.results.errors}
    believed = {"asked"} if changed_prompts(run.manifest) else set[str]()
    for item in items:
        for row, own in zip(item.rows, item.timeline.conclude(item.graded), strict=True):
            name = f"{row.kind} {row.item} of {row.user_id}, period {row.period}"
            fields = [field for field in AnswerRow.model_fields if getattr(row, field) != getattr(own, field)]
            if any(field in VERDICT for field in fields):
                otherwise.append(f"{name}: {own.status}, not {row.status}")
            # How an answer was lost follows from all rows of its item.
            elif not missing and set(fields) - believed:
                differing.append(f"{name}: {', '.join(fields)}")
    yield from tell_rows(otherwise, "its reply is graded otherwise by the data set")
    yield from tell_rows(differing, "it does not follow from the data set, its reply and what was recalled")
    yield from tell_rows(list(_over_budget(run)), "its budget is not the run's, or more was recalled")
    yield from tell_rows(list(_never_asked(items, ended)), "it was never asked, and no error says why")
    for item in items:
        whole = not missing and item.timeline.item_id not in ended
        exact = whole and not any(row.reason.startswith(CALL_FAILED) for row in item.rows)
        yield from usage_differences(run, item.timeline.item_id, sum(item.asks.values(), Usage()), exact=exact)


def _missing_rows(run: FinishedRun, timelines: Sequence[Timeline]) -> Iterator[str]:
    """Yield a sentence for each kind of rows of which some are missing, or too many. Arms are asked where there is a text."""
    ended = {error.item_id for error in run.results.errors}
    needed = Counter[RowKey]()
    allowed = Counter[RowKey]()
    for timeline in timelines:
        own = list(_keys_of(timeline, run.manifest))
        allowed.update(own)
        # An item that ended early has all its questions, and the rest as far as it came.
        needed.update([key for key in own if timeline.item_id not in ended or key[0] == "question"])
    found = Counter[RowKey]((row.kind, row.question_key) for row in run.answers if row.kind not in get_args(Arm))
    wrong = Counter(kind for kind, _ in {*(needed - found), *(found - allowed)})
    for kind, count in wrong.items():
        yield f"{kind}: {counted(count, 'question')} of the data set missing, or too many, among the answers."


def _keys_of(timeline: Timeline, manifest: RunManifest) -> Iterator[RowKey]:
    """Yield the kind and the question of each row that the item has when it is finished."""
    alone = manifest.is_alone
    gradables = list(timeline.in_run(alone=True).gradables if alone else timeline.gradables)
    own = {gradable.kind for gradable in gradables}
    repeated: list[AskKind] = [KIND_OF[name] for name in manifest.conditions if KIND_OF[name] not in own]
    for _ in manifest.curve:
        repeated.append("at_budget")
    for gradable in gradables:
        for row in gradable.rows(Answer[Any](None, "", 0, "", kind=gradable.kind), Perceived()):
            if gradable.kind != "question" or not alone:
                yield gradable.kind, row.question_key
            if gradable.kind == "question":
                for kind in repeated:
                    yield kind, row.question_key


def rows_by_item(run: FinishedRun, timelines: Sequence[Timeline]) -> list[RowsOfItem]:
    """Return the rows of each item with what follows from its data, without those that answer nothing."""
    items = {timeline.item_id: RowsOfItem(timeline) for timeline in timelines}
    questions = GradedQuestions(timelines, run.turns)
    item_id = ""  # A run has the rows of one item after another.
    for row in run.answers:
        there = questions.find(row, item_id=item_id)
        if there is None:
            continue
        item_id = there.timeline.item_id
        item = items[item_id]
        item.rows.append(row)
        item.graded.append(there.gradable.grade(row, there.seen))
        if run.manifest.shares(row):
            continue
        usage = Usage.model_validate(row.model_dump(include=set(priced_fields(Usage()))))
        # The rows of one ask share its usage.
        item.asks[id(there.gradable), row.kind, row.budget] = usage
    return list(items.values())


def _over_budget(run: FinishedRun) -> Iterator[str]:
    manifest = run.manifest
    for row in run.answers:
        allowed = manifest.curve if row.kind == "at_budget" else (0, manifest.tokens)
        over = row.budget and row.memories and tuple(cut_to_budget(row.memories, row.budget)) != row.memories
        if over or row.budget not in allowed:
            yield f"{row.item} of {row.user_id}"


def _never_asked(items: Sequence[RowsOfItem], ended: set[str]) -> Iterator[str]:
    for item in items:
        if item.timeline.item_id not in ended:
            yield from (f"{row.item} of {row.user_id}" for row in item.rows if not row.tries)


def tell_rows(rows: Sequence[str], what: str) -> Iterator[str]:
    """Yield one sentence on all of these rows, of which the first are named; none where there are none."""
    if rows:
        more = f"; and {len(rows) - TOLD:,} more" if len(rows) > TOLD else ""
        yield f"{counted(len(rows), 'answer')}: {what} ({'; '.join(rows[:TOLD])}{more})."
