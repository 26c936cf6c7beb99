"""A changed recipe makes what is below it out of date, the same recipe does not, and an impossible one stops its run."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from assets.amemgym.pipeline import AMEMGYM
from assets.engine.stage_asset import stage_asset
from assets.recipe.asset import recipe
from pipelines.resources.storage.io_manager import RecordIOManager
from tests.support.run_contexts import run_context
from tests.support.scripted_model import ScriptedModel

personas = stage_asset(AMEMGYM.source, AMEMGYM)
SMALL = {"num_users": 2, "num_reserve": 1}


@pytest.fixture
def definitions(tmp_path: Path) -> dg.Definitions:
    shop = run_context(tmp_path / "snapshots", ScriptedModel())
    return dg.Definitions(
        [recipe, personas], resources={"run_context": shop, "io_manager": RecordIOManager(tmp_path / "values")}
    )


def storage() -> dg.DagsterInstance:
    return dg.DagsterInstance.ephemeral()  # pyright: ignore[reportUnknownMemberType]


def materialize(definitions: dg.Definitions, instance: dg.DagsterInstance, *names: str, **overrides: object) -> None:
    config = {"ops": {"recipe": {"config": {**SMALL, **overrides}}}} if "recipe" in names else {}
    job = definitions.resolve_implicit_global_asset_job_def()
    keys = [dg.AssetKey(name) for name in names]
    assert job.execute_in_process(config, asset_selection=keys, partition_key="demo", instance=instance).success


def status(definitions: dg.Definitions, instance: dg.DagsterInstance, name: str) -> tuple[StaleStatus, list[str]]:
    graph = definitions.get_repository_def().asset_graph
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    key = dg.AssetKey(name)
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


def test_the_recipe_file_and_a_stages_prompts_and_logic_are_code_versions() -> None:
    from pipelines.definitions import defs

    graph = defs.get_repository_def().asset_graph
    versions = {stage.name: graph.get(dg.AssetKey(stage.name)).code_version for stage in AMEMGYM.stages}
    assert versions == {stage.name: stage.code_version for stage in AMEMGYM.stages}
    assert graph.get(dg.AssetKey("recipe")).code_version is not None


def _another_version(spec: dg.AssetSpec) -> dg.AssetSpec:
    return spec.replace_attributes(code_version="another")  # pyright: ignore[reportUnknownMemberType]


def test_a_recipe_whose_file_changed_is_out_of_date(definitions: dg.Definitions) -> None:
    changed = dg.Definitions(
        [recipe.map_asset_specs(_another_version), personas],
        resources=definitions.resources,
    )
    with storage() as instance:
        materialize(definitions, instance, "recipe", "personas")
        assert status(changed, instance, "recipe") == (StaleStatus.STALE, ["has a new code version"])
        materialize(changed, instance, "recipe")
        assert status(changed, instance, "recipe") == status(changed, instance, "personas") == (StaleStatus.FRESH, [])


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"num_users": 0}, "Recipe 'demo': num_users is 0: input should be greater than or equal to 1."),
        ({"gates": {"votes_needed": 9}}, "Recipe 'demo': gates.votes_needed is 9, but gates.votes is only 2."),
        ({"again": {"nobody": {"answers": 1}}}, "again names the user 'nobody', who is not in the sample of 'demo'"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_the_first_step_and_nothing_else_runs(
    definitions: dg.Definitions, overrides: dict[str, Any], told: str
) -> None:
    job = definitions.resolve_implicit_global_asset_job_def()
    config = {"ops": {"recipe": {"config": overrides}}}
    with storage() as instance:
        result = job.execute_in_process(config, instance=instance, partition_key="demo", raise_on_error=False)
    (failure,) = (event.step_failure_data for event in result.all_events if event.is_step_failure)
    assert failure.user_failure_data is not None
    assert (failure.user_failure_data.description or "").startswith(told)
    assert [event.step_key for event in result.all_events if event.event_type is dg.DagsterEventType.STEP_START] == ["recipe"]
