"""The database of an installation: SQLite files, or the Postgres that all workers of a cluster share."""

import os
from pathlib import Path

from pipelines.resources.storage.database import VARIABLE, Database
from pipelines.resources.storage.sqlite import SqliteFile


def shared_database() -> str:
    """The address of the database that all workers share; empty where there is none."""
    return os.environ.get(VARIABLE, "").strip()


def open_database(path: Path, *, reading: bool = False) -> Database:
    """The database for the tables of this file: that of AMEMGYM_DATABASE, in a schema named after the file, else the file.

    `reading`: nothing will be written, so a file that cannot be written will do. Raises StoreError when the variable does not
    name a Postgres, or its driver is not installed.
    """
    url = shared_database()
    if not url:
        return SqliteFile(path, reading)
    # Imported only where it is used: the driver belongs to the extra `cluster`.
    from pipelines.resources.storage.postgres import open_postgres

    return open_postgres(url, schema=f"amemgym_{path.stem}")
