"""Stores asset values: their provenance as JSON. The rows are in snapshots, and are read when an input needs them."""

import hashlib
import json
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, cast, get_origin

import dagster as dg
import duckdb
import pyarrow as pa

from assets.engine.benchmark import Benchmark
from assets.engine.materialization import explain_failures
from assets.engine.ports import SnapshotRef, SnapshotStore, UnreadableValue
from assets.engine.provenance import Provenance, ReportValue, ResolvedRecipe
from assets.engine.stage import Stage
from assets.recipe.loading import how_to_remake
from assets.records.base import Record
from pipelines.benchmarks import BENCHMARKS, benchmark_of_asset
from pipelines.errors import StoreError
from pipelines.home import Home
from pipelines.resources.storage.file_store import FileStore, as_file_store
from pipelines.resources.storage.open_stores import snapshot_files, value_files
from pipelines.resources.storage.snapshots import ParquetSnapshots

DIGEST_LINE = b"sha256 "
# Assets whose result is in the release store.
WITHOUT_VALUE = ("dataset_card", "release")


class AssetValueIOManager(dg.IOManager):
    """Keeps each asset's latest value per partition as `<asset>/<partition>.json`, replaced atomically.

    The type of an input decides what it gets:
    - Provenance, ResolvedRecipe or ReportValue: the stored value itself.
    - Other types, for a stage: its rows as a pandas DataFrame (also without a type), a pyarrow Table, a DuckDB relation or a
      list of records.
    - Other types, for `recipe`: the recipe; for `quality_report`: the report.

    A partition without a value is an error, unless the input has the metadata `allow_missing_partitions`, as with Dagster's
    own I/O managers.
    """

    def __init__(
        self,
        files: Path | FileStore,
        snapshots: SnapshotStore,
        find_benchmark: Callable[[str], Benchmark | None] = benchmark_of_asset,
    ) -> None:
        self._files = as_file_store(files)
        self._snapshots = snapshots
        self._find_benchmark = find_benchmark

    def handle_output(self, context: dg.OutputContext, obj: Record) -> None:
        """Write the value. If the run is killed midway, the old value stays. Raises dg.Failure with one sentence."""
        # The kind is stored with the value, and says how to read it.
        named = obj.report if isinstance(obj, ReportValue) else obj
        kind = type(named).__name__
        content = f"{kind}\n{obj.model_dump_json()}\n".encode()
        asset = context.asset_key.path[-1]
        partition = context.asset_partition_key
        names = [_name(asset, partition)]
        if isinstance(obj, ResolvedRecipe):
            names.insert(0, _name(asset, partition, run_id=_root_run(context)))
        with explain_failures():
            for name in names:
                self._files.write(name, with_digest(content))

    def load_input(self, context: dg.InputContext) -> Any:
        """Return the value of the input's partition; for an input with the metadata `many`, a dict of partition to value."""
        asset = context.asset_key.path[-1]
        metadata = context.definition_metadata or {}
        lenient = bool(metadata.get("allow_missing_partitions"))
        keys = list(context.asset_partition_keys)
        values: dict[str, Record] = {}
        for key in keys:
            value = self._value(context, asset, key, lenient=lenient)
            if value is not None:
                values[key] = value
        if metadata.get("many"):
            return values
        wanted = context.dagster_type.typing_type
        if wanted in (Provenance, ResolvedRecipe, ReportValue):
            return values[context.asset_partition_key]
        stage = self._stage(asset)
        if stage is not None:
            provenances = [value for value in values.values() if isinstance(value, Provenance)]
            return self._rows(stage, provenances, wanted=wanted)
        contents = {key: _content(value) for key, value in values.items()}
        return contents if len(keys) > 1 else next(iter(contents.values()), None)

    def find(self, asset: str, partition: str) -> Record | None:
        """Return the latest value; None if there is none. For use outside a run. Raises UnreadableValue or StoreError."""
        return self._find(_name(asset, partition), asset)

    def rows(self, stage: str, partition: str, *, finished: bool = False) -> pa.Table:
        """Return the rows of a stage's latest snapshot; with `finished`, the rows of the finished items. Raises StoreError."""
        benchmark = self._find_benchmark(stage)
        if benchmark is None or stage not in benchmark.stage_names:
            names = chain.from_iterable(entry.benchmark.stage_names for entry in BENCHMARKS.values())
            raise StoreError(f"There is no stage {stage!r}; there are {', '.join(names)}.")
        partitions = [unit for units in benchmark.partitions.units.values() for unit in units]
        if partition not in partitions:
            raise StoreError(f"There is no partition {partition!r}; there are {', '.join(partitions)}.")
        last = benchmark.final.name if finished else stage
        value = self.find(last, partition)
        if not isinstance(value, Provenance):
            raise StoreError(f"Asset {last!r} has no rows of {partition!r} yet; materialize it first.")
        return self._finished_rows(stage, value, last) if finished else self._concat(stage, [*value.stage(stage).values()])

    def _finished_rows(self, stage: str, value: Provenance, last: str) -> pa.Table:
        """Return a stage's rows of the finished items. Rows of late replacements are in the snapshots of later stages."""
        finished: set[int] = set()
        for ref in value.stage(last).values():
            for part in self._snapshots.positions(ref):
                finished.update(part)
        refs: list[SnapshotRef] = []
        for snapshots in value.snapshots.values():
            refs.extend(snapshots.values())
        rows = self._concat(stage, refs)
        # If several snapshots carry an item, its row in the first of them is used.
        first_rows: dict[int, int] = {}
        for index, position in enumerate(cast(list[int], rows["position"].to_pylist())):
            first_rows.setdefault(position, index)
        return rows.take([first_rows[position] for position in sorted(finished) if position in first_rows])

    def check(self, name: str) -> Record | None:
        """Return the value in a file; None if there is no file. Raises UnreadableValue or StoreError."""
        return self._find(name, name.partition("/")[0])

    def _find(self, name: str, asset: str) -> Record | None:
        try:
            written = self._files.read(name)
        except FileNotFoundError:
            return None
        where = f"{self._files.address}/{name}"
        remedy = how_to_remake(asset, PurePosixPath(name).stem)
        found = without_digest(written)
        if found is None:
            raise UnreadableValue(f"{where} has changed since it was written (was it edited?); {remedy}")
        kind, _, content = found.partition(b"\n")
        try:
            return self._decode(kind.decode(), content, asset)
        except (KeyError, ValueError) as error:
            raise UnreadableValue(f"{where} is damaged, or of another version of this program; {remedy}") from error

    def _decode(self, kind: str, content: bytes, asset: str) -> Record:
        for simple in (Provenance, ResolvedRecipe):
            if kind == simple.__name__:
                return simple.model_validate_json(content)
        fields: dict[str, Any] = json.loads(content)
        benchmark = self._find_benchmark(asset)
        if benchmark is None or kind != benchmark.report_record.__name__:
            raise ValueError(f"{asset} has no value of the kind {kind}")
        report = benchmark.report_record.model_validate(fields["report"])
        return ReportValue(provenance=Provenance.model_validate(fields["provenance"]), report=report)

    def _value(self, context: dg.InputContext, asset: str, partition: str, *, lenient: bool) -> Record | None:
        # A run uses the recipe that it resolved itself, even if another run resolved a newer one meanwhile.
        benchmark = self._find_benchmark(asset)
        run_id = _root_run(context) if benchmark is not None and asset == benchmark.key("recipe") else ""
        with explain_failures(OSError):
            own = self._find(_name(asset, partition, run_id=run_id), asset) if run_id else None
            value = own or self.find(asset, partition)
        if value is None and benchmark is not None and asset in map(benchmark.key, WITHOUT_VALUE):
            raise dg.Failure(
                description=f"Asset {asset!r} has no value for an input; name it in `deps`, and take its folder or "
                "address from the metadata of its materialization.",
                allow_retries=False,
            )
        if value is None and not lenient:
            raise dg.Failure(
                description=f"Asset {asset!r} has no value for {partition!r} yet; materialize it first.", allow_retries=False
            )
        return value

    def _stage(self, asset: str) -> Stage[Any] | None:
        benchmark = self._find_benchmark(asset)
        return benchmark.stage(asset) if benchmark is not None and asset in benchmark.stage_names else None

    def _rows(self, stage: Stage[Any], values: Sequence[Provenance], *, wanted: Any) -> Any:
        kind = get_origin(wanted) or wanted
        with explain_failures(OSError):
            refs: list[SnapshotRef] = []
            for value in values:
                refs.extend(value.stage(stage.name).values())
            if kind is list:
                records: list[Record] = []
                for ref in refs:
                    records.extend(self._snapshots.read(ref, stage.name, record=stage.record).values())
                return records
            table = self._concat(stage.name, refs)
        # `to_pandas` imports pandas, which takes most of a second, so the type is compared by name.
        if kind in (Any, None) or f"{kind.__module__.partition('.')[0]}.{kind.__name__}" == "pandas.DataFrame":
            return table.to_pandas()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if kind is duckdb.DuckDBPyRelation:
            return duckdb.from_arrow(table)
        if kind is not pa.Table:
            raise dg.Failure(
                description=f"The rows of {stage.name} cannot be converted to {kind.__name__}; annotate the input with "
                "pandas.DataFrame, pyarrow.Table, duckdb.DuckDBPyRelation or list.",
                allow_retries=False,
            )
        return table

    def _concat(self, stage: str, refs: Sequence[SnapshotRef]) -> pa.Table:
        """Return one table with the stage's rows from all these snapshots."""
        tables: list[pa.Table] = []
        for ref in refs:
            table = self._snapshots.table(ref, stage)
            if table is not None:
                tables.append(table)
        return pa.concat_tables(tables) if tables else pa.table({})


