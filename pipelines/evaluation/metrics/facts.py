"""Outcomes of questions about facts: by kind, by age, by number of changes, and of deleted facts by when they were asked.

The unit is a fact, asked once. Users are resampled, because what is wrong with one fact of a user may be wrong with others.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import GAIN, UNIT, Array, Metric, Sample, Tallies, metric_difference, share
from pipelines.evaluation.records import AnswerRow

FactGroup = Literal["kind", "age", "changes", "moment"]
END = "end of the life"
ALL = "all"
OF_FACT = "fact "  # how the names of counts begin that are of one kind
OUTCOMES = ("right", "stale", "invented", "leaked", "not_known")
NET = metric_difference(metric_difference(share("right", "asked"), share("stale", "asked")), share("leaked", "asked"))
AGES = (0, 4, 8, 16, 32)  # sessions, from which a group begins


class FactFigures(Record):
    """The questions of one group, and the share of each outcome; what is missing to 1 could not be read.

    `net`: right less stale and leaked, so that using what does not hold any more costs as much as knowing brings.
    `in_texts`: share of questions for which a recalled text holds the deleted value.
    """

    by: FactGroup
    value: str
    questions: int
    right: Estimate
    stale: Estimate
    invented: Estimate
    leaked: Estimate
    not_known: Estimate
    net: Estimate
    in_texts: Estimate


def fact_figures(answers: Sequence[AnswerRow], *, users: Sequence[str], seed: int) -> tuple[FactFigures, ...]:
    """Return the figures of each group; none of answers that are about no facts."""
    at_end = [row for row in answers if row.about and row.kind == "question"]
    if not at_end:
        return ()
    deleted = [row for row in answers if row.about == "deleted" and row.kind in ("question", "moment")]
    groups: list[tuple[FactGroup, Mapping[str, Sequence[AnswerRow]]]] = [
        ("kind", {ALL: at_end, **_by(at_end, lambda row: row.about)}),
        ("age", _by(at_end, lambda row: age_group(row.age))),
        ("changes", _by(at_end, lambda row: str(row.changes))),
        ("moment", _by(deleted, lambda row: row.moment or END)),
    ]
    found: list[FactFigures] = []
    for by, rows in groups:
        for value, own in rows.items():
            sample = Sample.of(fact_tallies(own, users=users), seed=seed)
            shares = {name: sample.estimate(share(name, "asked"), within=UNIT) for name in (*OUTCOMES, "in_texts")}
            net = sample.estimate(NET, within=GAIN)
            found.append(FactFigures(by=by, value=value, questions=len(own), **shares, net=net))
    return tuple(found)


def age_group(age: int) -> str:
    """Return the group of an age in sessions, such as 4 to 7."""
    first = max(one for one in AGES if one <= age)
    later = [one for one in AGES if one > age]
    return f"{first} to {later[0] - 1}" if later else f"{first} and more"


def _by(rows: Sequence[AnswerRow], key: Callable[[AnswerRow], str]) -> dict[str, list[AnswerRow]]:
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


MOMENTS = ("at once", "settled", "told again", END)


def fact_tallies(rows: Sequence[AnswerRow], *, users: Sequence[str]) -> Tallies:
    """Count asked questions and their outcomes by user; users without any have zeros."""
    by_user = {user: Counter[str]() for user in users}
    for row in rows:
        if row.user_id in by_user:
            own = by_user[row.user_id]
            own.update(("asked", row.outcome))
            own["in_texts"] += bool(row.leaks)
    return Tallies.of(by_user, names=("asked", "in_texts", *OUTCOMES))


def kind_tallies(rows: Sequence[AnswerRow], *, users: Sequence[str]) -> Tallies:
    """Count asked and right questions of each kind by user, for two runs side by side."""
    counts: dict[str, Array] = {}
    for kind, own in _by([row for row in rows if row.about and row.kind == "question"], lambda row: row.about).items():
        tallies = fact_tallies(own, users=users)
        counts[f"{OF_FACT}{kind}.asked"] = tallies.counts["asked"]
        counts[f"{OF_FACT}{kind}.right"] = tallies.counts["right"]
    return Tallies(tuple(users), counts)


def kind_metrics(tallies: Tallies) -> dict[str, Metric]:
    """Return the share right of each kind that the tallies count."""
    found: dict[str, Metric] = {}
    for name in tallies.counts:
        if name.startswith(OF_FACT) and name.endswith(".asked"):
            counted = name.removesuffix(".asked")
            found[f"right: {counted.removeprefix(OF_FACT)}"] = share(f"{counted}.right", name)
    return found
