"""What recipes of benchmarks of documents share: how many tasks, sizes of chains, lengths, turns, tellings, ablation."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from assets.memory_items.ablation import AblationPolicy
from assets.memory_items.documents import Eviction
from assets.recipe.recipe import MOST_ITEMS, Recipe
from assets.records.base import unit

MOST_HOPS = 6
LEAST_TOKENS_PER_HOP = 1200  # of the documents that tell a hop and its siblings


class DocumentTaskRecipe(Recipe):
    """All parameters that any benchmark of questions over documents has."""

    decide_no_row: ClassVar[Mapping[str, Any]] = Recipe.decide_no_row
    decide_which_items: ClassVar[frozenset[str]] = Recipe.decide_which_items | {"num_tasks", "tasks_per_unit"}
    decide_the_report: ClassVar[frozenset[str]] = frozenset({"max_auroc"})

    num_tasks: int = Field(
        default=100,
        ge=1,
        le=MOST_ITEMS,
        description="questions in the variant, each with its documents",
        json_schema_extra=unit("tasks"),
    )
    tasks_per_unit: int | None = Field(
        default=None, ge=1, description="size of the work units that the variant is split into", json_schema_extra=unit("tasks")
    )
    min_hops: int = Field(
        default=3, ge=1, le=MOST_HOPS, description="facts of a chain at least", json_schema_extra=unit("facts")
    )
    max_hops: int = Field(
        default=5, ge=1, le=MOST_HOPS, description="facts of a chain at most", json_schema_extra=unit("facts")
    )
    lengths: tuple[int, ...] = Field(default=(10_000, 50_000), description="what a memory receives of a task, at each length")
    length_tolerance: float = Field(default=0.05, gt=0, le=0.2, description="share by which a length may differ")
    num_quiet_turns: int = Field(
        default=2, ge=1, le=20, description="turns without a fact of the chain", json_schema_extra=unit("turns")
    )
    num_styles: int = Field(
        default=4, ge=1, le=1000, description="sets of tellings; tasks of one set share them", json_schema_extra=unit("sets")
    )
    num_tellings: int = Field(
        default=5, ge=1, le=20, description="ways to tell each kind of document, in a set", json_schema_extra=unit("tellings")
    )
    eviction: Eviction = Eviction()
    ablation: AblationPolicy = AblationPolicy()
    max_auroc: float = Field(
        default=0.6,
        ge=0.5,
        le=1,
        description="how well a bag of words may tell support from filler, as the area under its curve",
    )

    @model_validator(mode="after")
    def sizes_are_possible(self) -> Self:
        if self.min_hops > self.max_hops:
            raise ValueError(f"min_hops is {self.min_hops}, but max_hops is only {self.max_hops}.")
        if not self.lengths or list(self.lengths) != sorted(set(self.lengths)):
            raise ValueError(f"lengths is {list(self.lengths)}; give different lengths, the shortest first.")
        return self

    @model_validator(mode="after")
    def an_invented_world_fits(self) -> Self:
        if self.told_from == "world" and self.language != "en":
            raise ValueError(f"language is {self.language}, but the invented world is told in English; set language en.")
        least = self.max_hops * LEAST_TOKENS_PER_HOP
        if self.told_from == "world" and self.lengths[0] < least:
            raise ValueError(
                f"lengths begins with {self.lengths[0]}, but the documents of {self.max_hops} hops take up to {least} tokens; "
                "give a greater length or fewer hops."
            )
        return self

    @property
    def told_from(self) -> str:
        """`world` where documents are told of an invented one, else what real documents are."""
        return "world"

    @property
    def num_items(self) -> int:
        return self.num_tasks

    @property
    def items_per_unit(self) -> int | None:
        return self.tasks_per_unit
