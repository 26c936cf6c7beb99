"""What is refused at launch of a variant that was made since the process began."""

from pathlib import Path

import dagster as dg
import pytest

from assets.recipe.recipe import RecipeError
from pipelines.benchmarks import BENCHMARKS
from pipelines.opening.run_checks import check_run


@pytest.fixture(autouse=True)
def since_the_process_began() -> None:
    """The variants are known that there were before a test makes one of its own."""
    assert all(entry.benchmark.partitions.units for entry in BENCHMARKS.values())


@pytest.mark.parametrize(
    ("benchmark", "job", "recipe"),
    [
        ("amemgym", "generate_and_release", "amemgym__recipe"),
        ("user_facts", "facts_generate_and_release", "user_facts__facts_recipe"),
    ],
)
def test_an_impossible_count_is_refused_for_a_variant_made_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, benchmark: str, job: str, recipe: str
) -> None:
    (tmp_path / "later.yaml").write_text(f"benchmark: {benchmark}\n")
    monkeypatch.setattr("assets.recipe.loading.RECIPES", tmp_path)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    config = {"ops": {recipe: {"config": {"num_users": 0}}}}
    run = dg.DagsterRun(job_name=job, tags={"dagster/partition": "later"}, run_config=config)
    with pytest.raises(RecipeError, match="num_users is 0, and has to be 1 or more"):
        check_run(run)


@pytest.mark.parametrize(("job", "partition"), [("generate_and_release", "facts-demo"), ("facts_generate_and_release", "nope")])
def test_a_partition_that_the_benchmark_does_not_have_is_refused(job: str, partition: str) -> None:
    with pytest.raises(RecipeError, match=f"There is no partition '{partition}'; there are "):
        check_run(dg.DagsterRun(job_name=job, tags={"dagster/partition": partition}))


def test_a_variant_made_since_is_launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "later.yaml").write_text("num_users: 3\n")
    monkeypatch.setattr("assets.recipe.loading.RECIPES", tmp_path)
    for name in ("AMEMGYM_BASE_URL", "OPENAI_BASE_URL", "AMEMGYM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    config = {"ops": {"amemgym__recipe": {"config": {"num_users": 2}}}}
    check_run(dg.DagsterRun(job_name="generate_and_release", tags={"dagster/partition": "later"}, run_config=config))
