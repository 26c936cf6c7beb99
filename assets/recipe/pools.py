"""Dagster's concurrency pools: what runs of one installation share."""

# Runs that ask a model. The pool's limit is how many of them go on at once; each keeps to the whole of AMEMGYM_MAX_IN_FLIGHT.
MODEL_POOL = "model"
