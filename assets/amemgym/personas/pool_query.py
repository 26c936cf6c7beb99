"""A recipe's own SQL over a persona pool: one SELECT, in a process of its own that has little memory and reaches no file.

The process is this module, started by `selected_uuids`: it is sent the pool's rows and answers with uuids. DuckDB's own limit
is one of its buffers, so values that functions make inside a SELECT are held back by that of the process.
"""

import os
import resource
import subprocess
import sys
from io import IOBase
from typing import cast

import duckdb
import pyarrow as pa

from assets.reporting.duckdb_problems import say_problem

BUFFERS = "350MB"
PROCESS_BYTES = 1 << 30  # of which libraries and threads take a quarter; only Linux holds a process to it
SQL_SECONDS = 60.0
QUERY = b"pool.query"
TOO_MUCH = (
    "pool.query needs more memory than it may have (350 MB for its rows, 1 GB in all); name fewer columns, or a smaller pool."
)


# Not the recipe's own error: its module loads all recipes, and the process would begin only half a second later.
class PoolQueryError(ValueError):
    """The recipe's SQL selects no uuids; the message says why."""


def selected_uuids(rows: pa.RecordBatchReader, query: str) -> pa.Table:
    """Return the distinct uuids that the query selects from these rows of the pool. Raises PoolQueryError."""
    # Arrow's usual allocator would reserve all the memory there may be.
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    process = subprocess.Popen(  # noqa: S603 (our own words)
        # -P keeps the working folder off the module path: a file there may have the name of a library.
        [sys.executable, "-P", "-m", __name__],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        _send(rows, process, query=query)
        answer, _ = process.communicate(timeout=SQL_SECONDS)
    except subprocess.TimeoutExpired:
        raise PoolQueryError(f"pool.query took more than {SQL_SECONDS:g} seconds; make it select less.") from None
    finally:
        process.kill()
        process.wait()
    if process.returncode == 1:
        raise PoolQueryError(answer.decode())
    # It was killed, or an allocator ended it that got no memory.
    if process.returncode:
        raise PoolQueryError(TOO_MUCH)
    with pa.ipc.open_stream(answer) as found:
        return found.read_all()


def _send(rows: pa.RecordBatchReader, process: subprocess.Popen[bytes], *, query: str) -> None:
    try:
        schema = rows.schema.with_metadata({QUERY: query.encode()})  # pyright: ignore[reportUnknownMemberType]
        with pa.ipc.new_stream(cast(IOBase, process.stdin), schema) as stream:
            for batch in rows:
                stream.write_batch(batch)  # pyright: ignore[reportUnknownMemberType]
    except BrokenPipeError:
        return  # it has ended, and says why
    except (pa.ArrowException, OSError) as error:
        raise PoolQueryError(f"The persona pool cannot be read ({' '.join(str(error).split())[:200]}).") from error


def _select(rows: pa.RecordBatchReader) -> pa.Table:
    query = (rows.schema.metadata or {})[QUERY].decode()
    limits: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": BUFFERS,
        "threads": 2,
        "autoinstall_known_extensions": "false",
        "temp_directory": "",  # what does not fit into memory is refused, and not written to disk
    }
    with duckdb.connect(config=limits) as sandbox:
        kinds = [statement.type for statement in sandbox.extract_statements(query)]
        if kinds != [duckdb.StatementType.SELECT]:
            raise PoolQueryError("pool.query must select uuid from the view `pool` in one SELECT and nothing else.")
        sandbox.register("incoming", rows)
        sandbox.execute("CREATE TABLE pool AS SELECT * FROM incoming")
        sandbox.unregister("incoming")
        # Only now, because the rows come in from outside; the lock keeps the query from taking it back.
        sandbox.execute("SET enable_external_access = false")
        sandbox.execute("SET lock_configuration = true")
        selection = query.rstrip().removesuffix(";")
        found = sandbox.execute(f"SELECT DISTINCT uuid::VARCHAR AS uuid FROM ({selection}\n)").fetchall()
    return pa.table({"uuid": pa.array([row[0] for row in found], pa.string())})


def main() -> None:
    """Read rows, write uuids; or a sentence, with status 1."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    # Unlimited is the number -1, which is smaller than any limit.
    limit = PROCESS_BYTES if most == resource.RLIM_INFINITY else min(PROCESS_BYTES, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    try:
        with pa.ipc.open_stream(cast(IOBase, sys.stdin.buffer)) as rows:
            found = _select(rows)
        with pa.ipc.new_stream(cast(IOBase, sys.stdout.buffer), found.schema) as stream:
            stream.write_table(found)
        return
    except PoolQueryError as error:
        sentence = str(error)
    except (duckdb.OutOfMemoryException, MemoryError):
        sentence = TOO_MUCH
    except duckdb.Error as error:
        sentence = f"pool.query must select uuid from the view `pool`; {say_problem(error)}."
    sys.stdout.write(sentence)
    sys.exit(1)


if __name__ == "__main__":
    main()
