"""The recipe that rows were made under, and the snapshots of everything they were made from.

It is the value of every stage's asset. So a stage is given its direct predecessors alone, reads the recipe from them, and
cannot mix rows of two recipes.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Annotated, Any, Self, cast

import dagster as dg
from pydantic import BeforeValidator, Field, JsonValue, SerializeAsAny

from assets.engine.ports import SnapshotRef
from assets.recipe.loading import build_recipe, dotted_fields
from assets.recipe.recipe import Recipe
from assets.records.base import Record
from assets.reporting.plurals import counted
from assets.text.words import shorten

SHOWN = 3  # differences that a sentence names; the others are counted
# Metadata of an input that is given the values of all its partitions, by partition.
MANY = {"many": True}


def read_recipe(value: object) -> object:
    """A stored recipe as the record of its benchmark."""
    return build_recipe(cast(dict[str, object], value)) if isinstance(value, dict) else value


AnyRecipe = Annotated[SerializeAsAny[Recipe], BeforeValidator(read_recipe)]


class ResolvedRecipe(Record):
    """The value of the asset `recipe`. `overrides`: what was laid over the recipe's file, by dotted field."""

    recipe: AnyRecipe
    overrides: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class MixedProvenance(ValueError):
    """Things that were made from different recipes or rows; the message names both and says what to materialize."""


class Provenance(Record):
    """`snapshots` maps work unit to stage to snapshot, in the order in which they were made."""

    recipe: AnyRecipe
    snapshots: dict[str, dict[str, SnapshotRef]]

    def stage(self, name: str) -> dict[str, SnapshotRef]:
        """The snapshots of one stage by work unit."""
        return self.by_stage.get(name, {})

    @property
    def by_stage(self) -> dict[str, dict[str, SnapshotRef]]:
        """The snapshots by stage, then by work unit."""
        found: dict[str, dict[str, SnapshotRef]] = {}
        for unit, stages in self.snapshots.items():
            for name, ref in stages.items():
                found.setdefault(name, {})[unit] = ref
        return found

    def followed_by(self, ref: SnapshotRef) -> Self:
        """Return the provenance of a snapshot that was made from this."""
        unit = {**self.snapshots.get(ref.unit, {}), ref.stage: ref}
        return self.model_copy(update={"snapshots": {**self.snapshots, ref.unit: unit}})


class ReportValue(Record):
    """The value of a quality report's asset: the benchmark's record of its report, and what it is about."""

    provenance: Provenance
    report: Any


def is_report_of(value: object, recipe: Recipe) -> bool:
    """Return True for the report on rows of this very recipe, so that all of them are finished."""
    return isinstance(value, ReportValue) and value.provenance.recipe.fingerprint == recipe.fingerprint


# The type of what an asset was made from. An input of another type is given the rows themselves. The names are their own,
# because Dagster names the type of an annotation after its class, and takes no name for two types.
PROVENANCE = dg.PythonObjectDagsterType(Provenance, name="ProvenanceOfRows")
REPORT_VALUE = dg.PythonObjectDagsterType(ReportValue, name="ReportWithProvenance")


def combine_parts(parts: Mapping[str, Provenance]) -> Provenance:
    """Return the provenance of what is made from all of these, by name. Raises MixedProvenance where two do not fit."""
    (first, start), *others = parts.items()
    snapshots = {unit: dict(stages) for unit, stages in start.snapshots.items()}
    for name, part in others:
        if part.recipe.fingerprint != start.recipe.fingerprint:
            raise MixedProvenance(
                f"{first} and {name} of {start.recipe.variant!r} were made under different recipes, {first} with "
                f"{difference(start.recipe, part.recipe)}; materialize {start.recipe.variant!r} from its first stage on, "
                "what is finished costs nothing."
            )
        for ref in chain.from_iterable(stages.values() for stages in part.snapshots.values()):
            known = snapshots.setdefault(ref.unit, {}).setdefault(ref.stage, ref)
            if known.digest != ref.digest:
                raise MixedProvenance(
                    f"{first} and {name} of {ref.unit!r} were made from different {ref.stage} ({known.digest[:8]} and "
                    f"{ref.digest[:8]}); materialize everything below {ref.stage}, what is finished costs nothing."
                )
    provenance = start.model_copy(update={"snapshots": snapshots})
    for stage, refs in provenance.by_stage.items():
        first_ref, *rest = refs.values()
        for ref in rest:
            if ref.code_version != first_ref.code_version:
                raise MixedProvenance(
                    f"{stage} of {first_ref.unit!r} and of {ref.unit!r} were made by different versions of its code or "
                    f"prompts; materialize {stage} and everything below it for the older of them."
                )
    return provenance


def difference(recipe: Recipe, other: Recipe) -> str:
    """Return the first fields in which two recipes differ, as "seed 1 instead of 77"."""
    left_out = {**recipe.decide_no_row}
    mine = dotted_fields(recipe.model_dump(mode="json", exclude=left_out))
    theirs = dotted_fields(other.model_dump(mode="json", exclude=left_out))
    found: list[str] = []
    for name in dict.fromkeys((*mine, *theirs)):
        if mine.get(name) != theirs.get(name):
            found.append(f"{name} {_shorten(mine.get(name))} instead of {_shorten(theirs.get(name))}")
    more = f" and {counted(len(found) - SHOWN, 'more difference')}" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


def _shorten(value: object) -> str:
    return "nothing" if value in ("", None, (), [], {}) else shorten(str(value), 40)