def open_asset_values(home: Home) -> AssetValueIOManager:
    """Return the asset values of an installation. Files and stores are opened on first use."""
    return AssetValueIOManager(value_files(home), ParquetSnapshots(snapshot_files(home)))


def _root_run(context: dg.InputContext | dg.OutputContext) -> str:
    """Return the id of the first run of a chain of retries, or of this run; "" outside a run."""
    try:
        run = context.step_context.dagster_run
    except dg.DagsterInvariantViolationError:
        return ""
    return run.root_run_id or run.run_id


def _content(value: Record) -> Record:
    if isinstance(value, ResolvedRecipe):
        return value.recipe
    return value.report if isinstance(value, ReportValue) else value


def _name(asset: str, partition: str, *, run_id: str = "") -> str:
    return f"{asset}/runs/{run_id}/{partition}.json" if run_id else f"{asset}/{partition}.json"


def with_digest(content: bytes) -> bytes:
    """Return a value's lines with their SHA-256 digest as the last line."""
    return content + DIGEST_LINE + hashlib.sha256(content).hexdigest().encode() + b"\n"


def without_digest(written: bytes) -> bytes | None:
    """Return the value's lines without the digest in the last line; None if the digest does not match."""
    content, _, digest = written.rpartition(DIGEST_LINE)
    return content if hashlib.sha256(content).hexdigest().encode() == digest.strip() else None
