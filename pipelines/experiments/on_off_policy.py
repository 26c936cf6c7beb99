"""On- against off-policy (section 4.2, Table 2): how scores and ranks change when the dialogues are another assistant's."""

from collections.abc import Mapping, Sequence

import numpy as np

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import CONFIDENCE, GAIN, UNIT, Array, Sample, Tallies
from dataset_card.release.digests import canonical_digest
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import memory
from pipelines.evaluation.records import Mode
from pipelines.experiments.paired import difference_of, merged, metric_of_part
from pipelines.experiments.ranking import run_labels

Pairs = Sequence[tuple[FinishedRun, FinishedRun]]


class PolicyRow(Record):
    """One assistant that was run both ways: its memory in each, the difference off minus on, and the ranks it gains off-policy.

    Ranks are among the assistants that were run both ways, off-policy with the same dialogues. All is over the users that
    the compared runs have in common.
    """

    name: str
    on: Estimate
    off: Estimate
    difference: Estimate
    ranks_gained: Estimate


def policy_rows(runs: Sequence[FinishedRun], *, tallies: Mapping[str, Tallies]) -> list[PolicyRow]:
    """The assistants that were run both ways, by the dialogues that were replayed, the best on-policy first.

    `tallies`: counts by run id, of the same users in all runs; intervals are over them.
    """
    on = _by_setup(runs, mode="on-policy")
    replayed = dict.fromkeys(run.manifest.replayed_run for run in runs if run.manifest.mode == "off-policy")
    rows = list[PolicyRow]()
    for source in replayed:
        off = _by_setup([run for run in runs if run.manifest.replayed_run == source], mode="off-policy")
        pairs = [(run, off[setup]) for setup, run in on.items() if setup in off]
        rows += _rows(pairs, tallies, dialogues=f", dialogues of {source}" if len(replayed) > 1 else "")
    return rows


def _by_setup(runs: Sequence[FinishedRun], *, mode: Mode) -> dict[tuple[object, ...], FinishedRun]:
    """Runs by what has to be the same on both sides; of several alike the one with most users."""
    by_setup: dict[tuple[object, ...], FinishedRun] = {}
    for run in sorted(runs, key=lambda run: (-len(run.manifest.users), run.manifest.run_id)):
        manifest = run.manifest
        if manifest.mode == mode:
            memory = canonical_digest([manifest.memory.model_dump(), manifest.memory_source, manifest.models])
            setup = (memory, manifest.attempt, manifest.seed, manifest.tokens, manifest.wording)
            by_setup.setdefault(setup, run)
    return by_setup


def _rows(pairs: Pairs, tallies: Mapping[str, Tallies], *, dialogues: str) -> list[PolicyRow]:
    if not pairs:
        return []
    names, seed = run_labels([on for on, _ in pairs]), pairs[0][0].manifest.seed
    samples = {
        f"{names[on.manifest.run_id]}{dialogues}": Sample.of(
            merged({"a": tallies[on.manifest.run_id], "b": tallies[off.manifest.run_id]}), seed=seed
        )
        for on, off in pairs
    }
    best = dict(sorted(samples.items(), key=lambda item: -(item[1].estimate(metric_of_part("a", memory)).value or 0.0)))
    gained = _ranks("a", list(best.values())) - _ranks("b", list(best.values()))
    return [_row(name, sample, gained[rank]) for rank, (name, sample) in enumerate(best.items())]


def _row(name: str, sample: Sample, gained: Array) -> PolicyRow:
    low, high = np.quantile(gained[1:], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    several = sample.users > 1
    return PolicyRow(
        name=name,
        on=sample.estimate(metric_of_part("a", memory), within=UNIT),
        off=sample.estimate(metric_of_part("b", memory), within=UNIT),
        difference=sample.estimate(difference_of(memory), within=GAIN),
        ranks_gained=Estimate(value=gained[0], low=low if several else None, high=high if several else None),
    )


def _ranks(side: str, samples: Sequence[Sample]) -> Array:
    """Ranks from 1, shape (samples, 1 + resamples): over all users first, then over each resample of them."""
    metric = metric_of_part(side, memory)
    scores = np.array([[float(metric(sample.total)), *metric(sample.drawn)] for sample in samples])
    order = (-np.nan_to_num(scores)).argsort(axis=0, kind="stable")
    return 1 + order.argsort(axis=0).astype(np.float64)
