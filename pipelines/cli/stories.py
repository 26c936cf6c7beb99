"""Finds a variant's finished items, and prints one in the words of its benchmark."""

from collections.abc import Sequence
from pkgutil import resolve_name

from assets.engine.provenance import Provenance
from assets.recipe.loading import load_recipe, variants
from assets.records.base import ItemRecord
from assets.records.problems import nearest_first
from dataset_card.release_store.store import find_release
from pipelines.benchmarks import entry_of
from pipelines.cli.terminal import TextConsole, stdout_console
from pipelines.errors import Problem
from pipelines.home import home
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import open_release_store, snapshot_files
from pipelines.resources.storage.snapshots import ParquetSnapshots


def finished_items(variant: str) -> list[ItemRecord]:
    """Return the finished items of a variant's latest snapshots, in order. Raises Problem if there are none."""
    final = entry_of(load_recipe(variant)).benchmark.final
    snapshots = ParquetSnapshots(snapshot_files(home()))
    items: list[ItemRecord] = []
    for unit, value in _finished_units(variant).items():
        items.extend(snapshots.read(value.snapshots[unit][final.name], final.name, record=final.record).values())
    if not items:
        expect_no_release(f"The rows of {variant!r}", variant)
        made = ", ".join(filter(_finished_units, variants()))
        another = f", or name with --variant what is finished: {made}" if made else ""
        raise Problem(f"Nothing of {variant!r} is finished yet; make it with: amemgym generate {variant}{another}")
    return items


def expect_no_release(missing: str, variant: str) -> None:
    """Raise Problem where the variant has a release, though what it was made of is `missing`: removed, or begun anew."""
    release = find_release(open_release_store(home()), variant)
    if release is not None:
        again = f"make them again from stored replies with: amemgym generate {variant}"
        raise Problem(f"{missing} are not here, though a release is, in {release}; {again}")


def _finished_units(variant: str) -> dict[str, Provenance]:
    """Return what the last stage made of each work unit that it finished."""
    benchmark = entry_of(load_recipe(variant)).benchmark
    values = open_asset_values(home())
    finished: dict[str, Provenance] = {}
    for unit in benchmark.partitions.units[variant]:
        value = values.find(benchmark.final.name, unit)
        if isinstance(value, Provenance):
            finished[unit] = value
    return finished


def print_item(item: str, *, variant: str, brief: bool = False) -> None:
    """Print one item's story; `brief` prints only the beginning."""
    entry = entry_of(load_recipe(variant))
    found = choose_item(item, finished_items(variant), noun=entry.benchmark.noun)
    if not entry.print_item:
        raise Problem(f"{variant!r} has no story to print; its rows are Parquet files below {snapshot_files(home()).address}.")
    # Panels fill the width, and longer lines are hard to read.
    resolve_name(entry.print_item)(TextConsole(width=min(stdout_console().width, 120)), found, brief=brief)


def choose_item(wanted: str, items: Sequence[ItemRecord], *, noun: str) -> ItemRecord:
    """Return the item with this number, name or id. Raises Problem, which lists the items, if there is none."""
    names: list[str] = []
    for number, item in enumerate(items, start=1):
        if wanted in (str(number), item.item_id) or wanted.casefold() == item.display_name.casefold():
            return item
        names.append(f"{number} {item.display_name}")
    raise Problem(f"There is no {noun} {wanted!r}; there are {nearest_first(wanted, names)}.")
