"""Paired differences between runs over the same users, and how sure they are."""

from collections.abc import Mapping, Sequence

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import GAIN, Metric, Sums, Tallies
from assets.reporting.statistic import rounded
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import MEMORY_COUNTS
from pipelines.evaluation.metrics.own import own_metrics_of
from pipelines.evaluation.metrics.results import tally_users

RARE = 0.05  # a p value that tells two runs apart


class Paired(Record):
    """Second run minus first run over the same users.

    `p_value`: chance of a difference as large where there is none; None for too few users. Where several pairs are compared,
    it holds for all of them together.
    """

    metric: str
    difference: Estimate
    p_value: float | None


def counts_of(run: FinishedRun, *, users: Sequence[str]) -> Tallies:
    """Return what the compared metrics need of these users."""
    tallies = tally_users(run.answers, users=users)
    counts = {name: tallies.counts[name] for name in MEMORY_COUNTS}
    own = own_metrics_of(run.manifest.mode)
    return Tallies(tallies.users, counts | (own.tallies(run.answers, users=users) if own else {}))


def compare_paired(metrics: Mapping[str, Metric], runs: tuple[Tallies, Tallies]) -> tuple[Paired, ...]:
    """Compare two runs by these metrics. Both tallies must be of the same users in the same order."""
    both = merge_tallies(dict(zip("ab", runs, strict=True)))
    found: list[Paired] = []
    for name, metric in metrics.items():
        difference = both.statistic(difference_of(metric))
        found.append(Paired(metric=name, difference=difference.estimate(), p_value=difference.p_value))
    return tuple(found)


def correct_p_values(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p values that hold for all of them together (Holm 1979); None stays."""
    corrected = list(p_values)
    known = sorted((p_value, place) for place, p_value in enumerate(p_values) if p_value is not None)
    highest = 0.0
    for passed, (p_value, place) in enumerate(known):
        highest = max(highest, min(1.0, p_value * (len(known) - passed)))
        corrected[place] = rounded(highest)
    return corrected


def told_apart(p_values: Sequence[float | None]) -> list[bool]:
    """Return for each of several pairs whether its difference is more than chance."""
    return [p_value is not None and p_value <= RARE for p_value in correct_p_values(p_values)]


def correct_for_number(pairs: Sequence[Sequence[Paired]]) -> list[list[Paired]]:
    """Return the differences of pairs of runs with p values that hold for all pairs together, each metric for itself."""
    places: dict[str, list[tuple[int, int]]] = {}
    for number, differences in enumerate(pairs):
        for place, difference in enumerate(differences):
            places.setdefault(difference.metric, []).append((number, place))
    corrected = list(map(list, pairs))
    for own in places.values():
        p_values = correct_p_values([pairs[number][place].p_value for number, place in own])
        for (number, place), p_value in zip(own, p_values, strict=True):
            corrected[number][place] = pairs[number][place].model_copy(update={"p_value": p_value})
    return corrected


def merge_tallies(tallies: Mapping[str, Tallies]) -> Tallies:
    """Return tallies of the same users as one, each under a key of one letter; `part` takes them apart again."""
    [users] = {tally.users for tally in tallies.values()}
    merged: Sums = {}
    for key, tally in tallies.items():
        for name, count in tally.counts.items():
            merged[f"{key} {name}"] = count
    return Tallies(users, merged)


def part(key: str, sums: Sums) -> Sums:
    """Return the sums of the tallies under this key."""
    return {name[2:]: count for name, count in sums.items() if name.startswith(f"{key} ")}


def difference_of(metric: Metric) -> Metric:
    """Return the metric of the tallies under "b" minus that of those under "a"."""
    return Metric(lambda sums: metric(part("b", sums)) - metric(part("a", sums)), f"b {metric.over}", within=GAIN)
