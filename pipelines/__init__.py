"""Wiring, running, evaluating: what turns the stages into a project that Dagster can run."""
