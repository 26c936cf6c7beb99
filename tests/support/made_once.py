"""Folders that are made once for all of pytest's workers."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def make_once(tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder of this name, which the first worker that needs it makes; it is for reading."""
    own = tmp_path_factory.getbasetemp()
    place = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    with FileLock(f"{place}.lock"):
        if not place.with_suffix(".made").exists():
            make(place)
            place.with_suffix(".made").touch()
    return place
