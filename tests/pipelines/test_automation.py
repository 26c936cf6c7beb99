"""What Dagster may do by itself is off as it comes, and releases only what passed."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import dagster as dg
import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.recipe.partitions import PARTITION_TAG
from dataset_card.release_store.asset import when_report_passes
from pipelines.automation import follow_units
from pipelines.benchmarks import BENCHMARKS

VARIANTS = dg.StaticPartitionsDefinition(["demo", "base"])
UNITS = ("split-0000", "split-0001")
SPLIT = replace(AMEMGYM, units_by_variant={"split": UNITS})


def _asset(name: str) -> dg.AssetsDefinition:
    @dg.asset(name=name, partitions_def=VARIANTS)
    def made() -> None:
        """Make nothing."""

    return made


def test_nothing_runs_by_itself_as_it_comes_but_sensors_that_start_no_run() -> None:
    from pipelines.definitions import defs

    repository = defs.get_repository_def()
    assert {sensor.name: sensor.default_status for sensor in repository.sensor_defs} == {
        "recipe_files_changed": dg.DefaultSensorStatus.RUNNING,
        "killed_commands": dg.DefaultSensorStatus.RUNNING,
        "release_when_the_report_passes": dg.DefaultSensorStatus.STOPPED,
    }
    assert [schedule.default_status for schedule in repository.schedule_defs] == [dg.DefaultScheduleStatus.STOPPED]


def test_the_schedules_job_and_partition_are_there() -> None:
    from pipelines.definitions import defs

    repository = defs.get_repository_def()
    (schedule,) = repository.schedule_defs
    (request,) = schedule.evaluate_tick(dg.build_schedule_context(repository_def=repository)).run_requests or []
    assert request.partition_key == "demo"
    assert defs.resolve_job_def(schedule.job_name).name == "generate_and_release"


def test_the_units_of_a_split_variant_follow_its_recipe_and_its_release_follows_the_last_unit() -> None:
    sensor = follow_units([replace(BENCHMARKS["amemgym"], stages=f"{__name__}:SPLIT")])
    with dg.DagsterInstance.ephemeral() as instance:  # pyright: ignore[reportUnknownMemberType]

        def requests_after(name: str, tags: Mapping[str, str]) -> list[dg.RunRequest]:
            """What the sensor asks for once a run of this job has succeeded."""
            job = dg.JobDefinition(name=name, graph_def=dg.GraphDefinition("nothing"))
            result = job.execute_in_process(instance=instance, tags=tags)
            (event,) = (event for event in result.all_events if event.event_type is dg.DagsterEventType.RUN_SUCCESS)
            context = dg.build_run_status_sensor_context("units_then_release", event, instance, result.dagster_run)
            return list(cast(Iterator[dg.RunRequest], sensor(context)))

        begun = requests_after("generate_and_release", {PARTITION_TAG: "split"})
        assert [(request.job_name, request.partition_key) for request in begun] == [("generate_unit", unit) for unit in UNITS]
        first, last = ({**request.tags, PARTITION_TAG: str(request.partition_key)} for request in begun)
        assert requests_after("generate_unit", {PARTITION_TAG: UNITS[0]}) == []  # by itself, and for no release
        assert requests_after("generate_unit", first) == []
        (release,) = requests_after("generate_unit", last)
    assert (release.job_name, release.partition_key) == ("make_release", "split")


@dataclass
class Followed:
    """A report with checks and what follows it, on a disk; `requested` evaluates the conditions once, as the daemon does."""

    folder: Path
    passes: bool = True
    cursor: Any = None

    def __post_init__(self) -> None:
        self.instance = dg.DagsterInstance.local_temp(str(self.folder))
        report, checks = _asset("quality_report"), [self._check(name) for name in ("complete", "balanced")]

        @dg.multi_asset(
            name="release",
            partitions_def=VARIANTS,
            outs={
                "dataset_card": dg.AssetOut(dagster_type=dg.Nothing),
                "release": dg.AssetOut(
                    dagster_type=dg.Nothing, automation_condition=when_report_passes(dg.AssetKey("quality_report"))
                ),
            },
            deps=[report],
        )
        def release() -> Iterator[dg.MaterializeResult[Any]]:
            yield dg.MaterializeResult(asset_key="dataset_card")
            yield dg.MaterializeResult(asset_key="release")

        self.defs = dg.Definitions([report, release], asset_checks=checks)

    def _check(self, name: str) -> dg.AssetChecksDefinition:
        @dg.asset_check(asset="quality_report", name=name, blocking=True, partitions_def=VARIANTS)
        def check() -> dg.AssetCheckResult:
            return dg.AssetCheckResult(passed=self.passes)

        return check

    def run(self, *assets: str) -> None:
        job, keys = self.defs.resolve_implicit_global_asset_job_def(), [dg.AssetKey(name) for name in assets]
        job.execute_in_process(instance=self.instance, asset_selection=keys, partition_key="demo", raise_on_error=False)

    def requested(self) -> Collection[str | None]:
        result = dg.evaluate_automation_conditions(self.defs, instance=self.instance, cursor=self.cursor)
        self.cursor = result.cursor
        return result.get_requested_partitions(dg.AssetKey("release"))


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    watched = Followed(tmp_path)
    assert watched.requested() == set()
    return watched


def test_a_report_that_passed_asks_for_its_variants_release_once(followed: Followed) -> None:
    followed.run("quality_report")
    assert followed.requested() == {"demo"}
    assert followed.requested() == set()


def test_a_report_whose_checks_failed_asks_for_nothing_until_one_passes(followed: Followed) -> None:
    followed.passes = False
    followed.run("quality_report")
    assert followed.requested() == set()
    followed.passes = True
    followed.run("quality_report")
    assert followed.requested() == {"demo"}


def test_a_report_whose_checks_were_left_out_asks_for_nothing_though_the_report_before_passed(followed: Followed) -> None:
    followed.run("quality_report")
    assert followed.requested() == {"demo"}
    dg.materialize([_asset("quality_report")], instance=followed.instance, partition_key="demo")
    assert followed.requested() == set()


def test_a_run_that_writes_the_release_itself_asks_for_no_other(followed: Followed) -> None:
    followed.run("quality_report", "dataset_card", "release")
    assert followed.requested() == set()
    assert followed.requested() == set()


def test_the_release_of_each_benchmark_follows_its_report() -> None:
    from pipelines.definitions import defs

    nodes = defs.get_repository_def().asset_graph.asset_nodes
    followers = [node.key.to_user_string() for node in nodes if node.automation_condition]  # pyright: ignore[reportUnknownMemberType]
    assert set(followers) == {entry.benchmark.asset_path("release") for entry in BENCHMARKS.values()}
