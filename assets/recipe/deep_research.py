"""The recipe of deep research: chains of several hops, and where documents are from."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from assets.recipe.document_tasks import FEWEST_FACTS, MOST_HOPS, AskedOperation, DocumentTaskRecipe, Operation
from assets.records.base import Record, quantity
from assets.records.paths import OwnPath
from assets.records.public_names import file_name


class SourceSpec(Record):
    """The source of documents: an invented world, or files of real ones, whose names are replaced by invented ones."""

    kind: Literal["world", "documents"] = Field(default="world", description="world: invented; documents: real ones from paths")
    paths: tuple[OwnPath, ...] = Field(
        default=(), description="folders, HTML, Markdown, text or Parquet files, or package:NAME==VERSION"
    )
    license: str = Field(default="", description="the documents' license, where they do not bring their own")
    attribution: str = Field(default="", description="the documents' source, as the card names it")
    rename: bool = Field(default=True, description="whether names of real documents are replaced by invented ones")
    content: str = Field(default="", description="digest of the documents, filled in when the recipe is resolved")

    @model_validator(mode="after")
    def documents_have_paths(self) -> Self:
        if (self.kind == "documents") != bool(self.paths):
            raise ValueError("source.paths names the documents: give them with source.kind documents, and only there.")
        return self


class DeepResearchRecipe(DocumentTaskRecipe):
    """All parameters of a variant of deep research."""

    decide_no_row: ClassVar[Mapping[str, Any]] = {**DocumentTaskRecipe.decide_no_row, "source": {"paths", "attribution"}}

    benchmark: Literal["deep_research"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="deep_research", description="the benchmark that the variant is of"
    )
    min_hops: int = quantity(3, "facts", ge=2, le=MOST_HOPS, description="facts of a chain at least")
    max_hops: int = quantity(5, "facts", ge=2, le=MOST_HOPS, description="facts of a chain at most")
    operations: tuple[AskedOperation, ...] = Field(
        default=get_args(AskedOperation),
        description="what questions ask of facts of an invented world, in equal numbers: follow a chain, sum, difference, "
        "order, count, most, weigh",
    )
    source: SourceSpec = SourceSpec()

    @model_validator(mode="after")
    def every_size_has_an_operation(self) -> Self:
        if not self.operations_of(self.min_hops):
            raise ValueError(
                f"operations is {list(self.operations)}, but none of them takes {self.min_hops} facts, which min_hops allows; "
                "add follow, or raise min_hops."
            )
        return self

    def operations_of(self, hops: int) -> list[Operation]:
        if self.source.kind == "documents":
            return super().operations_of(hops)
        return [operation for operation in dict.fromkeys(self.operations) if FEWEST_FACTS[operation] <= hops]

    @property
    def source_kind(self) -> str:
        return self.source.kind

    @property
    def source_digest(self) -> str:
        return self.source.content

    def without_paths(self) -> Self:
        source = self.source.model_copy(update={"paths": tuple(map(file_name, self.source.paths))})
        return self.model_copy(update={"source": source})
