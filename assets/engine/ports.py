"""What the engine needs from outside: where snapshots and finished records are stored. `pipelines` has the implementations."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import Field

from assets.engine.serialized_record import SerializedRecord
from assets.llm.usage import Usage
from assets.records.base import Failure, Record, UserRecord

R = TypeVar("R", bound=UserRecord)


class SnapshotPart(Record):
    """One Parquet file of a snapshot: rows of one stage at positions `first` to `last`, in order."""

    stage: str
    path: str
    rows: int
    first: int
    last: int
    digest: str


class FailureFile(Record):
    """Where it is kept why so many `users` were replaced, at the stage or at one before it."""

    path: str
    users: int


class SnapshotRef(Record):
    """An immutable snapshot of one stage of one work unit; `digest` is over its rows, not over file bytes.

    Beside the stage's own rows it carries the upstream rows of replacement users, which joined too late to be in
    the upstream snapshots. `usage` is what the calls of this stage and of those upstream used, by stage.
    """

    stage: str
    unit: str
    digest: str
    users: int
    parts: tuple[SnapshotPart, ...]
    failures: FailureFile
    usage: dict[str, Usage] = Field(default_factory=dict[str, Usage])


class SnapshotWriter(Protocol):
    """Takes rows part by part; nothing is visible until `finish`."""

    def add(self, stage: str, rows: Sequence[tuple[int, SerializedRecord[UserRecord]]]) -> None: ...

    def finish(self, failures: Sequence[Failure]) -> SnapshotRef: ...


class SnapshotStore(Protocol):
    """Stores snapshots. Their files are below `address`, a folder's path or a URL."""

    @property
    def address(self) -> str: ...

    def writer(self, stage: str, *, unit: str) -> SnapshotWriter: ...

    def read(
        self, ref: SnapshotRef, stage: str, *, record: type[R], positions: Collection[int] | None = None
    ) -> dict[int, R]: ...

    def read_serialized(
        self, ref: SnapshotRef, stage: str, *, record: type[R], positions: Collection[int] | None = None
    ) -> dict[int, SerializedRecord[R]]:
        """The same, each record to be decoded when it is looked into."""
        ...

    def positions(self, ref: SnapshotRef) -> Iterator[list[int]]:
        """Of the stage's own rows, part by part."""
        ...

    def failures(self, ref: SnapshotRef) -> list[Failure]: ...


class RecordCache(Protocol):
    """Keeps every finished user the moment its stage is done, so that a killed run loses nothing."""

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, record: bytes) -> None: ...


@dataclass(frozen=True)
class StageProgress:
    """How far a stage is with a unit's items. `noun`: what one is called."""

    stage: str
    unit: str
    done: int
    total: int
    failed: int
    calls: int
    repeated: int
    seconds: float
    noun: str = "item"


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
