"""Reward models: equal rows give equal bytes, plain numbers predict as scikit-learn does, and the report tells the truth."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from assets.engine.seeded_random import SeededRandom
from assets.records.estimate import Estimate
from pipelines.cli.main import app
from pipelines.errors import EvaluationError, Problem
from pipelines.reward.metrics import auroc, average_precision, calibration_error, safe_f1
from pipelines.reward.models import RewardModel, feature_names, fit_logistic, fit_trees, load_model, matrix_of
from pipelines.reward.report import report_page, report_text
from pipelines.reward.rows import RewardRow
from pipelines.reward.training import train
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


@pytest.fixture(scope="module")
def model() -> RewardModel:
    return train(ROWS, seed=3).model


def test_equal_rows_and_seed_give_the_same_bytes_and_what_is_loaded_predicts_the_same(
    tmp_path: Path, model: RewardModel
) -> None:
    for name in ("first", "second"):
        train(made_rows(items=8), seed=3).model.save(tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded == model
    assert np.array_equal(loaded.values(matrix_of(ROWS)), model.values(matrix_of(ROWS)))


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


def test_a_model_beats_the_floors_where_a_feature_tells_and_ranks_memories_it_never_saw(model: RewardModel) -> None:
    report = model.report
    assert [split.name for split in report.splits] == ["a new memory", "a new benchmark", "new items"]
    first = report.splits[0]
    assert first.gain.low is not None
    assert first.gain.low > 0
    assert [(ranking.tau, ranking.first_is_first, ranking.wrong) for ranking in report.rankings] == [(1.0, True, 0.0)] * 2
    assert report_text(model).startswith("On a new memory a model tells more than any floor")
    assert "Kendall's tau of memories that it never saw is 1.00 or more.\n" in report_text(model)


def test_a_model_that_tells_more_than_a_floor_but_does_not_order_memories_is_not_recommended(model: RewardModel) -> None:
    first, *others = model.report.rankings
    alike = first.model_copy(update={"benchmark": "alike", "tau": None})  # all memories are equally good there
    report = model.report.model_copy(update={"rankings": (alike, first.model_copy(update={"tau": 0.2}), *others)})
    assert report.verdict.endswith("never saw is .20 on papers. Do not rank memories by this model.")


def test_the_page_holds_the_verdict_every_table_and_the_reliability_plot(model: RewardModel) -> None:
    page = report_page(model)
    assert json.dumps(model.report.verdict)[1:-1] in page
    data = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)[0])
    blocks: dict[str, Any] = {section["key"]: section["blocks"] for section in data["sections"]}
    assert list(blocks) == ["areas", "floors", "measures", "order", "calibration", "features"]
    _, table, chart = blocks["calibration"]
    assert len(table["rows"]) == len(chart["lines"]["kept"]) == len(model.report.bins)


def test_the_report_of_a_model_is_printed_or_written_as_its_file_ends(tmp_path: Path, model: RewardModel) -> None:
    path = tmp_path / "model.json"
    model.save(path)
    printed = CliRunner().invoke(app, ["reward", "report", str(path)], catch_exceptions=False).output
    assert " ".join(printed.split()).startswith(model.report.verdict)
    for name, text in (("report.md", report_text(model)), ("report.html", report_page(model))):
        CliRunner().invoke(app, ["reward", "report", str(path), "--out", str(tmp_path / name)], catch_exceptions=False)
        assert (tmp_path / name).read_text() == text
    with pytest.raises(Problem, match=r"report\.pdf ends in neither \.html nor \.md"):
        CliRunner().invoke(app, ["reward", "report", str(path), "--out", "report.pdf"], catch_exceptions=False)


def test_where_a_floor_does_as_well_the_first_line_says_so() -> None:
    rows = made_rows(telling="compression")
    text = report_text(train(rows, seed=3).model)
    assert text.startswith("A floor does as well as a model on a new memory")
    assert "Do not rank memories by this model." in text.partition("\n")[0]


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        ((-0.062, -0.113, -0.038), "On a new benchmark a floor tells more than any model: area under the curve "),
        ((-0.02, -0.05, 0.01), "A floor does as well as a model on a new benchmark: area under the curve "),
        ((0.02, 0.0, 0.05), "A floor does as well as a model on a new benchmark: area under the curve "),
    ],
)
def test_the_first_line_says_that_a_floor_wins_where_the_interval_of_the_difference_lies_below_0(
    model: RewardModel, gain: tuple[float, float, float], said: str
) -> None:
    memory, benchmark, items = model.report.splits
    value, low, high = gain
    lost = benchmark.model_copy(update={"gain": Estimate(value=value, low=low, high=high)})
    report = model.report.model_copy(update={"splits": (memory, lost, items)})
    first_line = report_text(model.model_copy(update={"report": report})).partition("\n")[0]
    assert first_line.startswith(said)
    assert first_line.endswith("Do not rank memories by this model.")


def test_memories_that_tie_in_their_true_score_are_said_to_tie_where_tau_is_missing(model: RewardModel) -> None:
    others = [one for one in ROWS if one.benchmark == "talks"]
    ties = [one.model_copy(update={"kept": True}) for one in ROWS if one.benchmark == "papers"]
    text = report_text(train([*others, *ties], seed=3).model)
    assert re.search(r"\| papers \| [\d,]+ \| 4 \| - \| - \| 0 \|", text)
    assert "A dash for tau: the memories tie in their true score, as with 0 comparisons" in text
    assert "A dash for tau" not in report_text(model)


def test_too_few_rows_or_one_outcome_are_refused() -> None:
    with pytest.raises(EvaluationError, match="20 rows with a label cannot train a model"):
        train(ROWS[:20], seed=3)
    with pytest.raises(EvaluationError, match="of both outcomes"):
        train([one.model_copy(update={"kept": True}) for one in ROWS], seed=3)
    with pytest.raises(EvaluationError, match="of one user or task, so that none can be held out"):
        train(ROWS[:1] * 30 + [ROWS[0].model_copy(update={"kept": not ROWS[0].kept})] * 30, seed=3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 1}, "was trained on rows of another version"),
        ({"features": ("a",)}, "was trained on rows of another version"),
    ],
)
def test_a_model_of_another_version_is_refused(
    tmp_path: Path, model: RewardModel, change: dict[str, object], said: str
) -> None:
    model.model_copy(update=change).save(tmp_path / "model.json")
    with pytest.raises(EvaluationError, match=said):
        load_model(tmp_path / "model.json")


def test_a_model_of_another_version_is_refused_whatever_fields_it_had(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"format": 1, "bins": []}')
    with pytest.raises(EvaluationError, match="was trained on rows of another version"):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize("content", ["{}", "[]", "format", '{"format": 2}'])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(EvaluationError, match="is no reward model"):
        load_model(tmp_path / "model.json")
    with pytest.raises(EvaluationError, match="cannot be read"):
        load_model(tmp_path / "none.json")


def test_what_lies_outside_the_training_rows_is_named(model: RewardModel) -> None:
    far = ROWS[0].model_copy(update={"features": dict.fromkeys(feature_names(), 9.0)})
    assert model.strange(matrix_of([far])).tolist() == [True]
    assert model.strange(matrix_of(ROWS)).mean() < 0.2
    # A few rows of another benchmark are no strangers to a model that was trained on them.
    features = dict.fromkeys(feature_names(), 5.0)
    few = [one.model_copy(update={"benchmark": "facts", "features": features}) for one in ROWS[:4]]
    assert not train([*ROWS, *few], seed=3).model.strange(matrix_of(few)).any()


def test_measures_of_a_small_example_by_hand() -> None:
    values, labels, weights = np.array([0.9, 0.8, 0.3, 0.3]), np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4)
    assert auroc(values, labels) == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    assert auroc(values, labels, np.array([2.0, 1.0, 0.0, 1.0])) == 1.0
    assert average_precision(values, labels, weights) == pytest.approx(0.5 * 1 + 0.5 * 0.5)
    assert safe_f1(values, labels, weights) == pytest.approx(2 * 1 / (2 + 2))
    assert calibration_error(values, labels, weights) == pytest.approx((0.1 + 0.8 + 0.7 + 0.3) / 4)
