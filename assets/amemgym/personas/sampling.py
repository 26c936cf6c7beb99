"""Sample personas from a pool of any size through DuckDB, the same whatever the order of files and rows.

Every persona has a rank, md5(seed, uuid); a sample is the lowest ranks. So a larger sample only adds to a smaller
one, and excluded personas leave the order of the others as it was.
"""

import glob
import hashlib
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import duckdb
from pydantic import ValidationError

from assets.amemgym.personas.pool_query import selected_uuids
from assets.amemgym.recipe import AMemGymRecipe, PoolSpec
from assets.amemgym.records.persona import PERSONA_COLUMNS, Persona
from assets.recipe.loading import RecipeError
from assets.recipe.recipe import EVERYONE

MEMORY = "350MB"
LIKELY_AGES = range(131)
# Controls but for tabs and line ends, halves of characters, and what Unicode keeps for no character at all.
UNUSABLE = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
OWN_POOL = Path(__file__).parent / "pool.jsonl"
# While a row group is decoded, every wide text column takes tens of MB per thread; a few at a time keep it flat.
COLUMNS_AT_ONCE = 4
# Each portion of a sample takes a pass over the pool.
PERSONAS_AT_ONCE = 4000
REMEDY = "The pool needs the columns of Nemotron-Personas-USA, as Parquet or JSONL."


def pool_files(pool: PoolSpec) -> list[Path]:
    """The pool's files, sorted. Raises RecipeError when a path matches nothing."""
    if not pool.paths:
        return [OWN_POOL]
    files: set[Path] = set()
    for pattern in pool.paths:
        found = [Path(match) for match in glob.glob(pattern, recursive=True) if Path(match).is_file()]  # noqa: PTH207 (absolute patterns)
        if not found:
            raise RecipeError(f"The persona pool {pattern!r} matches no file; check pool.paths in the recipe.")
        files.update(found)
    return sorted(files)


def pool_digest(files: Sequence[Path]) -> str:
    """sha256 over the files' contents, independent of their names and order. Raises RecipeError if unreadable."""
    digests: list[str] = []
    for path in files:
        try:
            with path.open("rb") as stream:
                digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
        except OSError as error:
            raise RecipeError(f"The persona pool {path} cannot be read: {error.strerror}.") from error
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def with_pool_digest(recipe: AMemGymRecipe) -> AMemGymRecipe:
    """The recipe with the digest of its pool. Raises RecipeError if the pool cannot be read or offers too few personas."""
    files = pool_files(recipe.pool)
    with _sampled(recipe, files, count=recipe.num_users + recipe.num_reserve):
        content = pool_digest(files)
    return recipe.model_copy(update={"pool": recipe.pool.model_copy(update={"content": content})})


def sample_personas(
    recipe: AMemGymRecipe, files: Sequence[Path], *, count: int, positions: Iterable[int] | None = None
) -> Iterator[Persona]:
    """Draw `count` personas and yield them in order of rank, or those at `positions` alone, in the order given.

    Few are held at a time, and their wide text columns are read for them only, so that neither a large pool nor a large
    sample needs much memory. Raises RecipeError when the pool cannot give them.
    """
    with _sampled(recipe, files, count=count) as connection:
        wanted = iter(range(count) if positions is None else positions)
        while portion := list(islice(wanted, PERSONAS_AT_ONCE)):
            uuids = _uuids(connection, portion)
            with _pool_errors(files):
                rows = _fetch(connection, list(uuids.values()), wide=files[0].suffix == ".parquet")
            yield from (_persona(rows[uuids[position]]) for position in portion)


@contextmanager
def _sampled(recipe: AMemGymRecipe, files: Sequence[Path], *, count: int) -> Generator[duckdb.DuckDBPyConnection]:
    """The pool, open, with the table `sample` of so many personas. Raises RecipeError when it does not offer them."""
    with duckdb.connect(config={"memory_limit": MEMORY, "autoinstall_known_extensions": "false"}) as connection:
        _open_pool(connection, files)
        drawn = draw(connection, recipe, count=count)
        if drawn < count:
            raise RecipeError(
                f"The recipe asks for {recipe.num_users} users and a reserve of {recipe.num_reserve}, but the persona "
                f"pool offers only {drawn}; lower num_users or num_reserve, or give a larger pool."
            )
        yield connection


def _uuids(connection: duckdb.DuckDBPyConnection, positions: Sequence[int]) -> dict[int, str]:
    """The uuids drawn at these positions of the sample, by position."""
    query = "SELECT rowid, uuid FROM sample WHERE rowid IN (SELECT unnest(?))"
    return dict(connection.execute(query, [list(positions)]).fetchall())


