"""Pauses of Python's garbage collector where many records come and go, which have no reference cycles."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def pause_gc() -> Generator[None, None, None]:
    """Disable the garbage collector for a while: it would search through many records that have no cycles."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


@contextmanager
def freeze_gc() -> Generator[None, None, None]:
    """Exempt all objects that exist now from garbage collection; at the end, collect those that came since.

    The last collection is there to keep memory flat: the cycles of a portion of work (its tasks, its tables) would else
    wait among all older objects for a full collection.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()
