"""Asset values: small records as JSON beside the snapshots they point to."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.ports import SnapshotRef
from assets.engine.stage_asset import disk_error_message
from assets.recipe.loading import recipe_from_json
from assets.recipe.recipe import Recipe
from assets.records.base import Record
from pipelines.benchmarks import BENCHMARKS
from pipelines.resources.storage.errors import StoreError
from pipelines.resources.storage.file_store import FileStore, as_file_store

ALL_BENCHMARKS = tuple(entry.benchmark for entry in BENCHMARKS)


class RecordIOManager(dg.IOManager):
    """Keeps each asset's latest value per partition as `<asset>/<partition>.json`, replaced atomically.

    Values are snapshot references, and the recipes and quality reports of these benchmarks.
    """

    def __init__(self, files: Path | FileStore, benchmarks: Sequence[Benchmark] = ALL_BENCHMARKS) -> None:
        self._files = as_file_store(files)
        own = (kind for benchmark in benchmarks for kind in (benchmark.recipe, benchmark.report))
        self._types: dict[str, type[Record]] = {kind.__name__: kind for kind in (SnapshotRef, *own)}

    def handle_output(self, context: dg.OutputContext, obj: Record) -> None:
        """Write the record; a run killed midway leaves the value before it. Raises dg.Failure with one sentence."""
        name = _name("/".join(context.asset_key.path), context.asset_partition_key)
        kind = Recipe.__name__ if isinstance(obj, Recipe) else type(obj).__name__
        try:
            self._files.write(name, f"{kind}\n{obj.model_dump_json()}\n".encode())
        except OSError as error:
            raise dg.Failure(description=disk_error_message(error), allow_retries=False) from error

    def load_input(self, context: dg.InputContext) -> Any:
        """The record of the input's partition, or partition to record where the input is marked as many."""
        many = bool((context.definition_metadata or {}).get("many"))
        values = {key: self._input(context.asset_key, key) for key in context.asset_partition_keys}
        return values if many else values[context.asset_partition_key]

    def find(self, asset: str, partition: str) -> Record | None:
        """The latest value outside a run; None when there is none. Raises StoreError."""
        try:
            kind, _, content = self._files.read(_name(asset, partition)).partition(b"\n")
        except FileNotFoundError:
            return None
        try:
            # Recipes of all benchmarks are stored under one name, as they were when there was one benchmark.
            if kind.decode() == Recipe.__name__:
                return recipe_from_json(content)
            return self._types[kind.decode()].model_validate_json(content)
        except (KeyError, ValueError) as error:
            where = f"{self._files.address}/{_name(asset, partition)}"
            raise StoreError(f"{where} is of another version of this program; materialize {asset!r} again.") from error

    def _input(self, asset_key: dg.AssetKey, partition: str) -> Record:
        asset = "/".join(asset_key.path)
        try:
            value = self.find(asset, partition)
        except OSError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        if value is None:
            raise dg.Failure(
                description=f"Asset {asset!r} has no value for {partition!r} yet; materialize it first.", allow_retries=False
            )
        return value


def _name(asset: str, partition: str) -> str:
    return f"{asset}/{partition}.json"
