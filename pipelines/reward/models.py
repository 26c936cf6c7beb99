"""Two models of what a recall is worth, logistic regression and boosted trees, kept as plain numbers.

Both are fitted by scikit-learn, calibrated by isotonic regression on rows of other items (`training.py`), and applied here by
numpy alone.
"""

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from assets.records.base import Record
from assets.records.json_text import JsonError, parse_json
from assets.reporting.plurals import counted
from pipelines.errors import EvaluationError
from pipelines.reward.features import FEATURES, VERSION
from pipelines.reward.measured import RewardReport
from pipelines.reward.rows import RewardRow, rows_digest

Numbers = NDArray[np.float64]
Scorer = Callable[[Sequence[RewardRow]], Numbers]
Learner = Callable[[Sequence[RewardRow]], Scorer]
Kind = Literal["logistic", "trees"]
KINDS: tuple[Kind, ...] = ("logistic", "trees")
FOLDS = 5
TREES = 150
DEPTH = 3
RATE = 0.1
LEAST_LEAF = 20
SUBSAMPLE = 0.7
LEAST_ROWS = 50
DIGITS = 9
SEEN = (1, 99)  # percentiles of a feature between which a model has seen enough, of the rows of any benchmark


class Isotonic(Record):
    """A rising step function by the ends of its steps: values between two of them are interpolated."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def of(self, scores: Numbers) -> Numbers:
        return np.interp(scores, self.x, self.y)


class Logistic(Record):
    """Logistic regression on features that are centred and scaled."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float

    def scores(self, matrix: Numbers) -> Numbers:
        scaled = (matrix - np.asarray(self.mean)) / np.asarray(self.scale)
        return 1 / (1 + np.exp(-(scaled @ np.asarray(self.weights) + self.intercept)))


class Tree(Record):
    """A tree by its nodes; a leaf has no feature (-1)."""

    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]


class Trees(Record):
    """Boosted trees: a start, and trees whose values are added at a rate."""

    start: float
    rate: float
    trees: tuple[Tree, ...]

    def scores(self, matrix: Numbers) -> Numbers:
        total = np.full(len(matrix), self.start)
        rows = np.arange(len(matrix))
        # scikit-learn decides in single precision.
        single = matrix.astype(np.float32)
        for tree in self.trees:
            feature = np.asarray(tree.feature)
            threshold = np.asarray(tree.threshold)
            left = np.asarray(tree.left)
            right = np.asarray(tree.right)
            node = np.zeros(len(matrix), dtype=int)
            for _ in range(DEPTH):
                inner = feature[node] >= 0
                goes_left = single[rows, np.where(inner, feature[node], 0)] <= threshold[node]
                node = np.where(inner, np.where(goes_left, left[node], right[node]), node)
            total += self.rate * np.asarray(tree.value)[node]
        return 1 / (1 + np.exp(-total))


