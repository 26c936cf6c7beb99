"""A Postgres that goes down, as its clients see it."""

from contextlib import closing

import psycopg2


def end_sessions(database: str) -> None:
    """End all sessions of the database at an address, as a server does that goes down."""
    with closing(psycopg2.connect(database.replace("+psycopg2", ""))) as connection, connection.cursor() as cursor:
        query = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()"
        cursor.execute(f"{query} AND pid <> pg_backend_pid()")
