"""Sample personas from a pool of any size through DuckDB, the same whatever the order of files and rows.

Every persona has a rank, md5(seed, uuid); a sample is the lowest ranks. So a larger sample only adds to a smaller
one, and excluded personas leave the order of the others as it was.
"""

import re
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import duckdb
from pydantic import ValidationError

from assets.amemgym.personas.pool_files import PoolReader, find_reader, literal, plain_files, pool_digest, pool_files
from assets.amemgym.personas.pool_query import PoolQueryError, selected_uuids
from assets.amemgym.records.persona import PERSONA_COLUMNS, Persona
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.recipe import EVERYONE, RecipeError
from assets.records.problems import first_problem
from assets.records.readable import unreadable_in
from assets.reporting.duckdb_problems import say_problem

MEMORY = "350MB"  # however large the pool
LIKELY_AGES = range(121)  # as the suite of the table `users` has it
# While a row group is decoded, every wide text column takes tens of MB per thread; a few at a time keep it flat.
COLUMNS_AT_ONCE = 4
# Each portion of a sample takes a pass over the pool.
PERSONAS_AT_ONCE = 4000
# What sets of persons of other countries leave out, or call otherwise: nothing is told of it then.
MAY_LACK = ("marital_status", "education_level", "bachelors_field", "occupation", "city", "state", "zipcode", "country")
REMEDY = "The pool needs the columns of Nemotron-Personas-USA, as Parquet, JSON or CSV."


def with_pool_digest(recipe: AMemGymRecipe) -> AMemGymRecipe:
    """Return the recipe with the digest of its pool. Raises RecipeError if it cannot be read or is too small."""
    files = pool_files(recipe.pool)
    # Drawn first, so that a pool that is too small is refused before all of its bytes are read.
    with _open_sample(recipe, files, count=recipe.num_users + recipe.num_reserve):
        content = pool_digest(files)
    return recipe.model_copy(update={"pool": recipe.pool.model_copy(update={"content": content})})


def sample_personas(
    recipe: AMemGymRecipe, files: Sequence[Path], *, count: int, positions: Iterable[int] | None = None
) -> Iterator[Persona]:
    """Draw `count` personas and yield them in order of rank, or those at `positions` alone, in the order given.

    Few are held at a time, and their wide text columns are read for them only, so that neither a large pool nor a large
    sample needs much memory. Raises RecipeError when the pool cannot give them.
    """
    with _open_sample(recipe, files, count=count) as (connection, reader):
        wanted = iter(range(count) if positions is None else positions)
        while True:
            portion = list(islice(wanted, PERSONAS_AT_ONCE))
            if not portion:
                return
            query = "SELECT rowid, uuid FROM sample WHERE rowid IN (SELECT unnest(?))"
            uuids: dict[int, str] = dict(connection.execute(query, [portion]).fetchall())
            with _pool_errors(files):
                rows = _fetch(connection, list(uuids.values()), by_row_number=reader.has_row_numbers)
            for position in portion:
                yield _persona(rows[uuids[position]])


@contextmanager
def _open_sample(
    recipe: AMemGymRecipe, files: Sequence[Path], *, count: int
) -> Generator[tuple[duckdb.DuckDBPyConnection, PoolReader]]:
    """Open the pool, with the table `sample` of so many personas. Raises RecipeError when it does not offer them."""
    with (
        tempfile.TemporaryDirectory() as place,
        duckdb.connect(config={"memory_limit": MEMORY, "autoinstall_known_extensions": "false"}) as connection,
    ):
        reader = _open_pool(connection, files, place=Path(place))
        drawn = draw_sample(connection, recipe, count=count)
        if drawn < count:
            raise RecipeError(
                f"The recipe asks for {recipe.num_users} users and a reserve of {recipe.num_reserve}, but the persona "
                f"pool offers only {drawn}; lower num_users or num_reserve, or name a larger pool in pool.paths, "
                "such as the files of Nemotron-Personas-USA."
            )
        yield connection, reader


def _open_pool(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], *, place: Path) -> PoolReader:
    plain = plain_files(files, place=place)
    reader = find_reader(dict(zip(files, plain, strict=True)))
    with _pool_errors(files):
        columns = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {reader.source(plain)}").fetchall()}
        missing = [repr(name) for name in PERSONA_COLUMNS if name not in columns and name not in MAY_LACK]
        if missing:
            noun = "column" if len(missing) == 1 else "columns"
            raise RecipeError(f"The persona pool {files[0].name} lacks the {noun} {', '.join(missing)}. {REMEDY}")
        source = reader.source(plain, types=_text_columns(columns))
        empty = "".join(f", '' AS {name}" for name in MAY_LACK if name not in columns)
        connection.execute(
            f"CREATE VIEW pool AS SELECT * REPLACE (uuid::VARCHAR AS uuid){empty} FROM {source} WHERE uuid IS NOT NULL"
        )
        connection.execute(f"SET threads = {1 if reader.has_row_numbers else 2}")
        # From here on the connection reads the pool's files and nothing else, whatever a recipe asks of it.
        connection.execute("SET allowed_paths = $files", {"files": list(map(str, plain))})
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    return reader


@contextmanager
def _pool_errors(files: Sequence[Path]) -> Generator[None]:
    """Raise RecipeError for what DuckDB says of a pool; damage inside a file shows when its rows are read."""
    try:
        yield
    except duckdb.Error as error:
        raise RecipeError(f"The persona pool {files[0].name} cannot be read: {say_problem(error)}. {REMEDY}") from error


