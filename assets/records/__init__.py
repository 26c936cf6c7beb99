"""Frozen records: everything that is made, stored and released. They know nothing of Dagster or files."""
