"""Where rows come from: the recipe they were made under, and the snapshots of everything they were made from.

It is the value of every stage's asset. So a stage is given its direct predecessors alone, reads the recipe from them, and
cannot mix rows of two recipes.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self, cast

import dagster as dg
from pydantic import BeforeValidator, Field, JsonValue, SerializeAsAny

from assets.engine.ports import SnapshotRef
from assets.recipe.loading import build_recipe, dotted
from assets.recipe.recipe import Recipe
from assets.records.base import Record
from assets.reporting.plurals import counted

SHOWN = 3
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
        return {unit: stages[name] for unit, stages in self.snapshots.items() if name in stages}

    @property
    def by_stage(self) -> dict[str, dict[str, SnapshotRef]]:
        """Stage to work unit to snapshot."""
        return {name: self.stage(name) for name in dict.fromkeys(name for stages in self.snapshots.values() for name in stages)}

    def followed_by(self, ref: SnapshotRef) -> Self:
        """The provenance of what was made from this."""
        unit = {**self.snapshots.get(ref.unit, {}), ref.stage: ref}
        return self.model_copy(update={"snapshots": {**self.snapshots, ref.unit: unit}})


class ReportValue(Record):
    """The value of a quality report's asset: the benchmark's record of its report, and what it is about."""

    provenance: Provenance
    report: Any


# The type of an input that is given what an asset was made from; an input of another type is given the rows themselves.
PROVENANCE = dg.PythonObjectDagsterType(Provenance)
REPORT_VALUE = dg.PythonObjectDagsterType(ReportValue)


def combined(parts: Mapping[str, Provenance]) -> Provenance:
    """What is made from all of these, by the name of each. Raises MixedProvenance where two do not belong together."""
    (first, start), *others = parts.items()
    snapshots = {unit: dict(stages) for unit, stages in start.snapshots.items()}
    for name, part in others:
        if part.recipe.fingerprint != start.recipe.fingerprint:
            raise MixedProvenance(
                f"{first} and {name} of {start.recipe.variant!r} were made under different recipes, {first} with "
                f"{difference(start.recipe, part.recipe)}; materialize {start.recipe.variant!r} from its first stage on, "
                "what is finished costs nothing."
            )
        for ref in (ref for stages in part.snapshots.values() for ref in stages.values()):
            known = snapshots.setdefault(ref.unit, {}).setdefault(ref.stage, ref)
            if known.digest != ref.digest:
                raise MixedProvenance(
                    f"{first} and {name} of {ref.unit!r} were made from different {ref.stage} ({known.digest[:8]} and "
                    f"{ref.digest[:8]}); materialize everything below {ref.stage}, what is finished costs nothing."
                )
    provenance = start.model_copy(update={"snapshots": snapshots})
    for stage, refs in provenance.by_stage.items():
        one, *rest = refs.values()
        for ref in rest:
            if ref.code_version != one.code_version:
                raise MixedProvenance(
                    f"{stage} of {one.unit!r} and of {ref.unit!r} were made by different versions of its code or prompts; "
                    f"materialize {stage} and everything below it for the older of them."
                )
    return provenance


def difference(one: Recipe, other: Recipe) -> str:
    """The first fields in which two recipes differ, as "seed 1 instead of 77"."""
    found = [f"{name} {_short(mine)} instead of {_short(theirs)}" for name, mine, theirs in _differing(one, other)]
    return ", ".join(found[:SHOWN]) + (f" and {counted(len(found) - SHOWN, 'more difference')}" if len(found) > SHOWN else "")


def _short(value: object) -> str:
    text = "nothing" if value in ("", None, (), [], {}) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _differing(one: Recipe, other: Recipe) -> Iterator[tuple[str, object, object]]:
    left_out = one.decide_no_row
    mine, theirs = (dotted(recipe.model_dump(mode="json", exclude={**left_out})) for recipe in (one, other))
    for name in dict.fromkeys((*mine, *theirs)):
        if mine.get(name) != theirs.get(name):
            yield name, mine.get(name), theirs.get(name)
