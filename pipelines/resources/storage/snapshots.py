"""Snapshots as Parquet: immutable folders named by the digest of their rows.

A snapshot is `<stage>/<unit>/<digest[:16]>/` with the stage's rows in `part-*.parquet`, rows carried for other stages in
`carried-<stage>-*.parquet`, `failures.parquet` and, written last, `snapshot.json`. `LATEST` beside it holds the digest.
Parts are named by number and digest, so that writers of the same rows in parts of other sizes are in nobody's way.
A row holds its record twice: in columns, for people and SQL, and as the JSON that the digest is over, from which it is
read back in a third of the time.
"""

from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from assets.engine.serialized_record import SerializedRecord
from assets.llm.ports import SnapshotPart, SnapshotRef
from assets.records.base import UserRecord
from assets.records.failure import Failure
from pipelines.resources.storage.database import StoreError
from pipelines.resources.storage.filesystem import Place, placed
from pipelines.resources.storage.snapshot_writer import RECORD, ParquetWriter

R = TypeVar("R", bound=UserRecord)


class SnapshotError(OSError):
    """A snapshot that cannot be read; one sentence names the file and says what to do."""


class ParquetSnapshots:
    """The SnapshotStore port over a place; a path stands for its folder."""

    def __init__(self, place: Path | Place) -> None:
        self.place = placed(place)

    def writer(self, stage: str, *, unit: str) -> ParquetWriter:
        """Begin a snapshot, and clear away what killed runs left of this stage and unit."""
        return ParquetWriter(self.place, stage=stage, unit=unit)

    def read(self, ref: SnapshotRef, stage: str, *, record: type[R], positions: Collection[int] | None = None) -> dict[int, R]:
        """The snapshot's rows of a stage by position, its own or carried ones. Raises SnapshotError."""
        found = self.read_serialized(ref, stage, record=record, positions=positions)
        return {position: one.record for position, one in found.items()}

    def read_serialized(
        self, ref: SnapshotRef, stage: str, *, record: type[R], positions: Collection[int] | None = None
    ) -> dict[int, SerializedRecord[R]]:
        """The same, each record to be decoded when it is looked into; that, too, raises SnapshotError."""
        rows: dict[int, SerializedRecord[R]] = {}
        for part in ref.parts:
            if part.stage != stage:
                continue
            wanted = None if positions is None else [p for p in positions if part.first <= p <= part.last]
            if wanted != []:
                rows.update(self._rows(ref, part, record=record, wanted=wanted))
        return rows

    def positions(self, ref: SnapshotRef) -> Iterator[list[int]]:
        """The positions of the stage's own rows, part by part. Raises SnapshotError."""
        for part in ref.parts:
            if part.stage == ref.stage:
                with self._opened(ref, part.path, kind="rows") as file:
                    yield cast(list[int], _read(file, columns=["position"])["position"].to_pylist())

    def failures(self, ref: SnapshotRef) -> list[Failure]:
        """The users who were replaced up to this stage, by position. Raises SnapshotError."""
        with self._opened(ref, ref.failures.path, kind=Failure.__name__) as file:
            texts = cast(list[str], _read(file, columns=[RECORD])[RECORD].to_pylist())
            return [Failure.model_validate_json(text) for text in texts]

    def _rows(
        self, ref: SnapshotRef, part: SnapshotPart, *, record: type[R], wanted: list[int] | None
    ) -> Iterator[tuple[int, SerializedRecord[R]]]:
        def decode(text: str) -> R:
            with self._explained(ref, part.path, kind=record.__name__):
                return record.model_validate_json(text)

        with self._opened(ref, part.path, kind=record.__name__) as file:
            table = _read(file, wanted, columns=["position", RECORD])
            positions, texts = (cast(list[Any], table[name].to_pylist()) for name in ("position", RECORD))
        return ((position, SerializedRecord(text, decode=decode)) for position, text in zip(positions, texts, strict=True))

    @contextmanager
    def _opened(self, ref: SnapshotRef, name: str, *, kind: str) -> Generator[pa.NativeFile, None, None]:
        with self._explained(ref, name, kind=kind), self.place.open(name) as file:
            yield file

    @contextmanager
    def _explained(self, ref: SnapshotRef, name: str, *, kind: str) -> Generator[None, None, None]:
        """What goes wrong with a file of the snapshot, in one sentence."""
        path, remedy = f"{self.place.address}/{name}", f"materialize {ref.stage!r} of {ref.unit!r} again"
        try:
            yield
        except FileNotFoundError as error:
            raise SnapshotError(f"Snapshot file {path} is missing; {remedy}.") from error
        except StoreError:
            raise
        except ValidationError as error:
            reason = " ".join(str(error).split())
            raise SnapshotError(f"Snapshot file {path} holds no {kind} of today; {remedy} ({reason}).") from error
        except (pa.ArrowInvalid, OSError) as error:
            from pipelines.resources.storage.object_store_errors import (
                pass_on,  # brings the stores' clients, which take a while to import
            )

            pass_on(error, address=self.place.address)
            raise SnapshotError(f"Snapshot file {path} is damaged; delete its folder and {remedy} ({error}).") from error


def _read(file: pa.NativeFile, positions: list[int] | None = None, *, columns: list[str]) -> pa.Table:
    wanted = None if positions is None else pc.field("position").isin(positions)  # pyright: ignore[reportUnknownMemberType]
    return pq.read_table(  # pyright: ignore[reportUnknownMemberType]
        file, columns=columns, filters=wanted, partitioning=None, page_checksum_verification=True
    )
