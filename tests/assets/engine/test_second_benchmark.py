"""A second benchmark: its value alone gives it assets with checks, snapshots, replaced items, a report and a release."""

import gc
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.engine.ports import VALUES
from assets.engine.provenance import Provenance, ReportValue, ResolvedRecipe
from assets.engine.stage_asset import stage_assets
from assets.records.report import MinimalReport
from dataset_card.hub.asset import hub_release_asset, release_checks
from dataset_card.release.derived import examine_release
from dataset_card.release_store.asset import release_asset
from dataset_card.release_store.folder import FolderReleaseWriter
from pipelines.benchmarks import BenchmarkEntry
from pipelines.evaluation_assets import EvaluationConfig, evaluation_asset
from pipelines.jobs import benchmark_jobs
from pipelines.opening.dagster_resources import PublisherResource
from pipelines.resources.storage.io_manager import AssetValueIOManager
from tests.support.releases import queried
from tests.support.run_contexts import run_context
from tests.support.sentences_benchmark import ARITHMETIC, FORMAT, VALIDATION, ArithmeticRecipe, scripted_model
from tests.support.small import PLAIN_GATES
from validation.checks import benchmark_checks
from validation.report.asset import report_asset

MODULE = "tests.support.sentences_benchmark"
ENTRY = BenchmarkEntry(stages=f"{MODULE}:ARITHMETIC", rules=f"{MODULE}:VALIDATION", release_format=f"{MODULE}:FORMAT")


def resolved_recipe() -> ArithmeticRecipe:
    fields = {"variant": "demo", "benchmark": "arithmetic", "num_reserve": 1, "gates": PLAIN_GATES}
    return ArithmeticRecipe.model_validate(fields)


@dg.asset(key=ARITHMETIC.asset_key("recipe"), partitions_def=ARITHMETIC.partitions.by_variant, io_manager_key=VALUES)
def recipe() -> dg.MaterializeResult[ResolvedRecipe]:
    resolved = resolved_recipe()
    return dg.MaterializeResult(value=ResolvedRecipe(recipe=resolved), data_version=dg.DataVersion(resolved.fingerprint))


@dataclass
class Made:
    """A run over everything, what it stored, and the folder of its release."""

    result: dg.ExecuteInProcessResult
    snapshots: dict[str, dict[int, int]]
    report: object
    release: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("arithmetic")
    context = run_context(folder / "snapshots", scripted_model())
    values = AssetValueIOManager(folder / "values", context.snapshots, lambda _: ARITHMETIC)
    releases = FolderReleaseWriter(folder / "releases")
    resources: dict[str, Any] = {"run_context": context, VALUES: values, "releases": releases, "reports": folder}
    resources["publisher"] = PublisherResource()
    checks = [*benchmark_checks(VALIDATION), *release_checks(ARITHMETIC)[:2]]
    assets = [recipe, *stage_assets(ARITHMETIC), report_asset(VALIDATION), release_asset(FORMAT), hub_release_asset(FORMAT)]
    jobs = benchmark_jobs(ENTRY)
    definitions = dg.Definitions(assets, asset_checks=checks, jobs=jobs, resources=resources)
    result = definitions.resolve_job_def("arithmetic_generate_and_release").execute_in_process(partition_key="demo")
    snapshots: dict[str, dict[int, int]] = {}
    for stage in ARITHMETIC.stages:
        value = values.find(stage.name, "demo")
        assert isinstance(value, Provenance)
        records = context.snapshots.read(value.snapshots["demo"][stage.name], stage.name, record=stage.record)
        snapshots[stage.name] = {position: record.value for position, record in records.items()}
    reported = values.find("arithmetic_quality_report", "demo")
    assert isinstance(reported, ReportValue)
    return Made(result, snapshots, reported.report, releases.folder("demo", "0.1.0"))


def test_stages_are_made_in_order_and_an_item_that_fails_the_gate_is_replaced_from_the_reserve(made: Made) -> None:
    assert made.snapshots == {"numbers": {0: 0, 1: 1, 2: 2}, "doubles": {0: 0, 1: 2}, "sentences": {0: 0, 2: 4}}
    (event,) = made.result.asset_materializations_for_node("arithmetic__sentences")
    assert event.metadata["users"].value == 2
    assert "No draft of number-1 passed the reading gate" in str(event.metadata["details"].value)


def test_its_checks_pass_and_the_report_has_its_gate_its_rule_and_its_tables(made: Made) -> None:
    checks = {check.check_name: check for check in made.result.get_asset_check_evaluations()}
    names = {
        "doubled",
        "table_columns",
        "all_numbers_finished",
        "made_from_one_recipe",
        "rules_hold",
        "files_match_manifest",
        "links_and_configurations_resolve",
    }
    assert {name: check.passed for name, check in checks.items()} == dict.fromkeys(names, True)
    assert checks["doubled"].description == "Holds for all 2 numbers."
    assert isinstance(made.report, MinimalReport)
    assert (made.report.noun, made.report.finished, made.report.replaced) == ("number", 2, {"sentences: gate_exhausted": 1})
    assert [(gate.gate, gate.passed_at_once, gate.passed_after_refining) for gate in made.report.gates] == [("reading", 1, 1)]


def test_its_release_folder_is_whole_and_has_its_tables(made: Made) -> None:
    assert examine_release(made.release) == []
    assert queried(f"SELECT value, text FROM '{made.release}/tables/demo/sentences.parquet'") == [
        (0, "It is 0."),
        (4, "It is 4. Yes, certainly."),
    ]
    assert queried(f"SELECT user_id FROM '{made.release}/tables/demo/failures.parquet'") == [("number-1",)]
    assert queried(f"SELECT count(*) > 4 FROM '{made.release}/tables/demo/gate_records.parquet'") == [(True,)]


def test_the_assets_have_their_direct_predecessors_and_the_benchmarks_group() -> None:
    specs = {spec.key.to_user_string(): spec for asset in stage_assets(ARITHMETIC) for spec in asset.specs}
    parents = {name: {dep.asset_key.to_user_string() for dep in spec.deps} for name, spec in specs.items()}
    assert parents == {
        "arithmetic/numbers": {"arithmetic/arithmetic_recipe"},
        "arithmetic/doubles": {"arithmetic/numbers"},
        "arithmetic/sentences": {"arithmetic/doubles"},
    }
    assert {spec.group_name for spec in specs.values()} == {"arithmetic_1_items"}


@pytest.mark.parametrize(
    ("asset", "inputs"),
    [
        (stage_assets(ARITHMETIC)[1], {"numbers": Provenance(recipe=resolved_recipe(), snapshots={})}),
        (report_asset(VALIDATION), {"sentences": {}}),
        (evaluation_asset(ARITHMETIC), {"config": EvaluationConfig()}),
    ],
    ids=["stage", "quality report", "evaluation"],
)
def test_a_step_that_was_made_ready_and_never_began_leaves_no_warning(
    asset: dg.AssetsDefinition, inputs: dict[str, object]
) -> None:
    """Dagster makes an asset's function ready some time before it runs it, and a signal in between ends the run."""
    resources = dict.fromkeys(asset.required_resource_keys, "unused")
    context = dg.build_asset_context(partition_key="demo", resources=resources)
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        asset(context, **inputs)
        gc.collect()
    assert [str(one.message) for one in left] == []
