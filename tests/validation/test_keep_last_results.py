"""A run that fails early leaves the last results of the checks that it never came to."""

from collections.abc import Iterator

import dagster as dg
import pytest

from validation.checks import keep_last_results

UNITS = dg.StaticPartitionsDefinition(["demo", "base"])


@dg.asset(partitions_def=UNITS, config_schema={"fails": bool})
def first(context: dg.AssetExecutionContext) -> None:
    if context.op_execution_context.op_config["fails"]:
        raise dg.Failure("The endpoint is gone.", allow_retries=False)


@dg.asset(partitions_def=UNITS, deps=[first])
def second() -> None: ...


@dg.asset_check(asset=second, partitions_def=UNITS)
def holds(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=context.partition_key == "demo", metadata={"violations": 3})


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:  # pyright: ignore[reportUnknownMemberType]
        yield instance


def run(instance: dg.DagsterInstance, partition: str, *, fails: bool) -> dg.DagsterRun:
    job = dg.Definitions(assets=[first, second], asset_checks=[holds]).resolve_implicit_global_asset_job_def()
    config = {"ops": {"first": {"config": {"fails": fails}}}}
    result = job.execute_in_process(instance=instance, partition_key=partition, run_config=config, raise_on_error=False)
    assert result.success is not fails
    return result.dagster_run


def last(instance: dg.DagsterInstance, partition: str) -> tuple[str, bool | None]:
    """The status of the check's last record of this partition, and what was found."""
    records = instance.event_log_storage.get_asset_check_execution_history(holds.check_key, limit=20)
    for record in records:
        assert record.event is not None
        event = record.event.get_dagster_event()
        if record.status.value == "PLANNED":
            found, of = None, record.partition
        else:
            found, of = event.asset_check_evaluation_data.passed, event.asset_check_evaluation_data.partition
        if of == partition:
            return record.status.value, found
    raise AssertionError(f"There is no record of {partition}.")


def test_what_was_found_last_of_the_partition_holds_after_a_run_that_failed_before_the_check(
    instance: dg.DagsterInstance,
) -> None:
    run(instance, "demo", fails=False)
    run(instance, "base", fails=False)
    failed = run(instance, "demo", fails=True)
    assert last(instance, "demo") == ("PLANNED", None)

    assert keep_last_results(failed, instance) == 1
    assert last(instance, "demo") == ("SUCCEEDED", True)
    assert last(instance, "base") == ("FAILED", False)


def test_a_second_run_that_fails_early_leaves_the_same_result(instance: dg.DagsterInstance) -> None:
    run(instance, "demo", fails=False)
    for _ in range(3):
        assert keep_last_results(run(instance, "demo", fails=True), instance) == 1
        assert last(instance, "demo") == ("SUCCEEDED", True)


def test_a_check_that_was_never_looked_at_or_that_the_run_came_to_stays_as_it_is(instance: dg.DagsterInstance) -> None:
    assert keep_last_results(run(instance, "demo", fails=True), instance) == 0
    assert keep_last_results(run(instance, "base", fails=False), instance) == 0
    assert last(instance, "base") == ("FAILED", False)
