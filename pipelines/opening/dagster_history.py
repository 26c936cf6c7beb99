"""The runs of Dagster's history that nothing needs any more."""

import sqlite3
from contextlib import closing
from pathlib import Path

import dagster as dg


def purge_runs(instance: dg.DagsterInstance, *, folder: Path) -> int:
    """Delete the ended runs that made nothing which is still the newest, and return how many there were.

    `folder`: of Dagster's SQLite files, which give back the space.
    """
    kept = _runs_of_the_newest(instance)
    deleted = 0
    for run in instance.get_runs():
        if run.is_finished and run.run_id not in kept:
            instance.delete_run(run.run_id)
            for path in folder.rglob(f"{run.run_id}.db*"):
                path.unlink()
            deleted += 1
    for path in sorted(folder.rglob("*.db")):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("VACUUM")
    return deleted


def _runs_of_the_newest(instance: dg.DagsterInstance) -> set[str]:
    """Return the runs that made what each asset holds now, by which Dagster knows what is out of date."""
    found: set[str] = set()
    for key in instance.all_asset_keys():
        latest = instance.get_latest_materialization_event(key)  # of an asset without partitions there is no other
        if latest is not None:
            found.add(latest.run_id)
        partitions = instance.get_materialized_partitions(key)
        for partition in partitions:
            wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[partition])
            for record in instance.fetch_materializations(wanted, limit=1).records:
                found.add(record.run_id)
    return found