def _text_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns with their types, where DuckDB may not take text that looks like an id or a date for one."""
    types: dict[str, str] = {}
    for name, kind in columns.items():
        if name != "filename":  # which DuckDB adds
            types[name] = "VARCHAR" if name in PERSONA_COLUMNS and name != "age" else kind
    return types


def _fetch(connection: duckdb.DuckDBPyConnection, uuids: list[str], *, by_row_number: bool) -> dict[str, dict[str, object]]:
    """Return the drawn personas' columns, by uuid."""
    if not by_row_number:
        query = f"SELECT uuid, {', '.join(PERSONA_COLUMNS)} FROM pool WHERE uuid IN (SELECT unnest(?))"
        return _merge_rows([(PERSONA_COLUMNS, connection.execute(query, [uuids]).fetchall())])
    query = "SELECT filename, list(file_row_number) FROM pool WHERE uuid IN (SELECT unnest(?)) GROUP BY ALL"
    parts: list[tuple[Sequence[str], list[tuple[object, ...]]]] = []
    for filename, numbers in connection.execute(query, [uuids]).fetchall():
        where = f"filename = {literal(filename)} AND file_row_number IN ({', '.join(map(str, numbers))})"
        for start in range(0, len(PERSONA_COLUMNS), COLUMNS_AT_ONCE):
            columns = PERSONA_COLUMNS[start : start + COLUMNS_AT_ONCE]
            rows = connection.execute(f"SELECT uuid, {', '.join(columns)} FROM pool WHERE {where}").fetchall()
            parts.append((columns, rows))
    return _merge_rows(parts)


def _merge_rows(parts: Sequence[tuple[Sequence[str], list[tuple[object, ...]]]]) -> dict[str, dict[str, object]]:
    merged: dict[str, dict[str, object]] = {}
    for columns, rows in parts:
        for uuid, *values in rows:
            known = merged.setdefault(str(uuid), {})
            for column, found in zip(columns, values, strict=True):
                value = None if found != found else found
                if known.setdefault(column, value) != value:
                    raise RecipeError(
                        f"Persona {str(uuid)!r} is in the pool twice, with different {column}; keep one of the two."
                    )
    return merged


def _persona(row: dict[str, object]) -> Persona:
    uuid = str(row.get("uuid"))
    if not uuid.isprintable() or "/" in uuid or "\\" in uuid or uuid.strip(".") == "" or uuid == EVERYONE:
        raise RecipeError(
            f"Persona {uuid[:60]!r} has no usable uuid: it needs plain characters without slashes, and not {EVERYONE!r}."
        )
    _check_readable(row.items(), uuid=uuid)
    if row.get("age") is None:
        raise RecipeError(f"Persona {uuid!r} has no age; correct the pool.")
    try:
        persona = Persona.from_row(row)
    except ValidationError as error:
        field, problem = first_problem(error)
        message = f"Persona {uuid!r} has {field} = {str(row.get(field))[:60]!r}, which {problem}; correct the pool."
        raise RecipeError(message) from error
    if persona.age not in LIKELY_AGES:
        raise RecipeError(f"Persona {uuid!r} has age = {persona.age}, which no person has; correct the pool.")
    _check_readable(persona, uuid=uuid)  # once more: a list as text may spell such a character
    return persona


def _check_readable(fields: Iterable[tuple[str, object]], *, uuid: str) -> None:
    for name, value in fields:
        character = unreadable_in(value)
        if character:
            raise RecipeError(f"Persona {uuid!r} has the unusable character {character} in {name}; take it out of the pool.")


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


def draw_sample(connection: duckdb.DuckDBPyConnection, recipe: AMemGymRecipe, *, count: int) -> int:
    """Make the table `sample`, whose rows are the uuids in order of rank. Return their number."""
    pool = recipe.pool
    if pool.strategy == "stratified":
        query = STRATIFIED.format(strata=", ".join(map(quote_column, pool.columns)))
    else:
        query = UNIFORM.format(source="pool" if pool.strategy == "uniform" else _eligible(connection, pool.query))
    values = {"excluded": list(recipe.exclude_ids), "seed": str(recipe.world_seed), "count": count}
    try:
        # A table keeps the order in which its rows come, and `rowid` counts them from 0.
        connection.execute(f"CREATE TEMP TABLE sample AS {query}", values)
    except duckdb.Error as error:
        problem = say_problem(error)
        raise RecipeError(f"The persona pool cannot be sampled: {problem}; check pool.columns and pool.query.") from error
    return connection.execute("SELECT count(*) FROM sample").fetchall()[0][0]


def _eligible(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """Make a table of the uuids that the recipe's own SQL selects; it is given the columns of the pool which it names."""
    rows = connection.sql(f"SELECT {_columns_named(connection, query)} FROM pool")
    try:
        connection.register("selected", selected_uuids(rows.to_arrow_reader(), query))
    except PoolQueryError as error:
        raise RecipeError(str(error)) from error
    connection.execute("CREATE TEMP TABLE eligible AS SELECT uuid FROM selected WHERE uuid IN (SELECT uuid FROM pool)")
    return "eligible"


def _columns_named(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return the pool's columns that the query may look at: those whose names stand in it, all of them where it says so.

    A column whose name is no plain word is always among them, because it cannot be found by its words.
    """
    words = set(re.findall(r"\w+", query.lower()))
    every = "*" in query or "columns" in words
    columns: list[str] = []
    for name, *_ in connection.execute("DESCRIBE pool").fetchall():
        if name in ("filename", "file_row_number"):  # which DuckDB adds
            continue
        if every or name == "uuid" or name.lower() in words or not re.fullmatch(r"\w+", name):
            columns.append('"' + name.replace('"', '""') + '"')
    return ", ".join(columns)


def quote_column(column: str) -> str:
    """Return the column in SQL. Raises RecipeError when personas have none of that name."""
    if column not in PERSONA_COLUMNS:
        raise RecipeError(f"pool.columns names {column!r}, which is no persona column.")
    return f'"{column}"'
