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


def settle_gc() -> None:
    """Let the garbage collector pass over all that exists now, such as what was imported, and search less often.

    Without, it takes an eighth of the processor time of a run.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


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
