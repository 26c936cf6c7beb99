"""Wiring, running, evaluating: what turns the stages into a project that Dagster can run."""

import os

# Arrow's own allocator keeps what it frees, which makes a tenth of a run's memory. Read when Arrow is first imported.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
