"""A disk that is full."""

import resource
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def full_disk() -> Generator[None]:
    """No file can grow beyond some bytes, as on a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
