"""Partitions: one dimension. `recipe`, report and release are keyed by variant, the stages by work unit."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import dagster as dg

from assets.recipe.loading import RecipeError, Unit, load_recipe, units, variants
from assets.recipe.recipe import Recipe

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
    def sharded(self) -> bool:
        """Whether a variant is split into several work units, or its one unit has another name."""
        return any(list(keys) != [variant] for variant, keys in self.units.items())

    @cached_property
    def by_variant(self) -> dg.StaticPartitionsDefinition:
        """One partition for each variant, under its name."""
        return dg.StaticPartitionsDefinition(list(self.units))

    @cached_property
    def by_unit(self) -> dg.StaticPartitionsDefinition:
        """One partition for each work unit of each variant."""
        return dg.StaticPartitionsDefinition([key for keys in self.units.values() for key in keys])

    @property
    def variant_to_units(self) -> dg.StaticPartitionMapping | dg.IdentityPartitionMapping:
        """How a variant's partition feeds its units' partitions."""
        if not self.sharded:
            return dg.IdentityPartitionMapping()
        return dg.StaticPartitionMapping({variant: list(keys) for variant, keys in self.units.items()})

    @property
    def units_to_variant(self) -> dg.StaticPartitionMapping | dg.IdentityPartitionMapping:
        """How units' partitions feed their variant's."""
        if not self.sharded:
            return dg.IdentityPartitionMapping()
        return dg.StaticPartitionMapping({key: variant for variant, keys in self.units.items() for key in keys})

    def variant_of(self, unit: str) -> str:
        """The variant that a unit's partition belongs to."""
        return next(variant for variant, keys in self.units.items() if unit in keys)

    def unit(self, key: str, *, among: Sequence[Unit]) -> Unit:
        """The work unit of a partition, by the resolved recipe. An override may leave a partition without items."""
        found = [unit for unit in among if unit.key == key]
        return found[0] if found else Unit(key, self.variant_of(key), range(0), range(0))


@lru_cache
def partitions_of(benchmark: str) -> Partitions:
    """The partitions of a benchmark, by the recipes that lie in the folder."""
    return Partitions(
        {
            variant: [unit.key for unit in units(recipe)]
            for variant, recipe in _readable_recipes().items()
            if recipe.benchmark == benchmark
        }
    )


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


def which_partition(asset: str) -> str:
    """The sentence for a run without partition, which the page starts at `Execute all` beside an asset's checks."""
    return (
        f"This run has no partition, so it is not told which {asset} to look at; materialize {asset} for a partition, which "
        "runs its checks as well, and makes nothing anew that is finished."
    )
