"""Opens an installation's database: SQLite files, or the Postgres that all workers of a cluster share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assets.entry_points import EntryPointError, EntryPointGroup
from pipelines.errors import StoreError
from pipelines.resources.storage.database import VARIABLE, Database
from pipelines.resources.storage.sqlite import SqliteFile

# What workers share, with the database driver of the extra `cluster`.
SHARED = EntryPointGroup[Callable[..., Any]]("amemgym.shared")


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
    try:
        open_shared = SHARED["database"]
    except EntryPointError as error:
        raise StoreError(
            f"{VARIABLE} is set, but {error.missing or 'what opens it'} is missing; install the extra `cluster`."
        ) from error
    return open_shared(url, schema=f"amemgym_{path.stem}")
