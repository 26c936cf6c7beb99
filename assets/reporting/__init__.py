"""What assets and materializations show in the Dagster UI, and statistics with intervals."""
