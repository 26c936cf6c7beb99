"""A stage's rows of one work unit: those in its own snapshot, and those of replacements, which later snapshots carry."""

from collections.abc import Collection, Iterable, Iterator
from typing import TypeVar

from assets.engine.serialized_record import SerializedRecord
from assets.llm.ports import SnapshotRef, SnapshotStore
from assets.records.base import UserRecord

R = TypeVar("R", bound=UserRecord)


def rows_of(
    stage: str,
    *,
    record: type[R],
    refs: Iterable[SnapshotRef],
    snapshots: SnapshotStore,
    positions: Collection[int] | None = None,
) -> dict[int, R]:
    """By position, from all these snapshots of one unit. Raises SnapshotError for one that cannot be read."""
    found = serialized_rows_of(stage, record=record, refs=refs, snapshots=snapshots, positions=positions)
    return {position: one.record for position, one in found.items()}


def serialized_rows_of(
    stage: str,
    *,
    record: type[R],
    refs: Iterable[SnapshotRef],
    snapshots: SnapshotStore,
    positions: Collection[int] | None = None,
) -> dict[int, SerializedRecord[R]]:
    """The same, each record to be decoded when it is looked into."""
    found: dict[int, SerializedRecord[R]] = {}
    for ref in refs:
        found.update(snapshots.read_serialized(ref, stage, record=record, positions=positions))
    return found


def portions(ref: SnapshotRef, *, snapshots: SnapshotStore, at_once: int) -> Iterator[list[int]]:
    """The positions of the stage's own rows, in order and so many at a time. Raises SnapshotError."""
    for there in snapshots.positions(ref):
        yield from (there[start : start + at_once] for start in range(0, len(there), at_once))
