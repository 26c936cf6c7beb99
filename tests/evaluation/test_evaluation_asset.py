"""The asset `evaluation` on a small release: its runs, what it shows of them, and problems in one sentence."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dataset_card.release.folder import write_release
from pipelines.definitions import defs
from pipelines.evaluation_assets import answers_scored, evaluation
from tests.support.releases import content


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a release of `demo`, and no endpoint."""
    for name in ("AMEMGYM_BASE_URL", "OPENAI_BASE_URL", "AMEMGYM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    write_release(content(), root=tmp_path / "releases", version="0.1.0")
    return tmp_path


def materialized(**config: Any) -> dg.ExecuteInProcessResult:
    """The asset of `demo`, with this config."""
    return dg.materialize(
        [evaluation, answers_scored],  # pyright: ignore[reportArgumentType]
        partition_key="demo",
        run_config={"ops": {"evaluation": {"config": config}}},
        instance=dg.DagsterInstance.ephemeral(),  # pyright: ignore[reportUnknownMemberType]
        raise_on_error=False,
    )


@pytest.mark.usefixtures("home")
def test_the_asset_shows_a_leaderboard_and_names_pages_that_are_there() -> None:
    result = materialized(memories=["full-history", "awi"])
    [event] = result.asset_materializations_for_node("evaluation")
    shown = {name: value.value for name, value in event.metadata.items()}

    assert result.success
    assert [(check.check_name, check.passed) for check in result.get_asset_check_evaluations()] == [("answers_scored", True)]
    assert shown["unscored_full-history"] == shown["unscored_awi"] == 0
    assert "| awi | on-policy |" in str(shown["leaderboard"])
    assert str(shown["overall_by_period"]).startswith("| memory system | 0 | 1 | 2 |")
    for name in ("board", "page_full-history", "page_awi"):
        assert Path(str(shown[name])).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_two_assistants_of_one_name_are_both_shown(home: Path) -> None:
    own = home / "bm25.yaml"
    own.write_text("kind: bm25\nsettings: {topk: 4}\n", encoding="utf-8")
    result = materialized(memories=["bm25", str(own)])
    [event] = result.asset_materializations_for_node("evaluation")
    shown = {name: str(value.value) for name, value in event.metadata.items()}

    assert len({shown["page_bm25, topk 30"], shown["page_bm25, topk 4"]}) == 2
    assert "| bm25, topk 30 | on-policy |" in shown["leaderboard"]
    assert "| bm25, topk 4 | on-policy |" in shown["leaderboard"]
    assert "| bm25, topk 4 |" in shown["overall_by_period"]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"memories": ["brain"]}, "There is no memory 'brain'"),
        ({"users": 9}, "has 2 users"),
        ({"version": "7.0.0"}, "has no version 7.0.0; there are 0.1.0."),
        ({"memories": []}, "No memory is given"),
        ({"seed": -1}, "is 0 or more, not -1"),
        ({"max_cost_usd": 0.0}, "A budget of 0 lets no call through"),
        ({"max_tokens": -5}, "A budget of -5 lets no call through"),
    ],
)
def test_a_problem_ends_the_run_with_one_sentence(config: dict[str, Any], sentence: str) -> None:
    result = materialized(**config)
    [failure] = result.get_step_failure_events()
    data = failure.step_failure_data.user_failure_data

    assert data is not None
    assert data.description is not None
    assert sentence in data.description


def test_the_job_evaluates_and_makes_nothing_else() -> None:
    job = defs.resolve_job_def("evaluate")

    assert {node.name for node in job.nodes} == {"evaluation", "evaluation_answers_scored"}
    assert dg.AssetKey("release") in defs.resolve_asset_graph().get(dg.AssetKey("evaluation")).parent_keys
