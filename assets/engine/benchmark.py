"""A benchmark as one value: its recipe, its stages and the tables of its releases."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from assets.engine.stage import Stage
from assets.recipe.recipe import Recipe, RecipeError
from assets.recipe.registry import RECIPE_TYPES
from assets.records.base import Record
from assets.records.flat_tables import Table, rows_of_tables
from assets.records.problems import nearest_first

if TYPE_CHECKING:
    from assets.recipe.partitions import Partitions

# Of every benchmark, besides its stages.
COMMON_ASSETS = ("recipe_file", "recipe", "quality_report", "dataset_card", "release", "hub_release", "evaluation")


def unchanged_recipe(recipe: Recipe) -> Recipe:
    """The recipe of a benchmark whose files leave nothing open."""
    return recipe


@dataclass(frozen=True)
class Benchmark:
    """A benchmark. The assets of its stages, checks, report, release, stage names of the command line and stored types follow.

    `noun`: what one item is called in messages, in the singular. `stages` may be given in any order and are sorted by what
    they need; one of them draws the items, and the record of the last one is a finished item. `report` names the record of
    its quality report, which is imported where a report is read. `prefix` begins the names of assets that every benchmark
    has, such as `recipe`. `resolve` settles what a recipe file leaves open, such as the digest of what the items are drawn
    from, and may raise RecipeError. Partitions follow from the recipe files of this benchmark, or from `units_by_variant`.
    """

    name: str
    noun: str
    recipe: type[Recipe]
    stages: tuple[Stage[Any], ...]
    tables: Mapping[str, Table] = field(default_factory=dict[str, Table])
    report: str = "assets.records.report:MinimalReport"
    prefix: str = ""
    resolve: Callable[[Any], Recipe] = unchanged_recipe
    units_by_variant: Mapping[str, Sequence[str]] | None = None

    def __post_init__(self) -> None:
        # The class is frozen, and nobody has seen this value yet.
        object.__setattr__(self, "stages", sorted_by_needs(self.stages))
        drawing = [stage.name for stage in self.stages if stage.draw]
        if drawing != [self.stages[0].name]:
            raise ValueError(f"One stage of {self.name!r} draws the items and needs no other; these draw: {drawing}.")
        if RECIPE_TYPES.setdefault(self.name, self.recipe) is not self.recipe:
            raise ValueError(f"Recipes of {self.name!r} are read as {RECIPE_TYPES[self.name].__name__} already.")

    @cached_property
    def partitions(self) -> "Partitions":
        """The benchmark's partitions in Dagster: its variants and their work units."""
        # Dagster takes most of a second to import, which somebody who reads or evaluates releases does not need.
        from assets.recipe.partitions import Partitions, partitions_of

        return partitions_of(self.name) if self.units_by_variant is None else Partitions(self.units_by_variant)

    @cached_property
    def report_record(self) -> type[Record]:
        """The record of its quality report."""
        return resolve_name(self.report)

    @property
    def source(self) -> Stage[Any]:
        """The stage that draws the items."""
        return self.stages[0]

    @property
    def final(self) -> Stage[Any]:
        """The stage whose records are the finished items."""
        return self.stages[-1]

    @property
    def leaves(self) -> tuple[Stage[Any], ...]:
        """The stages that no other stage needs; what they were made from is everything."""
        needed: set[str] = set()
        for stage in self.stages:
            needed.update(stage.ancestors)
        return tuple(stage for stage in self.stages if stage.name not in needed)

    def rows(self, item: Record) -> dict[str, Sequence[Record]]:
        """Return a finished item's rows in every table that follows from items."""
        return rows_of_tables(self.tables, item)

    @property
    def stage_names(self) -> tuple[str, ...]:
        return tuple(stage.name for stage in self.stages)

    @property
    def asking_stages(self) -> tuple[str, ...]:
        """Names of the stages that ask a model, in order."""
        return tuple(stage.name for stage in self.stages if stage.prompts)

    def check_stages_asked_again(self, recipe: Recipe) -> None:
        """Raise RecipeError where `again` names a stage that asks no model."""
        for item, stages in recipe.again.items():
            for name in stages:
                if name not in self.asking_stages:
                    known = nearest_first(name, self.asking_stages)
                    raise RecipeError(f"again.{item} names {name!r}, which is no stage that asks a model; there are {known}.")

    def stage(self, name: str) -> Stage[Any]:
        """The stage of this name. Raises LookupError, naming those there are."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise LookupError(f"{self.name} has no stage {name!r}; there are {', '.join(self.stage_names)}.")

    def key(self, name: str) -> str:
        """The name of an asset, or of a job, that every benchmark has."""
        return self.prefix + name

    def asset_key(self, name: str) -> list[str]:
        """Return the key in Dagster of a stage's asset, or of one that every benchmark has. It begins with this name."""
        return [self.name, self.key(name) if name in COMMON_ASSETS else name]

    def asset_path(self, name: str) -> str:
        """Return an asset's key as Dagster writes it."""
        return "/".join(self.asset_key(name))

    def op(self, name: str) -> str:
        """Return what Dagster calls an asset in a run's config and among its steps."""
        return "__".join(self.asset_key(name))

    def has_asset(self, name: str) -> bool:
        """Return whether a stage or an asset that every benchmark has is called so."""
        return name in self.stage_names or name in map(self.key, COMMON_ASSETS)

    @property
    def group_names(self) -> tuple[str, ...]:
        """The groups of its assets, in the order in which data passes them."""
        groups = [stage.description.group for stage in self.stages]
        return tuple(dict.fromkeys([*groups, "release"]))

    def group(self, name: str) -> str:
        """The group's name in Dagster, which sorts groups by name: numbered in the order in which data passes them."""
        return f"{self.prefix}{self.group_names.index(name) + 1}_{name}"


def sorted_by_needs(stages: Sequence[Stage[Any]]) -> tuple[Stage[Any], ...]:
    """The stages, each after those that it needs, else in the order given. Raises ValueError for a list that has a gap."""
    names = [stage.name for stage in stages]
    if len(set(names)) < len(names):
        raise ValueError(f"A stage is listed twice: {', '.join(names)}.")
    missing: set[str] = set()
    for stage in stages:
        missing.update(f"{need.name} (for {stage.name})" for need in stage.needs if need.name not in names)
    if missing:
        raise ValueError(f"Needed stages are not listed: {', '.join(sorted(missing))}.")
    # `needs` holds stages that were there before, so that there are no circles.
    ordered: dict[str, Stage[Any]] = {}
    while len(ordered) < len(stages):
        for stage in stages:
            if stage.name not in ordered and ordered.keys() >= {need.name for need in stage.needs}:
                ordered[stage.name] = stage
                break  # from the first on, so that the order given stays where needs leave it open
    return tuple(ordered.values())
