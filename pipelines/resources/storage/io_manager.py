"""Asset values: their provenance as JSON. Rows lie in snapshots, and are read for the input that asks for them."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_origin

import dagster as dg
import duckdb
import pyarrow as pa

from assets.engine.benchmark import Benchmark
from assets.engine.ports import SnapshotRef, SnapshotStore, UnreadableValue
from assets.engine.provenance import Provenance, ReportValue, ResolvedRecipe
from assets.engine.stage import Stage
from assets.engine.stage_asset import disk_error_message
from assets.records.base import Record
from pipelines.benchmarks import BENCHMARKS
from pipelines.errors import StoreError
from pipelines.home import Home
from pipelines.resources.storage.file_store import FileStore, as_file_store
from pipelines.resources.storage.open_stores import snapshot_files, value_files
from pipelines.resources.storage.snapshots import ParquetSnapshots

DIGEST_LINE = b"sha256 "
# What they come to lies in the release store.
WITHOUT_VALUE = ("dataset_card", "release")
ALL_BENCHMARKS = tuple(entry.benchmark for entry in BENCHMARKS)


class OtherVersion(UnreadableValue):
    """The value is whole, but another version of this program wrote it."""


class AssetValueIOManager(dg.IOManager):
    """Keeps each asset's latest value per partition as `<asset>/<partition>.json`, replaced atomically.

    An input is given what its type says. Provenance, ResolvedRecipe and ReportValue: the value itself. Else the rows of a
    stage, as a pandas DataFrame (also without a type), a pyarrow Table, a DuckDB relation or a list of records; of `recipe`
    the recipe, and of `quality_report` the report. A partition that was not made yet is an error, unless the input has the
    metadata `allow_missing_partitions`, as with Dagster's own I/O managers.
    """

    def __init__(
        self, files: Path | FileStore, snapshots: SnapshotStore, benchmarks: Sequence[Benchmark] = ALL_BENCHMARKS
    ) -> None:
        self._files = as_file_store(files)
        self._snapshots = snapshots
        self._reports = {benchmark.report.__name__: benchmark.report for benchmark in benchmarks}
        self._benchmarks = benchmarks
        self._without_value = {one.key(name) for one in benchmarks for name in WITHOUT_VALUE}
        self._recipes = {one.key("recipe") for one in benchmarks}
        self._stages: dict[str, Stage[Any]] = {}
        for benchmark in benchmarks:
            for stage in benchmark.stages:
                self._stages[stage.name] = stage

    def handle_output(self, context: dg.OutputContext, obj: Record) -> None:
        """Write the value; a run killed midway leaves the one before it. Raises dg.Failure with one sentence."""
        # A report's benchmark is known by the type of the report.
        named = obj.report if isinstance(obj, ReportValue) else obj
        kind = type(named).__name__
        content = f"{kind}\n{obj.model_dump_json()}\n".encode()
        asset = "/".join(context.asset_key.path)
        partition = context.asset_partition_key
        names = [_name(asset, partition)]
        if isinstance(obj, ResolvedRecipe):
            names.insert(0, _name(asset, partition, run_id=_root_run(context)))
        try:
            for name in names:
                self._files.write(name, with_digest(content))
        except OSError as error:
            raise dg.Failure(description=disk_error_message(error), allow_retries=False) from error

    def load_input(self, context: dg.InputContext) -> Any:
        """Return the value of the input's partition, or partition to value where the input is marked as many."""
        asset = "/".join(context.asset_key.path)
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
        if asset in self._stages:
            provenances = [value for value in values.values() if isinstance(value, Provenance)]
            return self._rows(asset, provenances, wanted=wanted)
        contents = {key: _content(value) for key, value in values.items()}
        return contents if len(keys) > 1 else next(iter(contents.values()), None)

    def find(self, asset: str, partition: str) -> Record | None:
        """Return the latest value outside a run; None when there is none. Raises UnreadableValue or StoreError."""
        return self._find(_name(asset, partition), asset)

    def rows(self, stage: str, partition: str, *, finished: bool = False) -> pa.Table:
        """Return the rows of a stage's latest snapshot, or those of the finished items. Raises StoreError in one sentence."""
        benchmark = next((one for one in self._benchmarks if stage in one.stage_names), None)
        if benchmark is None:
            raise StoreError(f"There is no stage {stage!r}; there are {', '.join(self._stages)}.")
        partitions = [unit for units in benchmark.partitions.units.values() for unit in units]
        if partition not in partitions:
            raise StoreError(f"There is no partition {partition!r}; there are {', '.join(partitions)}.")
        last = benchmark.final.name if finished else stage
        value = self.find(last, partition)
        if not isinstance(value, Provenance):
            raise StoreError(f"Asset {last!r} has no rows of {partition!r} yet; materialize it first.")
        return self._finished_rows(stage, value, last) if finished else self._concat(stage, [*value.stage(stage).values()])

    def _finished_rows(self, stage: str, value: Provenance, last: str) -> pa.Table:
        """Return a stage's rows of the finished items: those that joined late are in the snapshots of later stages."""
        finished: set[int] = set()
        for ref in value.stage(last).values():
            for part in self._snapshots.positions(ref):
                finished.update(part)
        refs: list[SnapshotRef] = []
        for snapshots in value.snapshots.values():
            refs.extend(snapshots.values())
        rows = self._concat(stage, refs)
        # An item that several snapshots carry counts once, as the first of them has it.
        first_rows: dict[int, int] = {}
        for index, position in enumerate(cast(list[int], rows["position"].to_pylist())):
            first_rows.setdefault(position, index)
        return rows.take([first_rows[position] for position in sorted(finished) if position in first_rows])

    def check(self, name: str) -> Record | None:
        """The value in a file. Raises UnreadableValue, or StoreError where the store cannot be used."""
        return self._find(name, name.partition("/")[0])

    def _find(self, name: str, asset: str) -> Record | None:
        try:
            written = self._files.read(name)
        except FileNotFoundError:
            return None
        where = f"{self._files.address}/{name}"
        found = without_digest(written)
        if found is None:
            raise UnreadableValue(f"{where} does not hold what was written (was it edited?); materialize {asset!r} again.")
        kind, _, content = found.partition(b"\n")
        try:
            return self._decode(kind.decode(), content)
        except (KeyError, ValueError) as error:
            if _is_object(content):
                raise OtherVersion(f"{where} is of another version of this program; materialize {asset!r} again.") from error
            raise UnreadableValue(f"{where} is damaged; materialize {asset!r} again.") from error

    def _decode(self, kind: str, content: bytes) -> Record:
        for simple in (Provenance, ResolvedRecipe):
            if kind == simple.__name__:
                return simple.model_validate_json(content)
        fields: dict[str, Any] = json.loads(content)
        report = self._reports[kind].model_validate(fields["report"])
        return ReportValue(provenance=Provenance.model_validate(fields["provenance"]), report=report)

    def _value(self, context: dg.InputContext, asset: str, partition: str, *, lenient: bool) -> Record | None:
        # A run that resolved a recipe goes by that one, whatever was resolved beside it.
        run_id = _root_run(context) if asset in self._recipes else ""
        try:
            own = self._find(_name(asset, partition, run_id=run_id), asset) if run_id else None
            value = own or self.find(asset, partition)
        except OSError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        if value is None and asset in self._without_value:
            raise dg.Failure(
                description=f"Asset {asset!r} has no value to be given to an input: name it in `deps`, and find its folder or "
                "address in the metadata of its materialization.",
                allow_retries=False,
            )
        if value is None and not lenient:
            raise dg.Failure(
                description=f"Asset {asset!r} has no value for {partition!r} yet; materialize it first.", allow_retries=False
            )
        return value

    def _rows(self, asset: str, values: Sequence[Provenance], *, wanted: Any) -> Any:
        kind = get_origin(wanted) or wanted
        try:
            refs: list[SnapshotRef] = []
            for value in values:
                refs.extend(value.stage(asset).values())
            if kind is list:
                records: list[Record] = []
                for ref in refs:
                    records.extend(self._snapshots.read(ref, asset, record=self._stages[asset].record).values())
                return records
            table = self._concat(asset, refs)
        except OSError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        # Importing pandas takes most of a second, which a process that reads no rows does not need.
        if kind in (Any, None) or f"{kind.__module__.partition('.')[0]}.{kind.__name__}" == "pandas.DataFrame":
            return table.to_pandas()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if kind is duckdb.DuckDBPyRelation:
            return duckdb.from_arrow(table)
        if kind is not pa.Table:
            raise dg.Failure(
                description=f"The rows of {asset} cannot be given as {kind.__name__}; annotate the input with "
                "pandas.DataFrame, pyarrow.Table, duckdb.DuckDBPyRelation or list.",
                allow_retries=False,
            )
        return table

    def _concat(self, stage: str, refs: Sequence[SnapshotRef]) -> pa.Table:
        """The rows of one stage in all these snapshots."""
        tables: list[pa.Table] = []
        for ref in refs:
            table = self._snapshots.table(ref, stage)
            if table is not None:
                tables.append(table)
        return pa.concat_tables(tables) if tables else pa.table({})


def open_asset_values(home: Home) -> AssetValueIOManager:
    """The values of an installation's assets. Nothing is opened before it is used."""
    return AssetValueIOManager(value_files(home), ParquetSnapshots(snapshot_files(home)))


def _is_object(content: bytes) -> bool:
    try:
        return isinstance(json.loads(content), dict)
    except ValueError:
        return False


def _root_run(context: dg.InputContext | dg.OutputContext) -> str:
    """The run that was launched first, where this one goes on with it; empty outside a run."""
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
    """A value's lines, and their digest as the last."""
    return content + DIGEST_LINE + hashlib.sha256(content).hexdigest().encode() + b"\n"


def without_digest(written: bytes) -> bytes | None:
    """Return the value's lines; None where they do not fit the digest in the last line."""
    content, _, digest = written.rpartition(DIGEST_LINE)
    return content if hashlib.sha256(content).hexdigest().encode() == digest.strip() else None
