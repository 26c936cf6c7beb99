"""A memory of several files, as people bring one."""

from collections.abc import Mapping
from pathlib import Path


def write_memory(folder: Path, files: Mapping[str, str]) -> str:
    """Return the kind of the memory in these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return f"{folder / 'mine.py'}:Mine"
