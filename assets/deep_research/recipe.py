"""The recipe of deep research: sizes of chains, lengths, eviction, and where documents are from."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from assets.memory_items.ablation import AblationPolicy
from assets.memory_items.documents import Eviction
from assets.recipe.public_names import file_name
from assets.recipe.recipe import Recipe
from assets.records.base import Record, unit

MOST_HOPS = 6
LEAST_TOKENS_PER_HOP = 1200  # of the documents that tell a hop and its siblings


class SourceSpec(Record):
    """Where documents are from: an invented world, or files of real ones, whose names are replaced by invented ones."""

    kind: Literal["world", "documents"] = Field(default="world", description="world: invented; documents: real ones from paths")
    paths: tuple[str, ...] = Field(default=(), description="folders, HTML, Markdown, text or Parquet files")
    license: str = Field(default="", description="the documents' license, where they do not bring their own")
    attribution: str = Field(default="", description="whom the card names as the documents' source")
    rename: bool = Field(default=True, description="whether names of real documents are replaced by invented ones")
    content: str = Field(default="", description="digest of the documents, filled in when the recipe is resolved")

    @model_validator(mode="after")
    def documents_have_paths(self) -> Self:
        if (self.kind == "documents") != bool(self.paths):
            raise ValueError("source.paths names the documents: give them with source.kind documents, and only there.")
        return self


class DeepResearchRecipe(Recipe):
    """All parameters of a variant of deep research."""

    decide_no_row: ClassVar[Mapping[str, Any]] = {**Recipe.decide_no_row, "source": {"paths", "attribution"}}
    decide_which_items: ClassVar[frozenset[str]] = Recipe.decide_which_items | {"num_tasks", "tasks_per_unit"}
    decide_the_report: ClassVar[frozenset[str]] = frozenset({"max_auroc"})

    benchmark: Literal["deep_research"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="deep_research", description="the benchmark that the variant is of"
    )
    num_tasks: int = Field(default=100, ge=1, description="research tasks in the variant", json_schema_extra=unit("tasks"))
    tasks_per_unit: int | None = Field(
        default=None, ge=1, description="size of the work units that the variant is split into", json_schema_extra=unit("tasks")
    )
    min_hops: int = Field(
        default=3, ge=2, le=MOST_HOPS, description="facts of a chain at least", json_schema_extra=unit("facts")
    )
    max_hops: int = Field(
        default=5, ge=2, le=MOST_HOPS, description="facts of a chain at most", json_schema_extra=unit("facts")
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
    source: SourceSpec = SourceSpec()
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
        if self.source.kind == "world" and self.language != "en":
            raise ValueError(f"language is {self.language}, but the invented world is told in English; set language en.")
        least = self.max_hops * LEAST_TOKENS_PER_HOP
        if self.source.kind == "world" and self.lengths[0] < least:
            raise ValueError(
                f"lengths begins with {self.lengths[0]}, but the documents of {self.max_hops} hops take up to {least} tokens; "
                "give a greater length or fewer hops."
            )
        return self

    @property
    def num_items(self) -> int:
        return self.num_tasks

    @property
    def items_per_unit(self) -> int | None:
        return self.tasks_per_unit

    @property
    def source_digest(self) -> str:
        return self.source.content

    def without_paths(self) -> Self:
        source = self.source.model_copy(update={"paths": tuple(file_name(path) for path in self.source.paths)})
        return self.model_copy(update={"source": source})
