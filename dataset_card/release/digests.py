"""Canonical JSON and the digests over it, which depend on content alone and on no library's file format."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from pydantic_core import to_json

ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: object) -> bytes:
    """Return JSON with sorted keys, no spaces, UTF-8. Raises TypeError for what JSON does not know."""
    return ENCODER.encode(value).encode()


def canonical_digest(value: object) -> str:
    """sha256 of the canonical JSON, in hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def with_sorted_keys(value: object) -> object:
    """Return the value with the keys of all its objects sorted. Raises ValueError for floats: JSON spells them in many ways."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        fields = cast(dict[str, object], value)
        return {key: with_sorted_keys(fields[key]) for key in sorted(fields)}
    if isinstance(value, list | tuple):
        return list(map(with_sorted_keys, cast(list[object], value)))
    if isinstance(value, float):
        raise ValueError(f"a row holds {value}, and rows hold no floats")
    return value


class RowDigest:
    """sha256 over rows one after another, each as its canonical JSON and a newline."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.rows = 0

    def add(self, rows: Iterable[object]) -> None:
        """Take more rows, each `with_sorted_keys`: those are canonical in a quarter of the time."""
        for row in rows:
            self._hash.update(to_json(row) + b"\n")
            self.rows += 1

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def bytes_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
