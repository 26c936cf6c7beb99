"""Partitions: one dimension. `recipe`, report and release are keyed by variant, the stages by work unit."""

import warnings

import dagster as dg

from assets.recipe.loading import Unit, load_recipe, units, variants

# Asset checks by partition are a preview feature of Dagster, whose exact version is pinned for that reason.
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

# Runs that ask a model. The pool's limit is how many of them go on at once; each keeps to the whole of AMEMGYM_MAX_IN_FLIGHT.
MODEL_POOL = "model"


def _units_by_variant() -> dict[str, list[str]]:
    return {variant: [unit.key for unit in units(load_recipe(variant))] for variant in variants()}


UNITS = _units_by_variant()
VARIANT_PARTITIONS = dg.StaticPartitionsDefinition(list(UNITS))
UNIT_PARTITIONS = dg.StaticPartitionsDefinition([key for keys in UNITS.values() for key in keys])
SHARDED = list(UNITS) != [key for keys in UNITS.values() for key in keys]


def by_variant() -> dg.StaticPartitionMapping | dg.IdentityPartitionMapping:
    """How a variant's partition feeds, or is fed by, its units' partitions."""
    if not SHARDED:
        return dg.IdentityPartitionMapping()
    return dg.StaticPartitionMapping(dict(UNITS))


def by_unit() -> dg.StaticPartitionMapping | dg.IdentityPartitionMapping:
    """How units' partitions feed their variant's."""
    if not SHARDED:
        return dg.IdentityPartitionMapping()
    return dg.StaticPartitionMapping({key: variant for variant, keys in UNITS.items() for key in keys})


def variant_of(unit_key: str) -> str:
    """The variant a unit's partition belongs to."""
    return next(variant for variant, keys in UNITS.items() if unit_key in keys)


def unit_of(key: str, *, among: tuple[Unit, ...]) -> Unit:
    """The work unit of a partition, by the resolved recipe. An override may leave a partition without users."""
    found = [unit for unit in among if unit.key == key]
    return found[0] if found else Unit(key, variant_of(key), range(0), range(0))


def which_partition(asset: str) -> str:
    """The sentence for a run without partition, which the page starts at `Execute all` beside an asset's checks."""
    return (
        f"This run has no partition, so it is not told which {asset} to look at; materialize {asset} for a partition, which "
        "runs its checks as well, and makes nothing anew that is finished."
    )
