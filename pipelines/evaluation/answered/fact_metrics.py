"""Outcomes of questions about facts: by kind, by age, by number of changes, and of deleted facts by when they were asked.

The unit is a fact, asked once. Intervals are over users: what is wrong with one fact of a user may be wrong with others.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assets.records.estimate import Estimate
from assets.reporting.intervals import Array, Metric, Tallies, metric_difference, share
from pipelines.evaluation.metrics.own import OwnFigures, OwnMetrics
from pipelines.evaluation.records import AnswerRow, RunManifest
from pipelines.evaluation.report.numbers import format_number, metric_label
from pipelines.evaluation.report.sections import ReportSection, ReportTable

AT_ONCE = "at once"
SETTLED = "settled"
TOLD_AGAIN = "told again"
END = "end of the life"
MOMENTS = (AT_ONCE, SETTLED, TOLD_AGAIN, END)
DAY_BEFORE = "a day before the last change"
ALL = "all"
OF_FACT = "fact "  # how the names of counts begin that are of one kind
OUTCOMES = ("right", "stale", "invented", "leaked", "not_known")
NET = metric_difference(metric_difference(share("right", "asked"), share("stale", "asked")), share("leaked", "asked"))
AGES = (0, 4, 8, 16, 32)  # sessions, from which a group begins


SHARES = (*OUTCOMES, "net", "in_texts")
NOTE = (
    "Net is right less stale and leaked. In texts: a recalled text holds the value that was to be forgotten. Deleted facts are "
    "asked at once after the request, when the memory has finished its work (settled), after a mail has told them again, and "
    "at the end."
)
FORGOTTEN_NOTE = "The share of questions for which a recalled text held the deleted value, and of those that it answered."


class FactMetrics(OwnMetrics):
    """The share of each outcome; what is missing to 1 could not be read.

    `net`: right less stale and leaked, so that using what does not hold any more costs as much as knowing brings.
    `in_texts`: share of questions for which a recalled text holds the deleted value.
    """

    groups_answers = True

    def figures(self, answers: Sequence[AnswerRow], manifest: RunManifest) -> tuple[OwnFigures, ...]:
        at_end = [row for row in answers if row.kind == "question"]
        deleted = [row for row in answers if row.about == "deleted" and row.kind in ("question", "moment")]
        groups: dict[str, Mapping[str, Sequence[AnswerRow]]] = {
            "kind": {ALL: at_end, **_group_rows(at_end, lambda row: row.about)},
            "age": _group_rows(at_end, lambda row: age_group(row.age)),
            "changes": _group_rows(at_end, lambda row: str(row.changes)),
            "moment": _group_rows(deleted, lambda row: row.moment or END),
            "correction": _corrections(answers, deleted),
        }
        found: list[OwnFigures] = []
        for by, rows in groups.items():
            for value, own in rows.items():
                tallies = _tallies(own, users=manifest.users)
                figures = {name: tallies.estimate(share(name, "asked")) for name in (*OUTCOMES, "in_texts")}
                figures["net"] = tallies.estimate(NET)
                found.append(OwnFigures(by=by, value=value, count=len(own), figures=figures))
        return tuple(found)

    def sections(self, figures: Sequence[OwnFigures]) -> Iterator[ReportSection]:
        rows: list[Sequence[str | Estimate]] = []
        for group in figures:
            rows.append([group.by, metric_label(group.value), f"{group.count:,}", *(group[name] for name in SHARES)])
        head = ["by", "", "questions", *map(metric_label, SHARES)]
        yield ReportSection("facts", "Facts", [NOTE, ReportTable(head, rows)])

    def board_sections(self, named: Mapping[str, Sequence[OwnFigures]]) -> Iterator[ReportSection]:
        by_kind = {name: _by_value(figures, "kind") for name, figures in named.items()}
        kinds = list(dict.fromkeys(kind for own in by_kind.values() for kind in own))
        rows: list[Sequence[str | Estimate]] = []
        for name, own in by_kind.items():
            cells = [own[kind]["right"] if kind in own else "-" for kind in kinds]
            rows.append([name, *cells, own[ALL]["stale"], own[ALL]["net"]])
        table = ReportTable(["memory system", *map(metric_label, kinds), "stale", "net"], rows)
        yield ReportSection("kinds", "Facts: right by kind of question", [NOTE, table])
        forgotten: list[list[str]] = []
        for name, figures in named.items():
            moments = _by_value(figures, "moment")
            cells = list[str]()
            for moment in MOMENTS:
                own = moments.get(moment)
                cells.append(f"{format_number(own['in_texts'].value)} / {format_number(own['leaked'].value)}" if own else "-")
            forgotten.append([name, *cells])
        table = ReportTable(["memory system: in texts / answered", *MOMENTS], forgotten)
        yield ReportSection("forgotten", "Facts that were to be forgotten", [FORGOTTEN_NOTE, table])

    def tallies(self, answers: Sequence[AnswerRow], *, users: Sequence[str]) -> dict[str, Array]:
        counts: dict[str, Array] = {}
        for kind, own in _group_rows([row for row in answers if row.kind == "question"], lambda row: row.about).items():
            found = _tallies(own, users=users).counts
            counts |= {f"{OF_FACT}{kind}.asked": found["asked"], f"{OF_FACT}{kind}.right": found["right"]}
        return counts

    def metrics_for(self, counts: Iterable[str]) -> dict[str, Metric]:
        asked = [name.removesuffix(".asked") for name in counts if name.startswith(OF_FACT) and name.endswith(".asked")]
        return {f"right: {name.removeprefix(OF_FACT)}": share(f"{name}.right", f"{name}.asked") for name in asked}

    def scores(self, figures: Sequence[OwnFigures]) -> dict[str, Estimate]:
        return {f"right: {kind}": own["right"] for kind, own in _by_value(figures, "kind").items() if kind != ALL}


FACTS = FactMetrics()


def _by_value(figures: Sequence[OwnFigures], by: str) -> dict[str, OwnFigures]:
    return {group.value: group for group in figures if group.by == by}


def age_group(age: int) -> str:
    """Return the group of an age in sessions, such as 4 to 7."""
    first = max(start for start in AGES if start <= age)
    later = [start for start in AGES if start > age]
    return f"{first} to {later[0] - 1}" if later else f"{first} and more"


def _group_rows(rows: Sequence[AnswerRow], key: Callable[[AnswerRow], str]) -> dict[str, list[AnswerRow]]:
    found: dict[str, list[AnswerRow]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return dict(sorted(found.items(), key=lambda item: _order(item[0])))


def _order(value: str) -> tuple[int, str]:
    """Sort numbers by what they are, and moments as they come."""
    first = value.partition(" ")[0]
    if value in MOMENTS:
        return MOMENTS.index(value), ""
    return (int(first), "") if first.isdecimal() else (0, value)


def _corrections(answers: Sequence[AnswerRow], deleted: Sequence[AnswerRow]) -> dict[str, list[AnswerRow]]:
    """Return what shows how far a correction reaches: to its fact, to those that follow from it, to others and other days."""
    at_end = [row for row in answers if row.kind == "question"]
    current = [row for row in at_end if row.about == "current"]
    corrected = [row for row in current if row.changes]
    found = {"taken up": corrected}
    for age, rows in _group_rows(corrected, lambda row: age_group(row.age)).items():
        found[f"taken up, {age} sessions later"] = rows
    found["followed"] = [row for row in at_end if row.about == "consequence" and row.changes]
    found["beside"] = [row for row in current if not row.changes]
    # Its control: the same questions with the sessions of that fact in the memory's place.
    found["beside, alone"] = [row for row in answers if row.kind == "facts" and row.about == "current" and not row.changes]
    found["before"] = [row for row in at_end if row.moment == DAY_BEFORE]
    # The same fact over its last change: what it was before is known, so that only the change can be missing.
    known = {_fact_of(row) for row in found["before"] if row.outcome == "right"}
    found["taken up, known before"] = [row for row in corrected if _fact_of(row) in known]
    gone = [row for row in deleted if row.moment == SETTLED and row.outcome != "leaked"]
    asked_again = {(row.user_id, row.item.replace(SETTLED, TOLD_AGAIN)) for row in gone}
    found["come back"] = [row for row in deleted if (row.user_id, row.item) in asked_again]
    return {name: rows for name, rows in found.items() if rows}


def _fact_of(row: AnswerRow) -> tuple[str, str]:
    """Return the user and the matter, which an item's name begins with."""
    return row.user_id, row.item.rpartition("-")[0]


def _tallies(rows: Sequence[AnswerRow], *, users: Sequence[str]) -> Tallies:
    """Count asked questions and their outcomes by user; users without any have zeros."""
    by_user = {user: Counter[str]() for user in users}
    for row in rows:
        if row.user_id in by_user:
            own = by_user[row.user_id]
            own.update(("asked", row.outcome))
            own["in_texts"] += bool(row.leaks)
    return Tallies.of(by_user, names=("asked", "in_texts", *OUTCOMES))
