"""The content of a small release, for this folder's tests."""

from pathlib import Path
from typing import Any

import duckdb

from dataset_card.contents import ReleaseContent
from dataset_card.manifest import Usage
from tests import scenario


def content(**changes: Any) -> ReleaseContent:
    """Two users, votes of the first, one replaced user."""
    first, second = scenario.episode(), scenario.episode("5f0c-ada-003")
    fields: dict[str, Any] = {
        "recipe": scenario.recipe(num_users=2),
        "episodes": [first, second],
        "generator": "amemgym-synth 0.1.0",
        "prompts": {"questions/draft": "b" * 12, "answers/write": "a" * 12},
        "gate_records": [(first.user_id, record) for record in scenario.gate_records()],
        "failures": [scenario.failure()],
        "usage": Usage(calls=12, input_tokens=3456, output_tokens=789),
    }
    return ReleaseContent(**{**fields, **changes})


def queried(sql: str) -> list[tuple[Any, ...]]:
    """Rows of a DuckDB query."""
    with duckdb.connect() as connection:
        return connection.execute(sql).fetchall()


def all_bytes(folder: Path) -> dict[str, bytes]:
    """Relative path to content, of every file."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
