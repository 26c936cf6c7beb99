"""Wiring, running, evaluating: what turns the stages into a project that Dagster can run."""

import ctypes
import gc
import os
from contextlib import suppress

# Arrow's own allocator keeps what it frees, which makes a tenth of a run's memory. Read when Arrow is first imported.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

# A heap of each thread's own keeps what the thread frees, a fifth of a large run's memory. So threads share one: -8 is glibc's
# M_ARENA_MAX. Other systems have no such call.
with suppress(AttributeError, TypeError):
    ctypes.CDLL(None).mallopt(-8, 1)

# Our matrices are small: threads of numpy's library that wait for each other take several times what they compute, and how
# many there are decides the last digits. Read when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Libraries make millions of objects that stay. Looking through them as often as Python does takes a tenth of a demo.
gc.set_threshold(50_000, 20, 100)
