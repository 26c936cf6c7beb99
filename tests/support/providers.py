"""The Agent Memory Benchmark as tests meet it: a clone that AMB_CHECKOUT names, else the stand-in beside this file."""

import os
import sys
from pathlib import Path

import pytest

STAND_IN = Path(__file__).with_name("memory_bench")
BM25 = "provider+memory_bench.memory.bm25:BM25MemoryProvider"


def import_path() -> Path:
    """The folder that holds the package."""
    clone = os.environ.get("AMB_CHECKOUT")
    return Path(clone) / "src" if clone else STAND_IN


def put_on_path(patch: pytest.MonkeyPatch) -> None:
    """Let `memory_bench` be imported."""
    patch.setattr(sys, "path", [str(import_path()), *sys.path])


def forget() -> None:
    """Let the next test import it anew."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "memory_bench"]:
        del sys.modules[name]