def pool_counts(files: Sequence[Path], columns: Sequence[str]) -> dict[str, list[tuple[object, int]]]:
    """By column, its values with how many personas have them; null and "" are both "". Raises RecipeError."""
    by_column: dict[str, list[tuple[object, int]]] = {}
    with duckdb.connect(config={"memory_limit": MEMORY, "autoinstall_known_extensions": "false"}) as connection:
        _open_pool(connection, files)
        for column in columns:
            with _pool_errors(files):
                counts = connection.execute(f"SELECT {quoted(column)}, count(*) FROM pool GROUP BY ALL").fetchall()
            by_column[column] = sorted(((value or "", count) for value, count in counts), key=str)
    return by_column


def _open_pool(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    parquet = [str(path) for path in files if path.suffix == ".parquet"]
    lines = [str(path) for path in files if path.suffix != ".parquet"]
    if parquet and lines:
        raise RecipeError("The persona pool mixes Parquet and JSONL files; give it one kind.")
    reader, extra = ("read_parquet", ", file_row_number = true") if parquet else ("read_ndjson", "")
    listed = ", ".join(_literal(path) for path in parquet or lines)
    source = f"{reader}([{listed}], union_by_name = true, filename = true{extra}"
    with _pool_errors(files):
        columns = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {source})").fetchall()}
        missing = [name for name in PERSONA_COLUMNS if name not in columns]
        if missing:
            raise RecipeError(f"The persona pool {files[0].name} lacks the column {missing[0]!r}. {REMEDY}")
        types = "" if parquet else f", columns = {{{_text_columns(columns)}}}"
        connection.execute(
            f"CREATE VIEW pool AS SELECT * REPLACE (uuid::VARCHAR AS uuid) FROM {source}{types}) WHERE uuid IS NOT NULL"
        )
        connection.execute("SET threads = 1" if parquet else "SET threads = 2")
        connection.execute("SET allowed_paths = $files", {"files": parquet or lines})
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")


@contextmanager
def _pool_errors(files: Sequence[Path]) -> Generator[None]:
    """What DuckDB says of a pool as RecipeError; damage inside a file shows when its rows are read."""
    try:
        yield
    except duckdb.Error as error:
        reason = " ".join(str(error).split())[:200]
        raise RecipeError(f"The persona pool {files[0].name} cannot be read ({reason}). {REMEDY}") from error


def _text_columns(columns: dict[str, str]) -> str:
    """JSONL columns with their types, where DuckDB may not take text that looks like an id or a date for one."""
    texts = set(PERSONA_COLUMNS) - {"age"}
    kinds = {name: "VARCHAR" if name in texts else kind for name, kind in columns.items() if name != "filename"}
    return ", ".join(f"{_literal(name)}: {_literal(kind)}" for name, kind in kinds.items())


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _fetch(connection: duckdb.DuckDBPyConnection, uuids: list[str], *, wide: bool) -> dict[str, dict[str, object]]:
    """The drawn personas' columns, by uuid."""
    if not wide:
        query = f"SELECT uuid, {', '.join(PERSONA_COLUMNS)} FROM pool WHERE uuid IN (SELECT unnest(?))"
        return _merged([(PERSONA_COLUMNS, connection.execute(query, [uuids]).fetchall())])
    query = "SELECT filename, list(file_row_number) FROM pool WHERE uuid IN (SELECT unnest(?)) GROUP BY ALL"
    parts: list[tuple[Sequence[str], list[tuple[object, ...]]]] = []
    for filename, numbers in connection.execute(query, [uuids]).fetchall():
        where = f"filename = {_literal(filename)} AND file_row_number IN ({', '.join(map(str, numbers))})"
        for start in range(0, len(PERSONA_COLUMNS), COLUMNS_AT_ONCE):
            columns = PERSONA_COLUMNS[start : start + COLUMNS_AT_ONCE]
            rows = connection.execute(f"SELECT uuid, {', '.join(columns)} FROM pool WHERE {where}").fetchall()
            parts.append((columns, rows))
    return _merged(parts)


def _merged(parts: Sequence[tuple[Sequence[str], list[tuple[object, ...]]]]) -> dict[str, dict[str, object]]:
    merged: dict[str, dict[str, object]] = {}
    for columns, rows in parts:
        for uuid, *values in rows:
            known = merged.setdefault(str(uuid), {})
            for column, value in zip(columns, values, strict=True):
                if known.setdefault(column, value) != value:
                    raise RecipeError(
                        f"Persona {str(uuid)!r} stands in the pool twice, with different {column}; keep one of the two."
                    )
    return merged


