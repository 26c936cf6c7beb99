"""Reward models: equal rows give equal bytes, plain numbers predict as scikit-learn does, and the report tells the truth."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assets.engine.seeded_random import SeededRandom
from pipelines.errors import EvaluationError
from pipelines.reward.metrics import auroc, average_precision, calibration_error, safe_f1
from pipelines.reward.models import feature_names, fit_logistic, fit_trees, load_model, matrix_of, train
from pipelines.reward.report import report_text, reward_report
from pipelines.reward.rows import RewardRow
from tests.reward.test_rows import row

MEMORIES = ("one", "two", "three", "four")


def made_rows(*, telling: str = "newest_told", items: int = 30) -> list[RewardRow]:
    """Rows of four memories on two benchmarks, in which one feature decides the outcome in nine of ten cases."""
    found: list[RewardRow] = []
    for place, memory in enumerate(MEMORIES):
        for benchmark in ("talks", "papers"):
            for number in range(items):
                rng = SeededRandom(memory, benchmark, number)
                value = float(rng.integer_below(10) < 2 + 2 * place)
                kept = bool(value) if rng.integer_below(10) else not value
                features = {name: rng.integer_below(100) / 100 for name in feature_names()} | {telling: value}
                own = row(number, right=kept)
                found.append(
                    RewardRow(
                        benchmark=benchmark,
                        release=benchmark,
                        memory=memory,
                        perturbed="",
                        reasoner="m",
                        row=own,
                        features=features,
                        kept=kept,
                    )
                )
    return found


ROWS = made_rows()


def test_equal_rows_and_seed_give_the_same_bytes_and_what_is_loaded_predicts_the_same(tmp_path: Path) -> None:
    first, second = train(ROWS, seed=3), train(made_rows(), seed=3)
    assert first == second
    first.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded == first
    assert np.array_equal(loaded.values(matrix_of(ROWS)), first.values(matrix_of(ROWS)))


def test_plain_numbers_predict_what_scikit_learn_predicts() -> None:
    ensemble: Any = importlib.import_module("sklearn.ensemble")
    trees = fit_trees(ROWS, seed=3)
    matrix, labels = matrix_of(ROWS), np.asarray([bool(one.kept) for one in ROWS], dtype=float)
    own = ensemble.GradientBoostingClassifier(
        n_estimators=150, max_depth=3, learning_rate=0.1, min_samples_leaf=12, subsample=0.7, random_state=3
    ).fit(matrix, labels)
    assert np.allclose(trees.scores(matrix), own.predict_proba(matrix)[:, 1], atol=1e-6)


def test_a_feature_that_is_the_same_everywhere_moves_no_prediction() -> None:
    rows = [one.model_copy(update={"features": one.features | {"compression": 0.04}}) for one in ROWS]
    assert not np.isnan(fit_logistic(rows).scores(matrix_of(rows))).any()


def test_a_model_beats_the_floors_where_a_feature_tells_and_ranks_memories_it_never_saw() -> None:
    report = reward_report(ROWS, seed=3)
    assert [split.name for split in report.splits] == ["a new memory", "a new benchmark", "new items"]
    first = report.splits[0]
    assert first.gain.low is not None
    assert first.gain.low > 0
    assert all(ranking.tau >= 0.8 and ranking.first_is_first for ranking in report.rankings)
    assert report_text(report, train(ROWS, seed=3)).startswith("On a new memory a model tells more than any floor")


def test_where_a_floor_does_as_well_the_first_line_says_so() -> None:
    rows = made_rows(telling="compression")
    text = report_text(reward_report(rows, seed=3), train(rows, seed=3))
    assert text.startswith("A floor does as well as a model on a new memory")
    assert "Do not rank memories by this model." in text.partition("\n")[0]


def test_too_few_rows_or_one_outcome_are_refused() -> None:
    with pytest.raises(EvaluationError, match="20 rows with a label cannot train a model"):
        train(ROWS[:20], seed=3)
    with pytest.raises(EvaluationError, match="of both outcomes"):
        train([one.model_copy(update={"kept": True}) for one in ROWS], seed=3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "was trained on rows of another version"),
        ({"features": ("a",)}, "was trained on rows of another version"),
    ],
)
def test_a_model_of_another_version_is_refused(tmp_path: Path, change: dict[str, object], said: str) -> None:
    train(ROWS, seed=3).model_copy(update=change).save(tmp_path / "model.json")
    with pytest.raises(EvaluationError, match=said):
        load_model(tmp_path / "model.json")


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(EvaluationError, match="is no reward model"):
        load_model(tmp_path / "model.json")
    with pytest.raises(EvaluationError, match="cannot be read"):
        load_model(tmp_path / "none.json")


def test_what_lies_outside_the_training_rows_is_named() -> None:
    model = train(ROWS, seed=3)
    far = ROWS[0].model_copy(update={"features": dict.fromkeys(feature_names(), 9.0)})
    assert model.strange(matrix_of([far])).tolist() == [True]
    assert model.strange(matrix_of(ROWS)).mean() < 0.2


def test_measures_of_a_small_example_by_hand() -> None:
    values, labels, weights = np.array([0.9, 0.8, 0.3, 0.3]), np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4)
    assert auroc(values, labels) == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    assert auroc(values, labels, np.array([2.0, 1.0, 0.0, 1.0])) == 1.0
    assert average_precision(values, labels, weights) == pytest.approx(0.5 * 1 + 0.5 * 0.5)
    assert safe_f1(values, labels, weights) == pytest.approx(2 * 1 / (2 + 2))
    assert calibration_error(values, labels, weights) == pytest.approx((0.1 + 0.8 + 0.7 + 0.3) / 4)
