"""A variant's finished items read back a few at a time, so that a release of many needs no more memory than one of few."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import ConfigDict

from assets.engine.benchmark import Benchmark
from assets.engine.ports import SnapshotRef, SnapshotStore, portions, rows_of
from assets.records.base import Failure, GateRecord, UserRecord


class GateVotes(UserRecord):
    """What the gates saw of an item: all that a release needs of the gated stages' records."""

    model_config = ConfigDict(extra="ignore")

    gate_records: tuple[GateRecord, ...]


def gated_stages(benchmark: Benchmark) -> tuple[str, ...]:
    """Names of the stages whose records hold votes, in order."""
    return tuple(stage.name for stage in benchmark.stages if "gate_records" in stage.record.model_fields)


def released_stages(benchmark: Benchmark) -> tuple[str, ...]:
    """Names of the stages that a release reads: the one that finishes items, and the gated ones."""
    return (benchmark.final.name, *gated_stages(benchmark))


@dataclass(frozen=True)
class FinishedRows:
    """Snapshots of the finished items. `refs` maps the names of `released_stages` to unit to snapshot.

    The iterators raise SnapshotError, which is an OSError, for a snapshot that cannot be read.
    """

    benchmark: Benchmark
    snapshots: SnapshotStore
    refs: Mapping[str, Mapping[str, SnapshotRef]]
    items_at_a_time: int = 50

    def items(self) -> Iterator[UserRecord]:
        """All of them, by unit and position in the sample."""
        for ref, positions in self._portions():
            final = self.benchmark.final
            yield from self.snapshots.read(ref, final.name, record=final.record, positions=positions).values()

    def gate_records(self) -> Iterator[tuple[str, tuple[GateRecord, ...]]]:
        """The items' votes in the same order, of each item stage by stage."""
        stages = gated_stages(self.benchmark)
        for ref, positions in self._portions():
            seen = [self._votes(stage, unit=ref.unit, positions=positions) for stage in stages]
            for position in positions:
                own = [votes[position] for votes in seen if position in votes]
                yield from ((votes.user_id, votes.gate_records) for votes in own)

    def failures(self) -> list[Failure]:
        """The items that were replaced, by unit."""
        refs = [ref for _, ref in sorted(self.refs[self.benchmark.final.name].items())]
        return [failure for ref in refs for failure in self.snapshots.failures(ref)]

    def _portions(self) -> Iterator[tuple[SnapshotRef, list[int]]]:
        for _, ref in sorted(self.refs[self.benchmark.final.name].items()):
            for positions in portions(ref, snapshots=self.snapshots, at_once=self.items_at_a_time):
                yield ref, positions

    def _votes(self, stage: str, *, unit: str, positions: list[int]) -> dict[int, GateVotes]:
        refs = [units[unit] for units in self.refs.values()]
        return rows_of(stage, record=GateVotes, refs=refs, snapshots=self.snapshots, positions=positions)
