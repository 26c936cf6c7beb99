"""The jobs. Where a recipe is split into work units, a variant takes one run per phase and unit."""

from typing import Any

import dagster as dg

from assets.amemgym.pipeline import AMEMGYM
from assets.recipe.partitions import SHARDED, UNIT_PARTITIONS, VARIANT_PARTITIONS

SAMPLING = ("recipe",)
GENERATION = AMEMGYM.stage_names
REPORT = ("quality_report",)
RELEASE = ("dataset_card", "release")


def _job(name: str, assets: tuple[str, ...], partitions: dg.StaticPartitionsDefinition, *, description: str) -> Any:
    return dg.define_asset_job(name, selection=list(assets), partitions_def=partitions, description=description)  # pyright: ignore[reportUnknownMemberType]


PHASES = (
    _job("resolve_recipe", SAMPLING, VARIANT_PARTITIONS, description="Resolve a variant's recipe."),
    _job("generate_unit", GENERATION, UNIT_PARTITIONS, description="Make one work unit's users, from personas to episodes."),
    _job(
        "make_release",
        (*REPORT, *RELEASE),
        VARIANT_PARTITIONS,
        description="Report on a finished variant and freeze it into a release.",
    ),
)
# Where a variant is one work unit, it takes one run.
WHOLE = (
    _job(
        "generate",
        (*SAMPLING, *GENERATION, *REPORT),
        VARIANT_PARTITIONS,
        description="Make a variant's users and report on them; nothing is released.",
    ),
    _job(
        "generate_and_release",
        (*SAMPLING, *GENERATION, *REPORT, *RELEASE),
        VARIANT_PARTITIONS,
        description="The whole chain, from the recipe to a release on disk.",
    ),
)
FREEZE = _job(
    "freeze_release",
    RELEASE,
    VARIANT_PARTITIONS,
    description="Freeze a variant whose report is there into a release; `release_when_the_report_passes` asks for this job.",
)
PUBLISH = _job(
    "publish", ("hub_release",), VARIANT_PARTITIONS, description="Bring a variant's release from the disk to the Hub."
)
EVALUATE = _job(
    "evaluate", ("evaluation",), VARIANT_PARTITIONS, description="Evaluate memory assistants on a variant's release."
)
JOBS = (*PHASES, *(() if SHARDED else WHOLE), FREEZE, PUBLISH, EVALUATE)
