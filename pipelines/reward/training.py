"""Training: what is learned from rows, and what it is worth on rows that were held out, with the floors beside every figure."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.records.estimate import Estimate
from assets.reporting.intervals import rounded
from pipelines.reward.measured import Bin, Ranking, RewardReport, Split
from pipelines.reward.metrics import Clusters, Numbers, auroc, average_precision, calibration_error, kendall_tau, safe_f1
from pipelines.reward.models import (
    KINDS,
    Learner,
    RewardModel,
    calibrated,
    feature_names,
    fit_logistic,
    fit_trees,
    fold_of,
    labelled,
    labels_of,
    learners_of_features,
    matrix_of,
    trained_on,
)
from pipelines.reward.rows import RewardRow

MEASURES = {"PR-AUC": average_precision, "safe F1": safe_f1, "calibration error": calibration_error}
FLOOR_FEATURES = {"compression": "compression", "recalled tokens": "filled", "words of the query": "query_words"}
IDENTITY = "the memory's identity"
CHANCE = "chance"
NEW_MEMORY = "a new memory"
RISK = 0.05  # of a wrong order, at which comparisons of memories may be saved
LEAST_RANKED = 3  # memories of a benchmark, whose order says something
BINS = 10  # of calibrated values, in each of which the share that kept is counted
Means = tuple[float, float]  # predicted, and true
Pair = tuple[float, bool]  # how far apart two memories are predicted to be, and whether that is the wrong order


@dataclass(frozen=True)
class Trained:
    """A model with its report. `held_out`: by learner, scores of the labelled rows by models that saw none of their items."""

    model: RewardModel
    held_out: Mapping[str, Numbers]


@dataclass(frozen=True)
class _HeldOut:
    """Scores of all rows by models that saw no row of their group, and the same as chances, by learner."""

    scores: Mapping[str, Numbers]
    values: Mapping[str, Numbers]


def train(rows: Sequence[RewardRow], *, seed: int, more: Mapping[str, Learner] = MappingProxyType({})) -> Trained:
    """Train on rows with a label, and measure models, `more` ones too, and floors on rows held out.

    The same rows and seed give the same model. Raises EvaluationError where none can be trained.
    """
    used = labelled(rows)
    labels = labels_of(used)
    learners = {**learners_of_features(seed=seed), **more}
    groupings: dict[str, NDArray[Any]] = {
        NEW_MEMORY: np.asarray([row.memory for row in used]),
        "a new benchmark": np.asarray([row.benchmark for row in used]),
        "a new reasoner": np.asarray([row.reasoner for row in used]),
        "new items": fold_of(used),
    }
    clusters = Clusters([row.cluster for row in used], seed=seed)
    splits: list[Split] = []
    held_out: dict[str, _HeldOut] = {}
    for name, groups in groupings.items():
        if len(np.unique(groups)) > 1:
            held_out[name] = _held_out(used, groups, learners)
            splits.append(_split(name, used, groups, clusters, held_out[name]))
    scores = held_out["new items"].scores
    chosen = max(KINDS, key=lambda kind: auroc(scores[kind], labels))
    calibration = {kind: calibrated(scores[kind], labels) for kind in KINDS}
    alone = {name: rounded(auroc(column, labels)) for name, column in zip(feature_names(), matrix_of(used).T, strict=True)}
    report = RewardReport(
        rows=len(used),
        kept=round(float(labels.mean()), 6),
        splits=tuple(splits),
        rankings=tuple(_rankings(used, held_out[NEW_MEMORY].values[splits[0].best])) if NEW_MEMORY in held_out else (),
        bins=_bins(held_out["new items"].values[chosen], labels, clusters),
        alone=alone,
    )
    model = RewardModel(
        **trained_on(used, report=report, seed=seed, packages=("scikit-learn", "numpy")),
        chosen=chosen,
        logistic=fit_logistic(used),
        trees=fit_trees(used, seed=seed),
        calibration=calibration,
    )
    return Trained(model, scores)


def _held_out(rows: Sequence[RewardRow], groups: NDArray[Any], learners: Mapping[str, Learner]) -> _HeldOut:
    """Score each row by models that saw no row of its group; 0.5 where the others have one outcome alone."""
    labels = labels_of(rows)
    scores = {name: np.full(len(rows), 0.5) for name in learners}

    def score(group: Any) -> None:
        out = groups == group
        if len(np.unique(labels[~out])) < 2:
            return
        known = [row for row, is_out in zip(rows, out, strict=True) if not is_out]
        asked = [row for row, is_out in zip(rows, out, strict=True) if is_out]
        for name, learn in learners.items():
            scores[name][out] = learn(known)(asked)

    # scikit-learn leaves the interpreter free while it fits. A language model draws from one generator of the whole process,
    # and fills the memory, so that its groups come one after another.
    at_once = os.cpu_count() if set(learners) <= set(KINDS) else 1
    with ThreadPoolExecutor(max_workers=at_once) as threads:
        list(threads.map(score, np.unique(groups)))
    values: dict[str, Numbers] = {}
    for name, found in scores.items():
        values[name] = np.empty(len(rows))
        for group in np.unique(groups):
            out = groups == group
            values[name][out] = calibrated(found[~out], labels[~out]).of(found[out])
    return _HeldOut(scores, values)


def _split(name: str, rows: Sequence[RewardRow], groups: NDArray[Any], clusters: Clusters, held_out: _HeldOut) -> Split:
    labels = labels_of(rows)
    areas = {kind: clusters.measure(auroc, scores, labels) for kind, scores in held_out.scores.items()}
    floors = _floors(rows, groups, labels)
    floor_areas = {floor: clusters.measure(auroc, scores, labels) for floor, scores in floors.items()}
    best = max(areas, key=lambda kind: areas[kind].value or 0)
    best_floor = max(floor_areas, key=lambda floor: floor_areas[floor].value or 0)
    measures: dict[str, dict[str, Estimate]] = {}
    for kind, values in held_out.values.items():
        measures[kind] = {}
        for measure, of in MEASURES.items():
            measures[kind][measure] = clusters.measure(of, values, labels)
    return Split(
        name=name,
        groups=len(np.unique(groups)),
        rows=len(rows),
        items=len(clusters.known),
        areas=areas,
        floors=floor_areas,
        measures=measures,
        best=best,
        best_floor=best_floor,
        gain=clusters.estimate(partial(_gain, held_out.scores[best], floors[best_floor], labels)),
    )


def _gain(scores: Numbers, floor: Numbers, labels: Numbers, weights: Numbers) -> float:
    return auroc(scores, labels, weights) - auroc(floor, labels, weights)


def _floors(rows: Sequence[RewardRow], groups: NDArray[Any], labels: Numbers) -> dict[str, Numbers]:
    """Return scores that take no model: single features, and how often the memory kept what was needed elsewhere.

    Whether more of a feature is better is learned from the rows of other groups.
    """
    matrix = matrix_of(rows)
    names = feature_names()
    memories = np.asarray([f"{row.memory} {row.perturbed}" for row in rows])
    found = {floor: np.zeros(len(rows)) for floor in (CHANCE, *FLOOR_FEATURES, IDENTITY)}
    for group in np.unique(groups):
        out = groups == group
        for floor, feature in FLOOR_FEATURES.items():
            column = matrix[:, names.index(feature)]
            sign = 1 if auroc(column[~out], labels[~out]) >= 0.5 else -1
            found[floor][out] = sign * column[out]
        for memory in np.unique(memories[out]):
            own = ~out & (memories == memory)
            found[IDENTITY][out & (memories == memory)] = labels[own].mean() if own.any() else labels[~out].mean()
    return found


def _rankings(rows: Sequence[RewardRow], values: Numbers) -> list[Ranking]:
    """Rank the memories of each benchmark and budget. `values`: chances by a model that saw no row of the row's memory."""
    means = _means(rows, values)
    pairs = {key: _pairs(list(own.values())) for key, own in means.items()}
    found: list[Ranking] = []
    for (benchmark, budget), own in sorted(means.items()):
        whole = [pair for (_, perturbed), pair in own.items() if not perturbed]
        if len(whole) < LEAST_RANKED:
            continue
        compared = pairs[benchmark, budget]
        others = [pair for (other, _), its_pairs in pairs.items() if other != benchmark for pair in its_pairs]
        decided = [wrong for margin, wrong in compared if margin >= _safe_margin(others)]
        found.append(
            Ranking(
                benchmark=benchmark,
                budget=budget,
                memories=len(whole),
                tau=rounded(kendall_tau([one for one, _ in whole], [two for _, two in whole])),
                first_is_first=max(whole, key=lambda pair: pair[0])[1] == max(two for _, two in whole),
                pairs=len(compared),
                saved=rounded(len(decided) / len(compared)) if others and compared else None,
                wrong=rounded(sum(decided) / len(decided)) if decided else None,
            )
        )
    return found


