"""Asset values: small records as JSON beside the snapshots they point to."""

import os
from pathlib import Path
from typing import Any

import dagster as dg

from assets.ports import SnapshotRef
from assets.records.base import Record
from assets.records.recipe import Recipe
from assets.records.report import QualityReport

KINDS: dict[str, type[Record]] = {kind.__name__: kind for kind in (Recipe, SnapshotRef, QualityReport)}


class RecordValues(dg.IOManager):
    """Keeps each asset's latest value per partition as `<root>/<asset>/<partition>.json`, replaced atomically."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def handle_output(self, context: dg.OutputContext, obj: Record) -> None:
        """Write the record; a run killed midway leaves the value before it."""
        path = self._path(context.asset_key, context.asset_partition_key)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        draft.write_text(f"{type(obj).__name__}\n{obj.model_dump_json()}\n", encoding="utf-8")
        draft.replace(path)

    def load_input(self, context: dg.InputContext) -> Any:
        """The record of the input's partition, or partition to record where the input is marked as many."""
        many = bool((context.definition_metadata or {}).get("many"))
        found = {key: self._read(self._path(context.asset_key, key)) for key in context.asset_partition_keys}
        return found if many else found[context.asset_partition_key]

    def find(self, asset: str, partition: str) -> Record | None:
        """The latest value outside a run; None when there is none."""
        path = self._path(dg.AssetKey(asset), partition)
        return self._read(path) if path.exists() else None

    def _path(self, asset_key: dg.AssetKey, partition: str) -> Path:
        return self.root / "/".join(asset_key.path) / f"{partition}.json"

    def _read(self, path: Path) -> Record:
        try:
            kind, _, content = path.read_text(encoding="utf-8").partition("\n")
        except FileNotFoundError as error:
            asset, partition = path.parent.name, path.stem
            raise dg.Failure(
                description=f"Asset {asset!r} has no value for {partition!r} yet; materialize it first.", allow_retries=False
            ) from error
        return KINDS[kind].model_validate_json(content)
