"""All benchmarks that this project makes; what Dagster and the command line know of them follows from this list."""

from assets.amemgym.pipeline import AMEMGYM

BENCHMARKS = (AMEMGYM,)
