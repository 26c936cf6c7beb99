"""Memories found by likeness: texts with their vectors in DuckDB, searched exactly."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from assets.llm.ports import Vector
from pipelines.resources.llm.embeddings import pack_vector, unpack_vector


@dataclass(frozen=True)
class Memory:
    """A remembered text; `at` is the time of the episode when it was written, as ISO text."""

    number: int
    at: str
    text: str

    @property
    def line(self) -> str:
        """The memory as one line with its time."""
        return f"[{self.at}] {' '.join(self.text.split())}"


class VectorIndex:
    """One user's memories. Numbers count up and are never given twice; equal contents have equal dumps."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        # Temporary tables belong to a cursor, so that every index of a run can share one database.
        self._db = database.cursor()
        self._next = 0
        self._made = False

    def add(self, items: Sequence[tuple[str, str]], vectors: Sequence[Vector]) -> None:
        """Store (time, text) pairs with their vectors."""
        memories = [Memory(number, at, text) for number, (at, text) in enumerate(items, start=self._next)]
        self._insert(memories, vectors)

    def change(self, number: int, *, at: str, text: str, vector: Vector) -> None:
        """Replace a memory's text; the memory keeps its number."""
        self.drop(number)
        self._insert([Memory(number, at, text)], [vector])

    def drop(self, number: int) -> None:
        """Forget a memory, if there is one of this number."""
        if self._made:
            self._db.execute("DELETE FROM memories WHERE number = ?", [number])

    def search(self, vector: Vector, *, limit: int) -> list[Memory]:
        """The memories most alike by cosine, the best first; among equals the older first."""
        if not self._made or not limit:
            return []
        likeness = f"array_cosine_similarity(vector, ?::FLOAT[{len(vector)}])"
        query = f"SELECT number, written_at, text FROM memories ORDER BY round({likeness}, 6) DESC, number LIMIT ?"
        return [Memory(*row) for row in self._db.execute(query, [np.array(vector, np.float32), limit]).fetchall()]

    def dump(self) -> dict[str, object]:
        """Everything, in order of numbers, and the next number."""
        query = "SELECT number, written_at, text, vector FROM memories ORDER BY number"
        stored = self._db.execute(query).fetchall() if self._made else []
        rows = [
            {"number": number, "at": at, "text": text, "vector": pack_vector(vector)} for number, at, text, vector in stored
        ]
        return {"next": self._next, "memories": rows}

    def load(self, content: Mapping[str, Any]) -> None:
        """Become what was dumped. Only for an index that is still empty."""
        rows = content["memories"]
        memories = [Memory(row["number"], row["at"], row["text"]) for row in rows]
        self._insert(memories, [unpack_vector(row["vector"]) for row in rows])
        self._next = content["next"]

    def _insert(self, memories: Sequence[Memory], vectors: Sequence[Vector]) -> None:
        if not memories:
            return
        if not self._made:
            columns = f"number BIGINT, written_at VARCHAR, text VARCHAR, vector FLOAT[{len(vectors[0])}]"
            self._db.execute(f"CREATE TEMP TABLE memories ({columns})")
            self._made = True
        table = pa.table(
            {
                "number": [memory.number for memory in memories],
                "written_at": [memory.at for memory in memories],
                "text": [memory.text for memory in memories],
                "vector": pa.array(vectors, type=pa.list_(pa.float32(), len(vectors[0]))),
            }
        )
        self._db.register("incoming", table)
        self._db.execute("INSERT INTO memories SELECT * FROM incoming")
        self._db.unregister("incoming")
        self._next = max(self._next, *(memory.number + 1 for memory in memories))


def canonical_json(content: object) -> bytes:
    """JSON in one canonical form, for snapshots."""
    return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


@cache
def shared_database() -> duckdb.DuckDBPyConnection:
    """One database in memory for all indexes of the process; each index sees its own table only."""
    return duckdb.connect(":memory:", config={"threads": 1})
