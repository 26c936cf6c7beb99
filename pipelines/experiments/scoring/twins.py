"""A release and its twin, which is as difficult: a memory that is better on the public half knew it before."""

import math
from collections.abc import Iterator, Sequence

from assets.records.base import Record
from assets.records.estimate import FEWEST_USERS, Estimate, interval_note
from assets.reporting.plurals import counted
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.own import own_metrics_of
from pipelines.evaluation.report.numbers import format_estimate, headed_table, metric_label

TWIN = "-twin"  # how the name of a twin's variant ends


class TwinGap(Record):
    """A metric of one memory on the public release and on its private twin; the gap is public minus private.

    `users`: those of the smaller half.
    """

    memory: str
    metric: str
    users: int
    public: Estimate
    private: Estimate
    gap: Estimate


def twin_gaps(runs: Sequence[FinishedRun]) -> list[TwinGap]:
    """Return the gaps of the memories that were run on a release and on its twin; none where there are no such runs."""
    found: list[TwinGap] = []
    for public in runs:
        for private in runs:
            if _is_twin(public, private):
                found += _gaps(public, private)
    return found


def _is_twin(public: FinishedRun, private: FinishedRun) -> bool:
    first = public.manifest
    second = private.manifest
    same = (first.memory, first.models, first.tokens) == (second.memory, second.models, second.tokens)
    return same and second.variant == f"{first.variant}{TWIN}"


def _gaps(public: FinishedRun, private: FinishedRun) -> Iterator[TwinGap]:
    other = _estimates(private)
    for name, estimate in _estimates(public).items():
        if name in other:
            yield TwinGap(
                memory=public.manifest.memory.name,
                metric=name,
                users=min(public.results.users, private.results.users),
                public=estimate,
                private=other[name],
                gap=difference_of_independent(estimate, other[name]),
            )


def _estimates(run: FinishedRun) -> dict[str, Estimate]:
    found = {"overall": run.results.metrics["overall"]}
    own = own_metrics_of(run.manifest.mode)
    return found | own.scores(run.results.own) if own else found


def difference_of_independent(first: Estimate, second: Estimate) -> Estimate:
    """Return the first less the second, which are of other users, with its interval.

    The interval is Newcombe's (1998, method 10): it takes each side's own limits, so that it is no wider than they allow.
    """
    if first.value is None or second.value is None:
        return Estimate(value=None, low=None, high=None)
    gap = first.value - second.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return Estimate(value=round(gap, 6), low=None, high=None)
    below = math.hypot(first.value - first.low, second.high - second.value)
    above = math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value=round(gap, 6), low=round(gap - below, 6), high=round(gap + above, 6))


def twin_report(gaps: Sequence[TwinGap]) -> str:
    """Return the gaps as Markdown."""
    rows: list[list[str]] = []
    for gap in gaps:
        shown = map(format_estimate, (gap.public, gap.private, gap.gap))
        rows.append([gap.memory, metric_label(gap.metric), *shown])
    table = headed_table(["memory system", "metric", "public", "private twin", "public minus twin"], rows)
    note = "A gap whose interval lies above 0 says that the public half was known before, or is easier by chance."
    users = min(gap.users for gap in gaps)
    if users < FEWEST_USERS:
        few = f"{counted(users, 'user')} in each half decide nothing: make both releases with 20 or more."
        note = f"{few} {interval_note(users, 'user')}"
    return f"# A release and its twin\n\n{table}\n\n{note}\n"
