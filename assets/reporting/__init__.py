"""Metadata of assets and materializations for the Dagster UI, and statistics with intervals."""
