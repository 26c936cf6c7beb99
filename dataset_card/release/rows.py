"""A variant's finished items read back a few at a time, so that a release of many needs no more memory than one of few."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from pydantic import ConfigDict, create_model

from assets.engine.benchmark import Benchmark
from assets.engine.ports import SnapshotRef, SnapshotStore, portions, snapshot_rows
from assets.engine.provenance import Provenance
from assets.records.base import Failure, GateRecord, ItemRecord
from assets.records.columnar import Columns, columns_of
from assets.records.public_names import shared_model


class GateVotes(ItemRecord):
    """The votes of the gates on an item: all that a release needs of the gated stages' records."""

    model_config = ConfigDict(extra="ignore")

    gate_records: tuple[GateRecord, ...]


@lru_cache
def votes_record(stage: type[ItemRecord]) -> type[GateVotes]:
    """Return the class of GateVotes as they stand in the records of a stage, whose id has a name of its own."""
    fields: dict[str, Any] = {stage.id_field: (str, ...)}
    record: type[GateVotes] = create_model("GateVotes", __base__=GateVotes, **fields)
    record.id_field = stage.id_field
    return record


def gated_stages(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the names of the stages whose records hold votes, in order."""
    return tuple(stage.name for stage in benchmark.stages if "gate_records" in stage.record.model_fields)


@dataclass(frozen=True)
class FinishedRows:
    """The finished items, read back from the snapshots of all that they were made from.

    The iterators raise SnapshotError, which is an OSError, for a snapshot that cannot be read.
    """

    benchmark: Benchmark
    snapshots: SnapshotStore
    provenance: Provenance
    items_at_a_time: int = 50

    def items(self) -> Iterator[ItemRecord]:
        """Yield all of them, by unit and position in the sample."""
        for ref, positions in self._portions():
            final = self.benchmark.final
            yield from self.snapshots.read(ref, final.name, record=final.record, positions=positions).values()

    def gate_records(self) -> Iterator[tuple[str, tuple[GateRecord, ...]]]:
        """Yield the items' votes in the same order, of each item stage by stage."""
        stages = gated_stages(self.benchmark)
        for ref, positions in self._portions():
            seen = [self._votes(stage, unit=ref.unit, positions=positions) for stage in stages]
            for position in positions:
                for votes in seen:
                    if position in votes:
                        yield votes[position].item_id, votes[position].gate_records

    def failures(self) -> list[Failure]:
        """Return the items that were replaced, by unit."""
        failures: list[Failure] = []
        for ref in self._final_refs():
            failures += self.snapshots.failures(ref)
        return failures

    def _final_refs(self) -> list[SnapshotRef]:
        return [ref for _, ref in sorted(self.provenance.stage(self.benchmark.final.name).items())]

    def _portions(self) -> Iterator[tuple[SnapshotRef, list[int]]]:
        for ref in self._final_refs():
            for positions in portions(ref, snapshots=self.snapshots, at_once=self.items_at_a_time):
                yield ref, positions

    def _votes(self, stage: str, *, unit: str, positions: list[int]) -> dict[int, GateVotes]:
        refs = self.provenance.snapshots[unit].values()
        return snapshot_rows(
            stage,
            record=votes_record(self.benchmark.stage(stage).record),
            refs=refs,
            snapshots=self.snapshots,
            positions=positions,
        )


def gate_record_columns(
    votes: Iterable[tuple[str, Sequence[GateRecord]]], failures: Sequence[Failure], *, released: Collection[str]
) -> Iterator[Columns]:
    """The votes as rows, by column because they are most of all rows: those of finished users first.

    `votes` are pairs of user id and votes; a user may come again.
    """
    numbers: Counter[str] = Counter()
    of_failures = ((failure.item_id, failure.gate_records) for failure in failures)
    for user_id, seen in chain(votes, of_failures):
        first = numbers[user_id]
        count = len(seen)
        numbers[user_id] += count
        yield {
            "user_id": [user_id] * count,
            "number": range(first, first + count),
            "released": [user_id in released] * count,
            **columns_of(seen, record_type=GateRecord),
            "judge": [shared_model(vote.judge) for vote in seen],
        }
