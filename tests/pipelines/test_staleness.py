"""A changed recipe makes what is below it out of date, the same recipe does not, and an impossible one stops its run."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from assets.amemgym.pipeline import AMEMGYM
from assets.engine.ports import VALUES
from assets.engine.recipe_asset import DATA_VERSION_TAG, observe_recipe_files, recipe_asset, recipe_file
from assets.engine.stage_asset import stage_asset
from pipelines.resources.storage.io_manager import AssetValueIOManager
from tests.support.run_contexts import run_context
from tests.support.scripted_model import ScriptedModel

personas = stage_asset(AMEMGYM.source, AMEMGYM)
GRAPH = [recipe_file(AMEMGYM), recipe_asset(AMEMGYM), personas]
SMALL = {"num_users": 2, "num_reserve": 1}


@pytest.fixture
def definitions(tmp_path: Path) -> dg.Definitions:
    shop = run_context(tmp_path / "snapshots", ScriptedModel())
    return dg.Definitions(
        GRAPH, resources={"run_context": shop, VALUES: AssetValueIOManager(tmp_path / "values", shop.snapshots)}
    )


def storage() -> dg.DagsterInstance:
    return dg.DagsterInstance.ephemeral()  # pyright: ignore[reportUnknownMemberType]


def materialize(definitions: dg.Definitions, instance: dg.DagsterInstance, *names: str, **overrides: object) -> None:
    config = {"ops": {"amemgym__recipe": {"config": {**SMALL, **overrides}}}} if "recipe" in names else {}
    job = definitions.resolve_implicit_global_asset_job_def()
    keys = [dg.AssetKey(["amemgym", name]) for name in names]
    assert job.execute_in_process(config, asset_selection=keys, partition_key="demo", instance=instance).success


def status(definitions: dg.Definitions, instance: dg.DagsterInstance, name: str) -> tuple[StaleStatus, list[str]]:
    graph = definitions.get_repository_def().asset_graph
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    key = dg.AssetKey(["amemgym", name])
    return resolver.get_status(key, "demo"), [cause.reason for cause in resolver.get_stale_causes(key, "demo")]


def test_another_recipe_makes_what_is_below_out_of_date_and_the_same_recipe_does_not(definitions: dg.Definitions) -> None:
    with storage() as instance:
        materialize(definitions, instance, "recipe", "personas")
        assert status(definitions, instance, "personas") == (StaleStatus.FRESH, [])
        materialize(definitions, instance, "recipe")
        assert status(definitions, instance, "personas") == (StaleStatus.FRESH, [])
        materialize(definitions, instance, "recipe", num_users=3)
        assert status(definitions, instance, "personas") == (StaleStatus.STALE, ["has a new dependency data version"])
        materialize(definitions, instance, "personas")
        assert status(definitions, instance, "personas") == (StaleStatus.FRESH, [])


def test_a_higher_budget_makes_nothing_out_of_date(definitions: dg.Definitions) -> None:
    with storage() as instance:
        materialize(definitions, instance, "recipe", "personas", budget={"max_tokens": 1000})
        materialize(definitions, instance, "recipe", budget={"max_tokens": 2000})
        assert status(definitions, instance, "personas") == (StaleStatus.FRESH, [])


def test_a_stages_prompts_and_logic_are_its_code_version() -> None:
    from pipelines.definitions import defs

    graph = defs.get_repository_def().asset_graph
    versions = {stage.name: graph.get(dg.AssetKey(["amemgym", stage.name])).code_version for stage in AMEMGYM.stages}
    assert versions == {stage.name: stage.code_version for stage in AMEMGYM.stages}


def test_a_changed_recipe_file_makes_the_recipe_of_its_own_variant_out_of_date(definitions: dg.Definitions) -> None:
    with storage() as instance:
        assert observe_recipe_files(instance, AMEMGYM) == list(AMEMGYM.partitions.units)
        assert observe_recipe_files(instance, AMEMGYM) == []
        materialize(definitions, instance, "recipe", "personas")
        changed(instance, "base")
        assert status(definitions, instance, "recipe") == (StaleStatus.FRESH, [])
        changed(instance, "demo")
        assert status(definitions, instance, "recipe") == (StaleStatus.STALE, ["has a new dependency data version"])
        materialize(definitions, instance, "recipe")
        assert status(definitions, instance, "recipe") == status(definitions, instance, "personas") == (StaleStatus.FRESH, [])


def changed(instance: dg.DagsterInstance, variant: str) -> None:
    """What Dagster is told when a recipe file says something else."""
    tags = {DATA_VERSION_TAG: "another"}
    instance.report_runless_asset_event(dg.AssetObservation(["amemgym", "recipe_file"], partition=variant, tags=tags))


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"num_users": 0}, "Recipe 'demo': num_users is 0, and has to be 1 or more."),
        ({"gates": {"votes_needed": 9}}, "Recipe 'demo': gates.votes_needed is 9, but gates.votes is only 2."),
        ({"again": {"nobody": {"answers": 1}}}, "again names the user 'nobody', which is not in the sample of 'demo'"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_the_first_step_and_nothing_else_runs(
    definitions: dg.Definitions, overrides: dict[str, Any], told: str
) -> None:
    job = definitions.resolve_implicit_global_asset_job_def()
    config = {"ops": {"amemgym__recipe": {"config": overrides}}}
    with storage() as instance:
        result = job.execute_in_process(config, instance=instance, partition_key="demo", raise_on_error=False)
    (failure,) = (event.step_failure_data for event in result.all_events if event.is_step_failure)
    assert failure.user_failure_data is not None
    assert (failure.user_failure_data.description or "").startswith(told)
    assert [event.step_key for event in result.all_events if event.event_type is dg.DagsterEventType.STEP_START] == [
        "amemgym__recipe"
    ]


def test_a_run_without_a_partition_says_so_in_its_first_step(definitions: dg.Definitions) -> None:
    job = definitions.resolve_implicit_global_asset_job_def()
    with storage() as instance:
        result = job.execute_in_process(instance=instance, raise_on_error=False)
    (failure,) = (event.step_failure_data for event in result.all_events if event.is_step_failure)
    assert failure.user_failure_data is not None
    assert (failure.user_failure_data.description or "").startswith("This run has no partition")
