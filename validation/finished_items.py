"""Finished items of a variant, read back from the snapshots of its work units."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol

from assets.engine.benchmark import Benchmark
from assets.engine.ports import RunContext, SnapshotRef, portions, snapshot_rows
from assets.engine.stage import Stage
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, ItemRecord
from validation.rules import RecordsByStage, RecordsOfItem

# Bounds the memory of a report or a check, however large the set is.
ITEMS_AT_ONCE = 200


def records_of(
    stage: Stage[Any], refs: Mapping[str, SnapshotRef], run_context: RunContext, positions: Collection[int] | None = None
) -> dict[str, ItemRecord]:
    """Return a stage's records by item, from its own snapshot and from those that hold the rows of replacements."""
    snapshots = run_context.snapshots
    rows = snapshot_rows(stage.name, record=stage.record, refs=refs.values(), snapshots=snapshots, positions=positions)
    return {record.item_id: record for record in rows.values()}


def records_of_item(item: str, records: RecordsByStage) -> RecordsOfItem:
    return {stage: rows[item] for stage, rows in records.items() if item in rows}


class ReportedItems(Protocol):
    """A finished set as a report reads it. `validated`: its records were checked when they were read."""

    @property
    def run_context(self) -> RunContext: ...

    @property
    def recipe(self) -> Recipe: ...

    @property
    def count(self) -> int: ...

    @property
    def stages(self) -> Collection[str]:
        """The stages of which there are records."""
        ...

    @property
    def validated(self) -> bool: ...

    @property
    def voted_stages(self) -> Collection[str]:
        """The stages whose records have the votes of their gates."""
        ...

    def failures(self) -> Iterator[Failure]: ...

    def items(self) -> Iterator[RecordsOfItem]: ...


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
    validated: bool = True

    @property
    def stages(self) -> Collection[str]:
        return self.refs.keys()

    @property
    def voted_stages(self) -> Collection[str]:
        return self.stages

    @property
    def count(self) -> int:
        return sum(map(attrgetter("items"), self._final_refs.values()))

    @property
    def _final_refs(self) -> Mapping[str, SnapshotRef]:
        return self.refs[self.benchmark.final.name]

    def failures(self) -> Iterator[Failure]:
        """The items that were replaced, by unit."""
        for _, ref in sorted(self._final_refs.items()):
            yield from self.run_context.snapshots.failures(ref)

    def items(self) -> Iterator[RecordsOfItem]:
        """Yield each item's records; stages in their order, items by unit and position."""
        for unit, ref in sorted(self._final_refs.items()):
            own = {name: units[unit] for name, units in self.refs.items()}
            for positions in portions(ref, snapshots=self.run_context.snapshots, at_once=self.items_at_once):
                records: dict[str, dict[str, ItemRecord]] = {}
                for stage in self.benchmark.stages:
                    if stage.name in own:
                        records[stage.name] = records_of(stage, own, self.run_context, positions)
                for item in records[self.benchmark.final.name]:
                    yield records_of_item(item, records)
