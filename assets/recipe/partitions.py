"""Partitions: one dimension. `recipe`, report and release are keyed by variant, the stages by work unit."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import dagster as dg

from assets.recipe.loading import load_recipe, variants
from assets.recipe.recipe import Recipe, RecipeError, Unit, units

# Asset checks by partition are a preview feature of Dagster, whose exact version is pinned for that reason.
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

LOG = logging.getLogger(__name__)
# Runs that ask a model. The pool's limit is how many of them go on at once; each keeps to the whole of AMEMGYM_MAX_IN_FLIGHT.
MODEL_POOL = "model"
# As Dagster tags a run of one partition.
PARTITION_TAG = "dagster/partition"
# Of every asset: the benchmark whose partitions it has; "all" of the one that has those of every benchmark.
BENCHMARK_TAG = "benchmark"


@dataclass(frozen=True)
class Partitions:
    """The partitions of one benchmark: the keys of its work units, by variant."""

    units: Mapping[str, Sequence[str]]

    @property
    def is_sharded(self) -> bool:
        """True where a variant is split into several work units, or its one unit has another name."""
        return any(list(keys) != [variant] for variant, keys in self.units.items())

    @cached_property
    def by_variant(self) -> dg.StaticPartitionsDefinition:
        """One partition for each variant, under its name."""
        return dg.StaticPartitionsDefinition(list(self.units))

    @cached_property
    def by_unit(self) -> dg.StaticPartitionsDefinition:
        """One partition for each work unit of each variant."""
        return dg.StaticPartitionsDefinition(list(self.variant_by_unit))

    @cached_property
    def variant_by_unit(self) -> dict[str, str]:
        """The variant that each work unit belongs to."""
        found: dict[str, str] = {}
        for variant, keys in self.units.items():
            found.update(dict.fromkeys(keys, variant))
        return found

    @property
    def variant_to_units(self) -> dg.StaticPartitionMapping | dg.IdentityPartitionMapping:
        """The mapping from a variant's partition to its units' partitions."""
        if not self.is_sharded:
            return dg.IdentityPartitionMapping()
        return dg.StaticPartitionMapping({variant: list(keys) for variant, keys in self.units.items()})

    @property
    def units_to_variant(self) -> dg.StaticPartitionMapping | dg.IdentityPartitionMapping:
        """The mapping from units' partitions to their variant's."""
        if not self.is_sharded:
            return dg.IdentityPartitionMapping()
        return dg.StaticPartitionMapping(self.variant_by_unit)

    def unit(self, key: str, *, among: Sequence[Unit]) -> Unit:
        """The work unit of a partition, by the resolved recipe. An override may leave a partition without items."""
        for unit in among:
            if unit.key == key:
                return unit
        return Unit(key, self.variant_by_unit[key], range(0), range(0))


@lru_cache
def partitions_of(benchmark: str) -> Partitions:
    """The partitions of a benchmark, by the recipes that lie in the folder."""
    keys: dict[str, list[str]] = {}
    for variant, recipe in _readable_recipes().items():
        if recipe.benchmark == benchmark:
            keys[variant] = [unit.key for unit in units(recipe)]
    return Partitions(keys)


@lru_cache
def _readable_recipes() -> dict[str, Recipe]:
    """The recipes in the folder, read once for all benchmarks, so that a bad file is told of once."""
    recipes: dict[str, Recipe] = {}
    for variant in variants():
        # One file that cannot be read must not take the others with it.
        try:
            recipes[variant] = load_recipe(variant)
        except RecipeError as error:
            LOG.warning("%s The variant is left out until its file is corrected.", error)
    return recipes


def missing_partition_message(asset: str) -> str:
    """The sentence for a run without partition, which the page starts at `Execute all` beside an asset's checks."""
    return (
        f"This run has no partition. Materialize {asset} for a partition instead: that runs its checks too, and makes nothing "
        "anew that is finished."
    )
