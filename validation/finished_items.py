"""Finished items of a variant, read back from the snapshots of its work units in portions."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assets.engine.benchmark import Benchmark
from assets.engine.ports import SnapshotRef, portions, rows_of
from assets.engine.run_context import RunContext
from assets.engine.stage import Stage
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, UserRecord
from validation.rules import RecordsByStage

ITEMS_AT_ONCE = 200


def records_of(
    stage: Stage[Any], refs: Mapping[str, SnapshotRef], run_context: RunContext, positions: Collection[int] | None = None
) -> dict[str, UserRecord]:
    """A stage's records by item: from its own snapshot, and from those that carry the rows of replacements."""
    snapshots = run_context.snapshots
    rows = rows_of(stage.name, record=stage.record, refs=refs.values(), snapshots=snapshots, positions=positions)
    return {record.user_id: record for record in rows.values()}


@dataclass(frozen=True)
class FinishedItems:
    """A variant's finished items, read back from the snapshots of its work units. `refs` maps stage to unit to snapshot.

    The last stage has to be among the stages. All iterators raise SnapshotError, which is an OSError, for a snapshot that
    cannot be read.
    """

    run_context: RunContext
    recipe: Recipe
    refs: Mapping[str, Mapping[str, SnapshotRef]]
    benchmark: Benchmark
    items_at_once: int = ITEMS_AT_ONCE

    @property
    def count(self) -> int:
        return sum(ref.users for ref in self._final_refs.values())

    @property
    def _final_refs(self) -> Mapping[str, SnapshotRef]:
        return self.refs[self.benchmark.final.name]

    def failures(self) -> Iterator[Failure]:
        """The items that were replaced, by unit."""
        for _, ref in sorted(self._final_refs.items()):
            yield from self.run_context.snapshots.failures(ref)

    def portions(self) -> Iterator[RecordsByStage]:
        """A portion's records by stage and item, in the order of the stages; items by unit and position in the sample."""
        final = self.benchmark.final.name
        for unit, ref in sorted(self._final_refs.items()):
            own = {name: units[unit] for name, units in self.refs.items()}
            for positions in portions(ref, snapshots=self.run_context.snapshots, at_once=self.items_at_once):
                records: dict[str, dict[str, UserRecord]] = {
                    stage.name: records_of(stage, own, self.run_context, positions)
                    for stage in self.benchmark.stages
                    if stage.name in own
                }
                items = records[final]
                yield {name: {item: rows[item] for item in items if item in rows} for name, rows in records.items()}
