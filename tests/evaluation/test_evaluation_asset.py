"""The asset `evaluation` on a small release: its runs, what it shows of them, and problems in one sentence."""

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.engine.benchmark import Benchmark
from assets.reporting.asset_description import IN_PLACE
from assets.reporting.page_style import PREFIX
from dataset_card.deep_research import DEEP_RESEARCH_RELEASE
from dataset_card.release.content import ReleaseContent
from dataset_card.release_store.folder import write_release
from pipelines.benchmarks import BENCHMARKS
from pipelines.definitions import defs
from pipelines.evaluation_assets import evaluation_asset, evaluation_check
from tests.support.releases import content
from tests.support.research_tasks import made_task, small_recipe


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release of `demo`; for reading."""
    root = tmp_path_factory.mktemp("released")
    write_release(content(), root=root, version="0.1.0")
    return root


@pytest.fixture
def home(released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a release of `demo`, and no endpoint."""
    for name in ("AMEMGYM_BASE_URL", "OPENAI_BASE_URL", "AMEMGYM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    shutil.copytree(released, tmp_path / "releases")
    return tmp_path


@cache
def instance() -> dg.DagsterInstance:
    """One for all tests, which look at their own run's results: its tables take longer to make than most runs."""
    return dg.DagsterInstance.ephemeral()  # pyright: ignore[reportUnknownMemberType]


def materialized(
    variant: str = "demo", *, benchmark: Benchmark = AMEMGYM, tags: dict[str, str] | None = None, **config: Any
) -> dg.ExecuteInProcessResult:
    """The asset of the variant, with this config, which asks for one memory below a limit where it says nothing else."""
    config = {"memories": ["full-history"], "max_tokens": 10_000_000, **config}
    return dg.materialize(
        [evaluation_asset(benchmark), evaluation_check(benchmark)],
        partition_key=variant,
        run_config={"ops": {benchmark.op("evaluation"): {"config": config}}},
        instance=instance(),
        raise_on_error=False,
        tags=tags,
    )


def test_the_asset_shows_a_leaderboard_and_links_to_pages_that_are_there(home: Path) -> None:
    result = materialized(memories=["full-history", "awi"])
    [event] = result.asset_materializations_for_node("amemgym__evaluation")
    shown = {name: value.value for name, value in event.metadata.items()}

    assert result.success
    assert [(check.check_name, check.passed) for check in result.get_asset_check_evaluations()] == [("answers_scored", True)]
    assert shown["unscored_full-history"] == shown["unscored_awi"] == 0
    assert "| awi |" in str(shown["leaderboard"])
    assert len(str(shown["leaderboard"])) < IN_PLACE
    assert str(shown["overall_by_period"]).startswith("| memory system | 0 | 1 | 2 |")
    for name in ("board", "page_full-history", "page_awi"):
        page = home / str(shown[name]).removeprefix(f"{PREFIX}/")
        assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_another_benchmarks_asset_evaluates_its_release(home: Path) -> None:
    recipe = small_recipe().model_copy(update={"variant": "dr-demo"})
    made = ReleaseContent(
        form=DEEP_RESEARCH_RELEASE, recipe=recipe, items=[made_task().instance], generator="amemgym-synth 0.1.0", prompts={}
    )
    write_release(made, root=home / "releases", version="0.1.0")
    result = materialized("dr-demo", benchmark=DEEP_RESEARCH, memories=["bm25", "none"])
    [event] = result.asset_materializations_for_node("deep_research__dr_evaluation")
    shown = {name: value.value for name, value in event.metadata.items()}

    assert result.success
    assert "| bm25 |" in str(shown["leaderboard"])
    assert "| bm25 |" in str(shown["isolated_scores"])
    assert shown["overall_none"] == 0
    assert "memory_none" not in shown


def test_two_assistants_of_one_name_are_both_shown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = home / "bm25.yaml"
    monkeypatch.setenv("AMEMGYM_MEMORIES", f"/elsewhere/mine.py:Mine, {own}")
    own.write_text("kind: bm25\nsettings: {topk: 4}\n", encoding="utf-8")
    result = materialized(memories=["bm25", str(own)])
    [event] = result.asset_materializations_for_node("amemgym__evaluation")
    shown = {name: str(value.value) for name, value in event.metadata.items()}

    assert len({shown["page_bm25, topk 30"], shown["page_bm25, topk 4"]}) == 2
    assert "| bm25, topk 30 |" in shown["leaderboard"]
    assert "| bm25, topk 4 |" in shown["leaderboard"]
    assert "| bm25, topk 4 |" in shown["overall_by_period"]


@pytest.mark.parametrize("config", [{"memories": []}, {"max_tokens": None}], ids=["no memory", "no limit"])
def test_a_run_that_names_no_memory_or_no_limit_evaluates_nothing_and_does_not_fail(home: Path, config: dict[str, Any]) -> None:
    result = materialized(**config)
    assert result.success
    assert result.asset_materializations_for_node("amemgym__evaluation") == []
    assert result.get_asset_check_evaluations() == []
    assert not (home / "runs").exists()


def test_a_backfill_that_asks_for_no_memory_evaluates_nothing_and_has_the_asset_made(home: Path) -> None:
    result = materialized(memories=[], tags={"dagster/backfill": "every asset"})
    [event] = result.asset_materializations_for_node("amemgym__evaluation")
    assert str(event.metadata["unasked"].value).startswith("Nothing is evaluated")
    assert [check.passed for check in result.get_asset_check_evaluations()] == [True]
    assert not (home / "runs").exists()


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"memories": ["brain"]}, "There is no memory 'brain'"),
        ({"memories": ["mine.py:Mine"]}, "only where AMEMGYM_MEMORIES lists it word for word; start Dagster with"),
        ({"memories": ["bm25", "mine.yaml"]}, "The memory 'mine.yaml' is code or a file"),
        ({"memories": ["mcp+file:///mine.py"]}, "The memory 'mcp+file:"),
        ({"options": {"users": 9}}, "has 2 users"),
        ({"options": {"token": 4000}}, "has 'token', which is no option of an evaluation; these are: tokens"),
        ({"version": "7.0.0"}, "has no version 7.0.0; there are 0.1.0."),
        ({"memories": ["http://otter:narwhal@host"]}, "cannot hold a password or a query here"),
        ({"memories": ["mcp+http://host/mcp?key=narwhal"]}, "as in http://host#Authorization=Basic $MY_LOGIN"),
        ({"memories": ["http://host#X-Steal=$OPENAI_API_KEY"]}, "needs variables of the environment"),
        ({"options": {"seed": -1}}, "seed has to be 0 or more"),
        ({"max_cost_usd": 0.0}, "A budget must be a finite number above 0, not 0"),
        ({"max_tokens": -5}, "A budget must be a finite number above 0, not -5"),
    ],
)
def test_a_problem_ends_the_run_with_one_sentence(config: dict[str, Any], sentence: str) -> None:
    result = materialized(**config)
    [failure] = result.get_step_failure_events()
    data = failure.step_failure_data.user_failure_data

    assert data is not None
    assert data.description is not None
    assert sentence in data.description
    assert "narwhal" not in data.description


@pytest.mark.parametrize("benchmark", [entry.benchmark for entry in BENCHMARKS.values()], ids=lambda benchmark: benchmark.name)
def test_the_job_evaluates_and_makes_nothing_else(benchmark: Benchmark) -> None:
    """Its only parent is its own benchmark's release: Dagster asks "Are you sure?" where a parent was never made."""
    asset = dg.AssetKey(benchmark.asset_key("evaluation"))
    job = defs.resolve_job_def(benchmark.key("evaluate"))

    assert {node.name for node in job.nodes} == {benchmark.op("evaluation"), f"{benchmark.op('evaluation')}_answers_scored"}
    assert defs.resolve_asset_graph().get(asset).parent_keys == {dg.AssetKey(benchmark.asset_key("release"))}
