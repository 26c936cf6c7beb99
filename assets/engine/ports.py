"""Protocols of what the engine needs from outside: model, stores and limits of a run. `pipelines` implements them."""

import secrets
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from pydantic import Field

from assets.engine.in_flight import InFlight
from assets.engine.run_loop import RunLoop
from assets.engine.serialized_record import SerializedRecord
from assets.llm.ports import CallLabels, Embedder, LanguageModel
from assets.llm.usage import Usage
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, ItemRecord, Record
from assets.records.paths import RelativePath

VALUES = "asset_values"  # the key of the I/O manager and of the resource, which are one object
R = TypeVar("R", bound=ItemRecord)
T = TypeVar("T")


class SnapshotPart(Record):
    """One Parquet file of a snapshot: rows of one stage at positions `first` to `last`, in order."""

    stage: str
    path: RelativePath
    rows: int
    first: int
    last: int
    digest: str


class FailureFile(Record):
    """The file that says why so many `items` were replaced, at the stage or at one before it."""

    path: RelativePath
    items: int


class SnapshotRef(Record):
    """An immutable snapshot of one stage of one work unit; `digest` is over its rows, not over file bytes.

    Beside the stage's own rows it carries the upstream rows of replacements, which joined too late to be in
    the upstream snapshots. `code_version` and `prompts`, by fingerprint, are what it was made by; `usage` is what the
    stage's calls used.
    """

    stage: str
    unit: str
    digest: str
    items: int
    parts: tuple[SnapshotPart, ...]
    failures: FailureFile
    code_version: str = ""
    prompts: dict[str, str] = Field(default_factory=dict[str, str])
    usage: Usage = Usage()


class SnapshotWriter(Protocol):
    """Takes rows part by part; nothing is visible until `finish`."""

    def add(self, stage: str, rows: Sequence[tuple[int, SerializedRecord[ItemRecord]]]) -> None: ...

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
        """Return the same rows, each decoded only when its record is looked at."""
        ...

    def table(self, ref: SnapshotRef, stage: str) -> pa.Table | None:
        """The rows of a stage, own or carried ones: `unit`, `position` and the fields of its record; None without any."""
        ...

    def positions(self, ref: SnapshotRef) -> Iterator[list[int]]:
        """Yield the positions of the stage's own rows, part by part."""
        ...

    def failures(self, ref: SnapshotRef) -> list[Failure]: ...


class UnreadableValue(OSError):
    """A stored value is damaged or of another version; one sentence names it and says what to do."""


class AssetValues(Protocol):
    """The values of assets outside their inputs; as a Dagster resource, and as I/O manager, its key is `VALUES`."""

    def find(self, asset: str, partition: str) -> Record | None:
        """The latest value; None when there is none. Raises UnreadableValue, and OSError where nothing can be read."""
        ...


class RecordCache(Protocol):
    """Keeps every finished item the moment its stage is done, so that a killed run loses nothing."""

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, record: bytes) -> None: ...


@dataclass(frozen=True)
class StageProgress:
    """A stage's progress with a unit's items. `noun`: what one is called; `given_up`: those that others replace, and why.

    `reserve`: those of `total` that nobody needs unless another fails. `awaited`: calls without a reply yet. `cost_usd` is
    None where nobody knows the price of a call. `rate`: calls per second over the last while, and `seconds_left` is None where
    it is not known; both are estimated by the stage's ProgressLog.
    """

    stage: str
    unit: str
    done: int
    total: int
    calls: int
    repeated: int
    seconds: float
    noun: str = "item"
    given_up: Sequence[Failure] = ()
    reserve: int = 0
    awaited: int = 0
    cost_usd: float | None = 0.0
    rate: float | None = None
    seconds_left: float | None = None


def random_salt() -> str:
    """Return a salt that nobody can guess, from the system's randomness."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class RunContext:
    """Model, stores and limits of one run. `loop`: where stages are made; without it, wherever they are awaited.

    `new_salt` draws the salt of a recipe that has none. `report` gets the progress of stages. `report_step` gets each step of
    quality report and release, and True where one has ended: nothing is counted in them. `stage_names` are in order: the
    earlier a stage, the more waits for its calls, and the sooner the endpoint gets them.
    """

    model: LanguageModel
    snapshots: SnapshotStore
    record_cache: RecordCache
    items_at_once: int = 32
    items_per_part: int = 200
    report: Callable[[StageProgress], None] | None = None
    report_step: Callable[[str, bool], None] | None = None
    embedded_model: str | None = None
    open_model: Callable[[Recipe, str], LanguageModel] | None = None
    open_embedder: Callable[[Recipe, str], Embedder] | None = None
    in_flight: InFlight = field(default_factory=InFlight)
    loop: RunLoop | None = None
    new_salt: Callable[[], str] = random_salt
    stage_names: tuple[str, ...] = ()

    def labels(self, stage: str, *, item_id: str) -> CallLabels:
        """Return the labels of a stage's calls for one item."""
        rank = self.stage_names.index(stage) if stage in self.stage_names else 0
        return CallLabels(stage=stage, item_id=item_id, rank=rank)

    async def on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Await the work on the run's own loop, which afterwards goes on with the tasks that the work has started."""
        if self.loop is None:
            return await work
        return await self.loop.run(work)

    def for_unit(self, unit: str, *, recipe: Recipe) -> "RunContext":
        """The run context as one work unit of a recipe uses it: its calls are in the ledger, and the recipe's budget holds."""
        return self if self.open_model is None else replace(self, model=self.open_model(recipe, unit))


def snapshot_rows(
    stage: str,
    *,
    record: type[R],
    refs: Iterable[SnapshotRef],
    snapshots: SnapshotStore,
    positions: Collection[int] | None = None,
) -> dict[int, R]:
    """Return a stage's records by position, from all these snapshots of a unit. Raises SnapshotError for an unreadable one."""
    found = serialized_snapshot_rows(stage, record=record, refs=refs, snapshots=snapshots, positions=positions)
    return {position: row.record for position, row in found.items()}


def serialized_snapshot_rows(
    stage: str,
    *,
    record: type[R],
    refs: Iterable[SnapshotRef],
    snapshots: SnapshotStore,
    positions: Collection[int] | None = None,
) -> dict[int, SerializedRecord[R]]:
    """Return the same rows, each decoded only when its record is looked at."""
    found: dict[int, SerializedRecord[R]] = {}
    for ref in refs:
        found.update(snapshots.read_serialized(ref, stage, record=record, positions=positions))
    return found


def portions(ref: SnapshotRef, *, snapshots: SnapshotStore, at_once: int) -> Iterator[list[int]]:
    """Yield the positions of the stage's own rows, in order, `at_once` at a time. Raises SnapshotError."""
    for positions in snapshots.positions(ref):
        for start in range(0, len(positions), at_once):
            yield positions[start : start + at_once]
