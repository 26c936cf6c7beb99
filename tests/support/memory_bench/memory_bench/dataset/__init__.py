"""Data sets by name."""

from collections.abc import Callable
from typing import Any

REGISTRY: dict[str, Callable[[], Any]] = {}


def get_dataset(name: str) -> Any:
    return REGISTRY[name]()
