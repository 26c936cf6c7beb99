"""Floors: what needs no model tells recalls apart and orders memories, and a model is held against it."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.errors import EvaluationError
from pipelines.experiments.reward_model.floors import (
    MODEL,
    auroc,
    compression,
    fact_recall,
    labelled_rows,
    labels_of,
    report_rows,
    word_overlap,
)
from pipelines.experiments.reward_model.rows import RewardRow, reward_rows, write_reward_rows
from tests.experiments.reward_model.test_rows import row, run_folder

MEMORIES = ("one", "two", "three", "four")


def made_rows(*, items: int = 20, spelled: bool = True) -> list[RewardRow]:
    """Rows of four memories on two benchmarks: the later a memory, the more it kept. All needed values stand in what kept."""
    found: list[RewardRow] = []
    for place, memory in enumerate(MEMORIES):
        for benchmark in ("talks", "papers"):
            for number in range(items):
                kept = number % 5 <= place
                recalled = row(number, right=kept, fact_recall=(1.0 if kept else 0.5) if spelled else None)
                made = RewardRow(
                    benchmark=benchmark,
                    release=benchmark,
                    memory=memory,
                    perturbed="",
                    reasoner="m",
                    row=recalled,
                    nearest=("alpha beta",),
                    written_tokens=4,
                    kept=kept,
                )
                found.append(made)
    return found


ROWS = made_rows()


def taus(rows: Sequence[RewardRow]) -> list[float | None]:
    return [order.taus["fact_recall"] for order in report_rows(rows).orders]


def test_fact_recall_is_1_only_where_every_needed_value_was_recalled() -> None:
    some = ROWS[0].model_copy(update={"row": row(1, right=True, fact_recall=0.5)})
    unspelled = ROWS[0].model_copy(update={"row": row(1, right=True)})
    assert [fact_recall(one) for one in (ROWS[0], some, unspelled)] == [1.0, 0.0, 0.5]


def test_overlap_and_compression_of_a_small_example_by_hand() -> None:
    # Of "What is alpha of gamma?" the recalled text has alpha alone; two tokens were recalled of four.
    assert word_overlap(ROWS[0]) == pytest.approx(1 / 5)
    assert compression(ROWS[0]) == 0.5


def test_the_area_counts_pairs_by_their_weights_and_a_tie_as_half() -> None:
    values, labels = np.array([0.9, 0.8, 0.3, 0.3]), np.array([1.0, 0.0, 1.0, 0.0])
    assert auroc(values, labels, np.ones(4)) == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    assert auroc(values, labels, np.array([2.0, 1.0, 0.0, 1.0])) == 1.0


def test_fact_recall_orders_memories_and_is_the_best_floor_where_it_decides() -> None:
    report = report_rows(ROWS)
    assert taus(ROWS) == [1.0, 1.0]
    (split,) = report.splits
    assert (split.best_floor, split.areas["fact_recall"].value, split.areas["word overlap"].value) == ("fact_recall", 1.0, 0.5)
    assert report.verdict == (
        "The best floor tells recalls apart by an area under the curve of 1.000 [.987, 1.000] of fact_recall."
    )


def test_damaged_memories_are_no_part_of_an_order() -> None:
    damaged = [one.model_copy(update={"perturbed": "half", "kept": not one.kept}) for one in ROWS]
    assert taus([*ROWS, *damaged]) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("sign", "said"),
    [
        (1, "the model tells more than any floor: area under the curve 1.000 [.987, 1.000] against .500"),
        (-1, "a floor tells more than the model: area under the curve .000 [.000, .013] against .500"),
    ],
)
def test_the_verdict_says_whether_a_model_beats_the_best_floor(sign: int, said: str) -> None:
    blind = made_rows(spelled=False)
    report = report_rows(blind, held_out={"a new memory": sign * labels_of(blind)})
    assert report.verdict.startswith(f"On a new memory {said}")
    assert report.orders[0].taus[MODEL] == sign
    assert "| a new memory | 4 |" in report.text


def test_a_floor_that_does_as_well_as_the_model_is_said_to() -> None:
    report = report_rows(ROWS, held_out={"a new benchmark": labels_of(ROWS)})
    assert report.verdict.startswith("On a new benchmark a floor does as well as the model")


def test_too_few_rows_or_one_outcome_are_refused() -> None:
    with pytest.raises(EvaluationError, match="20 rows with a label cannot be told apart"):
        labelled_rows(ROWS[:20])
    with pytest.raises(EvaluationError, match="of both outcomes"):
        labelled_rows([one.model_copy(update={"kept": True}) for one in ROWS])


def test_the_command_prints_the_floors_of_runs_and_of_tables_of_rows(tmp_path: Path) -> None:
    told = [row(number, right=number % 2 == 0, fact_recall=float(number % 2 == 0)) for number in range(60)]
    run = run_folder(tmp_path, "bm25", told)
    write_reward_rows(tmp_path / "rows.parquet", reward_rows([run]))
    for source in (run, tmp_path / "rows.parquet"):
        found = CliRunner().invoke(app, ["reward", "floors", str(source), "--json"], catch_exceptions=False)
        assert json.loads(found.stdout)["splits"][0]["areas"]["fact_recall"]["value"] == 1.0
    printed = CliRunner().invoke(app, ["reward", "floors", str(run)], catch_exceptions=False).output
    assert "60 rows with a label; 50.0% kept what was needed." in printed
