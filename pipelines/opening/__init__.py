"""The one place that chooses implementations: models, stores, the Hub, Dagster's resources."""
