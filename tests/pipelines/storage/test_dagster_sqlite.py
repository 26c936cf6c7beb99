"""Events go through connections that stay open, and everybody else reads them from the same files."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.instance.ref import InstanceRef

from pipelines.resources.storage.dagster_sqlite import ConnectedSqliteStorage, stay_connected


@dg.asset
def greeting() -> str:
    return "hello"


@pytest.fixture
def instance(tmp_path: Path) -> dg.DagsterInstance:
    return dg.DagsterInstance.from_ref(stay_connected(InstanceRef.from_dir(str(tmp_path))))


def open_files(folder: Path) -> set[str]:
    """Names of the SQLite files below a folder that this process has open."""
    targets = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return {target.name for target in targets if folder in target.parents and target.suffix == ".db"}


def test_what_a_run_leaves_is_read_by_an_instance_that_knows_nothing_of_it(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    run = dg.materialize([greeting], instance=instance).run_id
    plain = dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(tmp_path)))
    assert {type(plain._event_storage), type(instance._event_storage)} != {type(plain._event_storage)}  # pyright: ignore[reportPrivateUsage]
    assert plain.get_run_by_id(run) is not None
    told = [record.dagster_event.event_type for record in plain.all_logs(run) if record.dagster_event]
    assert told[-1] == dg.DagsterEventType.RUN_SUCCESS
    assert plain.get_latest_materialization_event(dg.AssetKey("greeting")) is not None
    dg.materialize([greeting], instance=plain)
    assert len(instance.fetch_materializations(dg.AssetKey("greeting"), limit=9).records) == 2


def test_however_many_runs_a_process_makes_only_the_last_one_s_file_stays_open(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    runs = [dg.materialize([greeting], instance=instance).run_id for _ in range(3)]
    assert open_files(tmp_path) == {"index.db", f"{runs[-1]}.db"}
    instance.dispose()
    assert f"{runs[-1]}.db" not in open_files(tmp_path)


def test_a_storage_that_the_settings_name_is_left_as_it_is(tmp_path: Path) -> None:
    plain = InstanceRef.from_dir(str(tmp_path))
    own = plain._replace(storage_data=plain.storage_data and plain.storage_data._replace(class_name="DagsterPostgresStorage"))
    assert stay_connected(own) is own
    replaced = stay_connected(plain).storage_data
    assert replaced is not None
    assert replaced.class_name == ConnectedSqliteStorage.__name__