def _means(rows: Sequence[RewardRow], values: Numbers) -> dict[tuple[str, int], dict[tuple[str, str], Means]]:
    """Return the mean prediction and the true share of each memory and fault, by benchmark and budget."""
    found: dict[tuple[str, int], dict[tuple[str, str], list[Means]]] = {}
    for row, value in zip(rows, values, strict=True):
        own = found.setdefault((row.benchmark, row.row.budget), {}).setdefault((row.memory, row.perturbed), [])
        own.append((float(value), float(bool(row.kept))))
    means: dict[tuple[str, int], dict[tuple[str, str], Means]] = {}
    for key, by_memory in found.items():
        means[key] = {}
        for memory, pairs in by_memory.items():
            predicted, true = np.mean(pairs, axis=0)
            means[key][memory] = (float(predicted), float(true))
    return means


def _pairs(means: Sequence[Means]) -> list[Pair]:
    """Return each pair of memories that has a true order."""
    found: list[Pair] = []
    for (one, true_one), (two, true_two) in combinations(means, 2):
        if true_one != true_two:
            found.append((abs(one - two), (one > two) != (true_one > true_two) or one == two))
    return found


def _safe_margin(pairs: Sequence[Pair]) -> float:
    """Return the least margin from which on at most a share of `RISK` of these pairs is in a wrong order; infinite for none."""
    least = np.inf
    wrong = 0
    for count, (margin, is_wrong) in enumerate(sorted(pairs, reverse=True), start=1):
        wrong += is_wrong
        if wrong <= RISK * count:
            least = margin
    return least


def _bins(values: Numbers, labels: Numbers, clusters: Clusters) -> tuple[Bin, ...]:
    """Return bins with about as many rows each; equal values are in one."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:]))
    found: list[Bin] = []
    before = -np.inf
    for edge in edges:
        inside = (values > before) & (values <= edge)
        before = edge
        if not inside.any():  # an edge between two values
            continue
        kept = clusters.estimate(partial(_share, inside, labels))
        found.append(Bin(predicted=round(float(values[inside].mean()), 6), kept=kept, rows=int(inside.sum())))
    return tuple(found)


def _share(inside: NDArray[np.bool_], labels: Numbers, weights: Numbers) -> float:
    mass = weights[inside].sum()
    return float((weights * labels)[inside].sum() / mass) if mass else float("nan")
