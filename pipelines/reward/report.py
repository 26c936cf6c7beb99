"""What a reward model may be trusted with: held-out memories and benchmarks first, and the floors beside every figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.records.estimate import Estimate
from assets.reporting.plurals import counted
from pipelines.evaluation.report.formatting import format_estimate, headed_table
from pipelines.reward.features import FEATURES
from pipelines.reward.metrics import Clusters, Numbers, auroc, average_precision, calibration_error, kendall_tau, safe_f1
from pipelines.reward.models import (
    Learner,
    RewardModel,
    calibrated,
    feature_names,
    fold_of,
    held_out_scores,
    labelled,
    labels_of,
    learners_of_features,
    matrix_of,
)
from pipelines.reward.rows import RewardRow

MEASURES = {"PR-AUC": average_precision, "safe F1": safe_f1, "calibration error": calibration_error}
FLOOR_FEATURES = {"compression": "compression", "recalled tokens": "filled", "words of the query": "query_words"}
IDENTITY = "the memory's identity"
CHANCE = "chance"
TITLES = {"logistic": "logistic regression", "trees": "boosted trees"}
RISK = 0.05  # of a wrong order, at which comparisons of memories may be saved


@dataclass(frozen=True)
class Split:
    """How the models do on rows of a group that they never saw. `gain`: the better model's AUROC minus the best floor's."""

    name: str
    groups: int
    rows: int
    items: int
    areas: Mapping[str, Estimate]
    floors: Mapping[str, Estimate]
    measures: Mapping[str, Mapping[str, Estimate]]
    scores: Mapping[str, Numbers]
    values: Mapping[str, Numbers]
    best: str
    best_floor: str
    gain: Estimate


@dataclass(frozen=True)
class Ranking:
    """Memories of one benchmark in the order that was predicted, and in the true one; the model saw no row of the memory.

    `saved`: the share of pairs of memories, damaged ones too, whose order may be taken from the model at a risk of `RISK`.
    """

    benchmark: str
    memories: int
    tau: float
    first_is_first: bool
    pairs: int
    saved: float


@dataclass(frozen=True)
class RewardReport:
    rows: int
    kept: float
    splits: Sequence[Split]
    rankings: Sequence[Ranking]

    @property
    def on_items(self) -> Split:
        """How the models do on items that they never saw, of memories and benchmarks that they did."""
        return self.splits[-1]


def reward_report(rows: Sequence[RewardRow], *, seed: int, more: Mapping[str, Learner] = MappingProxyType({})) -> RewardReport:
    """Measure models and floors on held-out rows, `more` models too. Raises EvaluationError where none can be trained."""
    used = labelled(rows)
    learners = {**learners_of_features(seed=seed), **more}
    groupings: dict[str, NDArray[Any]] = {
        "a new memory": np.asarray([row.memory for row in used]),
        "a new benchmark": np.asarray([row.benchmark for row in used]),
        "a new reasoner": np.asarray([row.reasoner for row in used]),
        "new items": fold_of(used),
    }
    clusters = Clusters([row.cluster for row in used], seed=seed)
    splits = [
        _split(name, used, groups, clusters, learners) for name, groups in groupings.items() if len(np.unique(groups)) > 1
    ]
    of_memories = next((split for split in splits if split.name == "a new memory"), None)
    rankings = _rankings(used, of_memories.values[of_memories.best]) if of_memories else []
    return RewardReport(len(used), float(labels_of(used).mean()), splits, rankings)


def _split(
    name: str, rows: Sequence[RewardRow], groups: NDArray[Any], clusters: Clusters, learners: Mapping[str, Learner]
) -> Split:
    labels = labels_of(rows)
    raw = held_out_scores(rows, groups, learners)
    values: dict[str, Numbers] = {}
    for kind in learners:
        values[kind] = np.empty(len(rows))
        for group in np.unique(groups):
            out = groups == group
            values[kind][out] = calibrated(raw[kind][~out], labels[~out]).of(raw[kind][out])
    areas = {kind: _area(clusters, raw[kind], labels) for kind in learners}
    floors = _floors(rows, groups, labels)
    floor_areas = {floor: _area(clusters, scores, labels) for floor, scores in floors.items()}
    best = max(learners, key=lambda kind: areas[kind].value or 0)
    best_floor = max(floor_areas, key=lambda floor: floor_areas[floor].value or 0)
    measures: dict[str, dict[str, Estimate]] = {}
    for kind in learners:
        measures[kind] = {}
        for measure, of in MEASURES.items():
            measures[kind][measure] = clusters.estimate(partial(of, values[kind], labels))
    return Split(
        name=name,
        groups=len(np.unique(groups)),
        rows=len(rows),
        items=len(clusters.known),
        areas=areas,
        floors=floor_areas,
        measures=measures,
        scores=raw,
        values=values,
        best=best,
        best_floor=best_floor,
        gain=clusters.estimate(partial(_gain, raw[best], floors[best_floor], labels)),
    )


def _area(clusters: Clusters, scores: Numbers, labels: Numbers) -> Estimate:
    return clusters.estimate(partial(auroc, scores, labels))


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
    found: list[Ranking] = []
    for benchmark in sorted({row.benchmark for row in rows}):
        predicted: dict[tuple[str, str], list[float]] = {}
        true: dict[tuple[str, str], list[float]] = {}
        for row, value in zip(rows, values, strict=True):
            if row.benchmark == benchmark:
                key = (row.memory, row.perturbed)
                predicted.setdefault(key, []).append(float(value))
                true.setdefault(key, []).append(float(bool(row.kept)))
        means = {key: (float(np.mean(predicted[key])), float(np.mean(true[key]))) for key in predicted}
        whole = [pair for (_, perturbed), pair in means.items() if not perturbed]
        if len(whole) < 3:
            continue
        tau = kendall_tau([one for one, _ in whole], [two for _, two in whole])
        first = max(whole, key=lambda pair: pair[0])[1] == max(two for _, two in whole)
        pairs, saved = _saved(list(means.values()))
        found.append(Ranking(benchmark, len(whole), tau, first, pairs, saved))
    return found


def _saved(means: Sequence[tuple[float, float]]) -> tuple[int, float]:
    """Return the number of pairs with a true order, and the largest share, the surest first, with few in a wrong one."""
    compared: list[tuple[float, bool]] = []
    for (one, true_one), (two, true_two) in combinations(means, 2):
        if true_one != true_two:
            compared.append((abs(one - two), (one > two) != (true_one > true_two) or one == two))
    compared.sort(key=lambda pair: -pair[0])
    wrong = best = 0
    for count, (_, is_wrong) in enumerate(compared, start=1):
        wrong += is_wrong
        if wrong <= RISK * count:
            best = count
    return len(compared), best / len(compared) if compared else 0.0


def report_text(report: RewardReport, model: RewardModel) -> str:
    """Return the report as Markdown; its first line says whether a model beats the floors on a memory that it never saw."""
    parts = [_verdict(report)]
    parts.append(
        f"{counted(report.rows, 'row')} with a label, of {', '.join(model.memories)}, on {', '.join(model.benchmarks)}; "
        f"{report.kept:.1%} kept what was needed. Brackets hold 95 % intervals over items."
    )
    areas: list[list[str]] = []
    for split in report.splits:
        floors = f"{split.best_floor} {format_estimate(split.floors[split.best_floor])}"
        cells = [format_estimate(area) for area in split.areas.values()]
        areas.append([split.name, f"{split.groups}", *cells, floors, format_estimate(split.gain)])
    head = [
        "on",
        "groups",
        *(TITLES.get(kind, kind) for kind in report.splits[0].areas),
        "best floor",
        "better model minus best floor",
    ]
    parts.append(f"## Area under the ROC curve\n\n{headed_table(head, areas)}")
    floors = [[split.name, *(format_estimate(area) for area in split.floors.values())] for split in report.splits]
    parts.append(f"## Floors\n\n{headed_table(['on', *report.splits[0].floors], floors)}")
    measures: list[list[str]] = []
    for split in report.splits:
        for kind, own in split.measures.items():
            measures.append([split.name, kind, *(format_estimate(one) for one in own.values())])
    parts.append(f"## Other measures\n\n{headed_table(['on', 'model', *MEASURES], measures)}")
    if report.rankings:
        rows: list[list[str]] = []
        for one in report.rankings:
            first = "yes" if one.first_is_first else "no"
            rows.append([one.benchmark, f"{one.memories}", f"{one.tau:.2f}", first, f"{one.pairs}", f"{one.saved:.0%}"])
        head = ["benchmark", "memories", "Kendall's tau", "best memory found", "pairs", f"comparisons saved at {RISK:.0%} risk"]
        parts.append(f"## Memories in order, by models that never saw them\n\n{headed_table(head, rows)}")
    parts.append(f"## Calibration on new items\n\n{_reliability(model)}")
    parts.append(f"## What the logistic regression weighs\n\n{_effects(model)}")
    return "\n\n".join(parts) + "\n"


def _verdict(report: RewardReport) -> str:
    first = report.splits[0]
    area = first.areas[first.best]
    floor = first.floors[first.best_floor]
    said = f"{format_estimate(area)} against {format_estimate(floor)} of {first.best_floor}"
    if first.gain.low is not None and first.gain.low > 0:
        return f"On {first.name} a model tells more than any floor: area under the curve {said}."
    return f"A floor does as well as a model on {first.name}: area under the curve {said}. Do not rank memories by this model."


def _reliability(model: RewardModel) -> str:
    rows: list[list[str]] = []
    for one in model.bins:
        rows.append([f"{one.most:.3f}", f"{one.rows:,}", f"{one.kept / max(1, one.rows):.3f}"])
    return headed_table(["predicted, up to", "rows", "kept"], rows)


def _effects(model: RewardModel) -> str:
    weights = dict(zip(model.features, model.logistic.weights, strict=True))
    formulas = {feature.name: feature.formula for feature in FEATURES}
    rows: list[list[str]] = []
    for name in sorted(weights, key=lambda name: -abs(weights[name])):
        rows.append([name.replace("_", " "), f"{weights[name]:+.2f}", formulas[name]])
    return headed_table(["feature", "weight for one standard deviation", "formula"], rows)
