"""Python's search for reference cycles, told to rest where many records come and go: they have no cycles to be found."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_at_rest() -> Generator[None, None, None]:
    """No search while this lasts. Among so many objects it takes a third of the time; what it finds can wait."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


@contextmanager
def all_there_spared() -> Generator[None, None, None]:
    """The search passes over everything that is there when this begins, and at the end looks through what came since.

    Without that last look, the cycles of each portion of work (its tasks, its tables) would wait among all older objects for
    a search through everything, which hardly ever comes: memory would grow with the number of portions.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()
