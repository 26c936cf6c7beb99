"""The order of personas in a sample: SQL over the view `pool` that sorts uuids by rank."""

import duckdb

from assets.amemgym.records.persona import PERSONA_COLUMNS
from assets.recipe.loading import RecipeError
from assets.recipe.recipe import Recipe

UNIFORM = """
    SELECT uuid FROM (SELECT DISTINCT uuid FROM {source})
    WHERE uuid NOT IN (SELECT unnest($excluded::VARCHAR[]))
    ORDER BY md5(concat($seed, ':', uuid)) LIMIT $count
"""
# Within a stratum by rank; across strata in proportion to their sizes, by the quantile of a persona's place in its own.
STRATIFIED = """
    WITH ranked AS (
        SELECT uuid, {strata}, md5(concat($seed, ':', uuid)) AS rank
        FROM pool WHERE uuid NOT IN (SELECT unnest($excluded::VARCHAR[])) GROUP BY ALL
    )
    SELECT uuid FROM ranked ORDER BY
        (row_number() OVER (PARTITION BY {strata} ORDER BY rank) - 0.5) / count(*) OVER (PARTITION BY {strata}), rank
    LIMIT $count
"""


def draw(connection: duckdb.DuckDBPyConnection, recipe: Recipe, *, count: int) -> int:
    """Make the table `sample`, whose rows are the uuids in order of rank; their number."""
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
    """Run the recipe's own SQL over the view `pool` into a table of uuids, which can reach nothing but the pool's files."""
    try:
        connection.execute(
            "CREATE TEMP TABLE eligible AS SELECT uuid::VARCHAR AS uuid FROM ("
            + query
            + "\n) WHERE uuid IN (SELECT uuid FROM pool)"
        )
    except duckdb.Error as error:
        reason = " ".join(str(error).split())[:200]
        raise RecipeError(f"pool.query must select uuid from the view `pool`; DuckDB says: {reason}.") from error
    return "eligible"


def quoted(column: str) -> str:
    """The column in SQL. Raises RecipeError when personas have none of that name."""
    if column not in PERSONA_COLUMNS:
        raise RecipeError(f"pool.columns names {column!r}, which is no persona column.")
    return f'"{column}"'
