"""A variant's finished items read back a few at a time, so that a release of many needs no more memory than one of few."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from assets.engine.benchmark import Benchmark
from assets.engine.ports import SnapshotRef, SnapshotStore, portions, snapshot_rows
from assets.engine.provenance import Provenance
from assets.records.base import Failure, GateRecord, ItemRecord
from assets.records.columnar import Columns, columns_of
from assets.records.public_names import shared_model
from assets.reporting.gate_summary import votes_of


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
        stages = [stage for stage in self.benchmark.stages if "gate_records" in stage.record.model_fields]
        for ref, positions in self._portions():
            refs = self.provenance.snapshots[ref.unit].values()
            seen: list[dict[int, ItemRecord]] = []
            for stage in stages:
                rows = snapshot_rows(stage.name, record=stage.record, refs=refs, snapshots=self.snapshots, positions=positions)
                seen.append(rows)
            for position in positions:
                for rows in seen:
                    if position in rows:
                        yield rows[position].item_id, votes_of(rows[position])

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
