"""How much of a matrix is run: a few of its cells by `make test`, all of them by `make test-endurance`."""

import os
from collections.abc import Sequence
from typing import TypeVar

Cell = TypeVar("Cell")


def cells(few: Sequence[Cell], every: Sequence[Cell]) -> Sequence[Cell]:
    """Return `every` where the environment has AMEMGYM_TEST_EVERY_CELL, as `make test-endurance` sets it, else `few`."""
    return every if os.environ.get("AMEMGYM_TEST_EVERY_CELL") else few