class TrainedModel(Record):
    """What a model was made from, and what it has seen."""

    format: int = VERSION
    features: tuple[str, ...]
    seed: int
    rows: int
    rows_digest: str
    memories: tuple[str, ...]
    benchmarks: tuple[str, ...]
    reasoners: tuple[str, ...]
    versions: dict[str, str]
    seen: dict[str, tuple[float, float]] = Field(description="between which values a feature was seen, by its name")
    report: RewardReport = Field(description="what models of these rows reach on rows that they never saw")

    def strange(self, matrix: Numbers) -> NDArray[np.bool_]:
        """Return for each row whether a feature lies outside what was seen."""
        bounds = np.asarray([self.seen[name] for name in self.features])
        return np.asarray(((matrix < bounds[:, 0]) | (matrix > bounds[:, 1])).any(axis=1))

    def save(self, path: Path) -> None:
        """Write the model; equal models give equal bytes."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")


class RewardModel(TrainedModel):
    """Both models with their calibration. `chosen`: the one that told more on other items."""

    chosen: Kind
    logistic: Logistic
    trees: Trees
    calibration: dict[str, Isotonic]

    def values(self, matrix: Numbers, kind: Kind | None = None) -> Numbers:
        """Return for each row the chance that the recall kept what was needed."""
        name = kind or self.chosen
        part = self.logistic if name == "logistic" else self.trees
        return self.calibration[name].of(part.scores(matrix))


Model = TypeVar("Model", bound=TrainedModel)


def load_model(path: Path) -> RewardModel:
    """Return the model of a file. Raises EvaluationError for one that cannot be read, or is of other features."""
    return read_model(path, kind=RewardModel)


def read_model(path: Path, *, kind: type[Model]) -> Model:
    """Return what a file says of a model of this kind. Raises EvaluationError as `load_model` does."""
    other_version = f"{path} was trained on rows of another version; train it again with `amemgym reward train`."
    try:
        content = path.read_bytes()
        if parse_json(content)["format"] != VERSION:
            raise EvaluationError(other_version)
        model = kind.model_validate_json(content)
    except OSError as error:
        raise EvaluationError(f"The reward model {path} cannot be read: {error.strerror}.") from error
    except (JsonError, ValidationError, KeyError, TypeError) as error:
        raise EvaluationError(f"{path} is no reward model; `amemgym reward train` writes one.") from error
    if model.features != feature_names():
        raise EvaluationError(other_version)
    return model


def feature_names() -> tuple[str, ...]:
    """Return the names of all features, in order."""
    return tuple(feature.name for feature in FEATURES)


def matrix_of(rows: Sequence[RewardRow]) -> Numbers:
    """Return the features of rows, a line for each."""
    names = feature_names()
    return np.asarray([[row.features[name] for name in names] for row in rows], dtype=float).reshape(-1, len(names))


def labels_of(rows: Sequence[RewardRow]) -> Numbers:
    """Return 1 for each row that kept what was needed, else 0."""
    return np.asarray([bool(row.kept) for row in rows], dtype=float)


def labelled(rows: Sequence[RewardRow]) -> list[RewardRow]:
    """Return the rows with a label. Raises EvaluationError where there are too few, or all are alike."""
    found = [row for row in rows if row.kept is not None]
    if len(found) < LEAST_ROWS or len({row.kept for row in found}) < 2:
        raise EvaluationError(
            f"{counted(len(found), 'row')} with a label cannot train a model: it takes {LEAST_ROWS}, of both outcomes. "
            "Evaluate more memories with --conditions none,everything, damaged ones too: 'bm25?perturbed=half,stale'."
        )
    if len({row.cluster for row in found}) < 2:
        raise EvaluationError("All rows are of one user or task, so that none can be held out; evaluate more of them.")
    return found


def _sklearn(name: str) -> Any:
    """Return a module of scikit-learn, which takes a second to import, has no types, and is needed for training alone."""
    return importlib.import_module(f"sklearn.{name}")


def fit_logistic(rows: Sequence[RewardRow]) -> Logistic:
    """Fit logistic regression on rows of both outcomes."""
    matrix = matrix_of(rows)
    mean = matrix.mean(axis=0)
    scale = matrix.std(axis=0)
    scale[np.round(scale, DIGITS) == 0] = 1.0  # what is the same everywhere may differ in its last digit
    regression = _sklearn("linear_model").LogisticRegression(max_iter=1000).fit((matrix - mean) / scale, labels_of(rows))
    return Logistic(
        mean=_plain(mean), scale=_plain(scale), weights=_plain(regression.coef_[0]), intercept=_plain(regression.intercept_)[0]
    )


def fit_trees(rows: Sequence[RewardRow], *, seed: int) -> Trees:
    """Fit boosted trees on rows of both outcomes."""
    labels = labels_of(rows)
    boosted = (
        _sklearn("ensemble")
        .GradientBoostingClassifier(
            n_estimators=TREES,
            max_depth=DEPTH,
            learning_rate=RATE,
            min_samples_leaf=min(LEAST_LEAF, max(1, len(rows) // 20)),
            subsample=SUBSAMPLE,
            random_state=seed,
        )
        .fit(matrix_of(rows), labels)
    )
    share = labels.mean()
    trees = [_tree(one[0].tree_) for one in boosted.estimators_]
    return Trees(start=round(float(np.log(share / (1 - share))), DIGITS), rate=RATE, trees=tuple(trees))


def _tree(nodes: Any) -> Tree:
    leaf = nodes.children_left == -1
    return Tree(
        feature=tuple(int(number) for number in np.where(leaf, -1, nodes.feature)),
        # Not rounded: many lie exactly on a value, as trees see it.
        threshold=tuple(map(float, np.where(leaf, 0.0, nodes.threshold))),
        left=tuple(map(int, nodes.children_left)),
        right=tuple(map(int, nodes.children_right)),
        value=_plain(nodes.value[:, 0, 0]),
    )


def _plain(numbers: Any) -> tuple[float, ...]:
    return tuple(round(float(number), DIGITS) for number in np.ravel(numbers))


def fold_of(rows: Sequence[RewardRow]) -> NDArray[np.int64]:
    """Return the fold of each row: rows of one cluster are in one."""
    clusters = sorted({row.cluster for row in rows})
    folds = {cluster: place % FOLDS for place, cluster in enumerate(clusters)}
    return np.asarray([folds[row.cluster] for row in rows])


def learners_of_features(*, seed: int) -> dict[str, Learner]:
    """Return what makes a scorer of rows from rows, for each model by its name."""
    return {"logistic": _logistic_scorer, "trees": partial(_trees_scorer, seed=seed)}


def _logistic_scorer(rows: Sequence[RewardRow]) -> Scorer:
    model = fit_logistic(rows)
    return lambda asked: model.scores(matrix_of(asked))


def _trees_scorer(rows: Sequence[RewardRow], *, seed: int) -> Scorer:
    model = fit_trees(rows, seed=seed)
    return lambda asked: model.scores(matrix_of(asked))


def calibrated(scores: Numbers, labels: Numbers) -> Isotonic:
    """Fit the step function that turns scores into chances."""
    fit = _sklearn("isotonic").IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, labels)
    return Isotonic(x=_plain(fit.X_thresholds_), y=_plain(fit.y_thresholds_))


def trained_on(rows: Sequence[RewardRow], *, report: RewardReport, seed: int, packages: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a `TrainedModel` for these rows, made with these packages."""
    low, high = _seen(rows)
    return {
        "features": feature_names(),
        "report": report,
        "seed": seed,
        "rows": len(rows),
        "rows_digest": rows_digest(rows),
        "memories": tuple(sorted({row.memory for row in rows})),
        "benchmarks": tuple(sorted({row.benchmark for row in rows})),
        "reasoners": tuple(sorted({row.reasoner for row in rows})),
        "versions": {name: version(name) for name in packages},
        "seen": dict(zip(feature_names(), zip(_plain(low), _plain(high), strict=True), strict=True)),
    }


def _seen(rows: Sequence[RewardRow]) -> tuple[Numbers, Numbers]:
    """Return the bounds of each feature: a benchmark with few rows counts as much as one with many."""
    matrix = matrix_of(rows)
    benchmarks = np.asarray([row.benchmark for row in rows])
    bounds = [np.percentile(matrix[benchmarks == one], SEEN, axis=0) for one in np.unique(benchmarks)]
    return np.min(bounds, axis=0)[0], np.max(bounds, axis=0)[1]
