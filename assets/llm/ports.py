"""The ports: what the stages need from outside, as protocols. `pipelines` brings what stands behind them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from pydantic import Field

from assets.engine.serialized_record import SerializedRecord
from assets.recipe.model_policy import Transport
from assets.records.base import Record, UserRecord
from assets.records.failure import Failure
from assets.records.usage import Usage
from prompts.template import Message

R = TypeVar("R", bound=UserRecord)
FinishReason = Literal["stop", "length", "refusal"]
BATCH_SHARE = 0.5  # of the price of a live call, at every provider with batch jobs


@dataclass(frozen=True)
class CallLabels:
    """What a call was for; never part of its identity. `attempt` counts how often the same thing was asked before.

    `transport`: at once, or in a batch job.
    """

    stage: str = ""
    user_id: str = ""
    prompt: str = ""
    fingerprint: str = ""
    attempt: int = 0
    transport: Transport = "live"


@dataclass(frozen=True)
class ModelRequest:
    """One chat completion. Everything but `labels` is its identity; `sample` tells equal requests apart."""

    model: str
    messages: tuple[Message, ...]
    temperature: float | None
    max_output_tokens: int
    schema_name: str
    json_schema: dict[str, object] | None
    seed: int
    sample: int
    labels: CallLabels = field(default=CallLabels(), compare=False)


@dataclass(frozen=True)
class ModelReply:
    """The words that came back. `repeated`: they came from the reply cache and cost nothing.

    `cached_input_tokens` are those of the `input_tokens` that the provider had in its prefix cache. `seconds` is the
    time that the answered try took, `price_share` the share of the list price that was asked (BATCH_SHARE in a batch
    job), `cost_usd` what the call cost, None where nobody knows the price; these are about the call and not about the
    words, so that they are neither compared nor kept.
    """

    text: str
    finish: FinishReason
    input_tokens: int
    output_tokens: int
    repeated: bool = False
    cached_input_tokens: int = 0
    seconds: float = field(default=0.0, compare=False)
    price_share: float = field(default=1.0, compare=False)
    cost_usd: float | None = field(default=None, compare=False)


class EndpointError(Exception):
    """The model endpoint cannot serve this run; the message is one sentence for the user, free of secrets."""


class BudgetReached(EndpointError):
    """The variant has spent what its recipe allows; the run pauses, and goes on with a higher budget."""


class LanguageModel(Protocol):
    """Anything that completes chats. Raises EndpointError when no further call makes sense."""

    async def complete(self, request: ModelRequest) -> ModelReply: ...


Vector = tuple[float, ...]


class Embedder(Protocol):
    """Anything that turns texts into vectors, one per text in order. Raises EndpointError like a LanguageModel."""

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]: ...


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
    """How far a stage is."""

    stage: str
    unit: str
    done: int
    total: int
    failed: int
    calls: int
    repeated: int
    seconds: float