def _persona(row: dict[str, object]) -> Persona:
    uuid = str(row.get("uuid"))
    if not uuid.isprintable() or "/" in uuid or "\\" in uuid or uuid.strip(".") == "" or uuid == EVERYONE:
        raise RecipeError(
            f"Persona {uuid[:60]!r} has no usable uuid: it needs plain characters without slashes, and not {EVERYONE!r}."
        )
    if spoiled := [name for name, value in row.items() if isinstance(value, str) and "\0" in value]:
        raise RecipeError(f"Persona {uuid!r} has a null byte in {spoiled[0]}; take it out of the pool.")
    for name, value in row.items():
        if isinstance(value, str) and (found := UNUSABLE.search(value)):
            raise RecipeError(f"Persona {uuid!r} has the unusable character {found[0]!r} in {name}; take it out of the pool.")
    try:
        persona = Persona.from_row(row)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(str(part) for part in problem["loc"])
        message = f"Persona {row.get('uuid')!r} has {field} = {str(problem['input'])[:60]!r}: {problem['msg'].lower()}."
        raise RecipeError(message) from error
    if persona.age not in LIKELY_AGES:
        raise RecipeError(f"Persona {uuid!r} has age = {persona.age}, which no person has; correct the pool.")
    return persona


UNIFORM = """
    SELECT uuid FROM (SELECT DISTINCT uuid FROM {source})
    WHERE uuid NOT IN (SELECT unnest($excluded::VARCHAR[]))
    ORDER BY md5(concat($seed, ':', uuid)) LIMIT $count
"""
# Within a stratum by rank; across strata in proportion to their sizes, by the quantile of a persona's rank in its own.
STRATIFIED = """
    WITH ranked AS (
        SELECT uuid, {strata}, md5(concat($seed, ':', uuid)) AS rank
        FROM pool WHERE uuid NOT IN (SELECT unnest($excluded::VARCHAR[])) GROUP BY ALL
    )
    SELECT uuid FROM ranked ORDER BY
        (row_number() OVER (PARTITION BY {strata} ORDER BY rank) - 0.5) / count(*) OVER (PARTITION BY {strata}), rank
    LIMIT $count
"""


def draw(connection: duckdb.DuckDBPyConnection, recipe: AMemGymRecipe, *, count: int) -> int:
    """Make the table `sample`, whose rows are the uuids in order of rank. Return their number."""
    pool = recipe.pool
    if pool.strategy == "stratified":
        query = STRATIFIED.format(strata=", ".join(quoted(column) for column in pool.columns))
    else:
        query = UNIFORM.format(source="pool" if pool.strategy == "uniform" else _eligible(connection, pool.query))
    values = {"excluded": list(recipe.exclude_ids), "seed": str(recipe.seed), "count": count}
    try:
        # A table keeps the order in which its rows come, and `rowid` counts them from 0.
        connection.execute(f"CREATE TEMP TABLE sample AS {query}", values)
    except duckdb.Error as error:
        reason = " ".join(str(error).split())[:200]
        raise RecipeError(f"The persona pool cannot be sampled ({reason}); check pool.columns and pool.query.") from error
    return connection.execute("SELECT count(*) FROM sample").fetchall()[0][0]


def _eligible(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """Make a table of the uuids that the recipe's own SQL selects; it is given the columns of the pool which it names."""
    rows = connection.sql(f"SELECT {_columns_named(connection, query)} FROM pool")
    connection.register("selected", selected_uuids(rows.to_arrow_reader(), query))
    connection.execute("CREATE TEMP TABLE eligible AS SELECT uuid FROM selected WHERE uuid IN (SELECT uuid FROM pool)")
    return "eligible"


def _columns_named(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """The pool's columns that the query may look at: those whose names stand in it, all of them where it names none."""
    there = [
        str(row[0]) for row in connection.execute("DESCRIBE pool").fetchall() if row[0] not in ("filename", "file_row_number")
    ]
    words = set(re.findall(r"\w+", query.lower()))
    named = [name for name in there if name == "uuid" or name.lower() in words or not re.fullmatch(r"\w+", name)]
    return ", ".join('"' + name.replace('"', '""') + '"' for name in (there if "*" in query or "columns" in words else named))


def quoted(column: str) -> str:
    """The column in SQL. Raises RecipeError when personas have none of that name."""
    if column not in PERSONA_COLUMNS:
        raise RecipeError(f"pool.columns names {column!r}, which is no persona column.")
    return f'"{column}"'
