"""On- against off-policy (section 4.2, Table 2): how scores and ranks change when the dialogues are another assistant's."""

from collections.abc import Sequence

import numpy as np

from assets.intervals import CONFIDENCE, Array, Sample
from assets.records.base import Record
from assets.records.estimate import Estimate
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.intervals import paired
from pipelines.evaluation.metrics import METRICS, memory
from pipelines.evaluation.results import tally_of


class PolicyRow(Record):
    """One assistant that was run both ways: its memory in each, the difference off minus on, and the ranks it gains off-policy.

    Ranks are among the assistants that were run both ways.
    """

    name: str
    on: Estimate
    off: Estimate
    difference: Estimate
    ranks_gained: Estimate


def policy_rows(runs: Sequence[FinishedRun], *, users: Sequence[str]) -> list[PolicyRow]:
    """The assistants that were run both ways, the best on-policy first; intervals over users, the same ones in all runs."""
    on, off = _by_name(runs, mode="on-policy"), _by_name(runs, mode="off-policy")
    names = sorted((name for name in on if name in off), key=lambda name: -(on[name].results.metrics["memory"].value or 0.0))
    if not names:
        return []
    gained = _ranks(on, names, users=users) - _ranks(off, names, users=users)
    return [_row(on[name], off[name], gained[place], users=users) for place, name in enumerate(names)]


def _by_name(runs: Sequence[FinishedRun], *, mode: str) -> dict[str, FinishedRun]:
    return {run.manifest.assistant.name: run for run in runs if run.manifest.mode == mode}


def _row(on: FinishedRun, off: FinishedRun, gained: Array, *, users: Sequence[str]) -> PolicyRow:
    tallies = tally_of(on.answers, users=users), tally_of(off.answers, users=users)
    found = paired("memory", METRICS["memory"], tallies, seed=on.manifest.seed)
    low, high = np.quantile(gained[1:], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    several = len(users) > 1
    return PolicyRow(
        name=on.manifest.assistant.name,
        on=on.results.metrics["memory"],
        off=off.results.metrics["memory"],
        difference=found.difference,
        ranks_gained=Estimate(value=gained[0], low=low if several else None, high=high if several else None),
    )


def _ranks(runs: dict[str, FinishedRun], names: Sequence[str], *, users: Sequence[str]) -> Array:
    """Ranks from 1, shape (names, 1 + resamples): over all users first, then over each resample of them."""
    seed = runs[names[0]].manifest.seed
    samples = [Sample.of(tally_of(runs[name].answers, users=users), seed=seed) for name in names]
    scores = np.array([[float(memory(one.total)), *memory(one.drawn)] for one in samples])
    order = (-np.nan_to_num(scores)).argsort(axis=0, kind="stable")
    return 1 + order.argsort(axis=0).astype(np.float64)
