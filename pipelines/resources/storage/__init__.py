"""Snapshots, asset values and release folders in files or an object store; tables in SQLite or Postgres."""
