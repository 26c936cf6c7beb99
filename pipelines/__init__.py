"""Wiring, running, evaluating: what turns the stages into a project that Dagster can run."""

import gc
import os

# Arrow's own allocator keeps what it frees, which makes a tenth of a run's memory. Read when Arrow is first imported.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

# Our matrices are small: threads of numpy's library that wait for each other take several times what they compute, and how
# many there are decides the last digits. Read when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Libraries make millions of objects that stay. Looking through them as often as Python does takes a tenth of a demo.
gc.set_threshold(50_000, 20, 100)
