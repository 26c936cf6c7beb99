"""Opens an installation's database: SQLite files, or the Postgres that all workers of a cluster share."""

import os
from pathlib import Path

from pipelines.resources.storage.database import VARIABLE, Database
from pipelines.resources.storage.sqlite import SqliteFile


def shared_database() -> str:
    """Return the address of the database that all workers share; "" if there is none."""
    return os.environ.get(VARIABLE, "").strip()


def open_database(path: Path, *, reading: bool = False) -> Database:
    """Return the database for the tables of this file: a schema of AMEMGYM_DATABASE named after the file, else the file itself.

    `reading`: nothing will be written, so a read-only file is accepted. Raises StoreError if the variable does not name a
    Postgres, or if the Postgres driver is not installed.
    """
    url = shared_database()
    if not url:
        return SqliteFile(path, reading)
    # Imported late: the driver belongs to the extra `cluster`.
    from pipelines.resources.storage.postgres import open_postgres

    return open_postgres(url, schema=f"amemgym_{path.stem}")
