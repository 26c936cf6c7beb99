"""The asset of rows: one table of all finished runs, from which the command trains."""

from pathlib import Path

import dagster as dg
import pytest

from pipelines.reward.asset import TABLE, reward_rows_asset
from pipelines.reward.rows import reward_rows
from tests.reward.test_rows import row, run_folder


def materialized(config: dict[str, list[str]] | None = None) -> dg.ExecuteInProcessResult:
    ops = {"reward_rows": {"config": config or {}}}
    asset = reward_rows_asset(["evaluation"])
    return dg.materialize([asset], run_config={"ops": ops}, raise_on_error=False)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    folder = tmp_path / "runs"
    folder.mkdir()
    run_folder(folder, "bm25", [row(number, right=True) for number in range(3)])
    run_folder(folder, "awi", [row(1, right=False), row(2, right=False, everything=False)])
    return folder


def test_the_rows_of_all_finished_runs_are_one_table_and_a_damaged_run_is_named(runs: Path) -> None:
    (runs / "old").mkdir()
    (runs / "old" / "results.json").write_text("{}")
    result = materialized()
    assert result.success
    metadata = result.asset_materializations_for_node("reward_rows")[0].metadata
    assert (metadata["dagster/row_count"].value, metadata["with_a_label"].value) == (5, 4)
    assert "old cannot be read" in str(metadata["runs_left_out"].value)
    assert reward_rows([runs.parent / TABLE]) == reward_rows([runs / "awi", runs / "bm25"])


def test_only_the_runs_that_are_named_are_in_the_table_and_a_wrong_name_fails_with_one_sentence(runs: Path) -> None:
    assert materialized({"runs": ["aw"]}).success
    assert {one.memory for one in reward_rows([runs.parent / TABLE])} == {"awi"}
    failed = materialized({"runs": ["lost"]})
    assert not failed.success
    [event] = [event for event in failed.all_events if event.is_step_failure]
    assert "'lost' names no run" in str(event.event_specific_data)


def test_without_a_finished_run_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    assert not materialized().success
    assert not (tmp_path / TABLE).exists()
