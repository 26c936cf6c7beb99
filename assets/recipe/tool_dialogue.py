"""The recipe of tool dialogues: which companies the agent works for, and how much of a request earlier sessions settled."""

from typing import Literal, Self

from pydantic import Field, model_validator

from assets.recipe.document_tasks import DocumentTaskRecipe, Operation
from assets.records.base import Name, duplicates, quantity

MOST_SETTLED = 4


class ToolDialogueRecipe(DocumentTaskRecipe):
    """All parameters of a variant of tool dialogues."""

    benchmark: Literal["tool_dialogue"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="tool_dialogue", description="the benchmark that the variant is of"
    )
    domains: tuple[Name, ...] = Field(
        default=("repairs", "deliveries", "travel"),
        min_length=1,
        description="the companies that the agent works for, in equal numbers",
    )
    content: str = Field(default="", description="digest of the companies' files, filled in when the recipe is resolved")
    min_hops: int = quantity(2, "facts", ge=1, le=MOST_SETTLED, description="settled matters that a request takes at least")
    max_hops: int = quantity(4, "facts", ge=1, le=MOST_SETTLED, description="settled matters that a request takes at most")

    @model_validator(mode="after")
    def domains_differ(self) -> Self:
        repeated = duplicates(self.domains)
        if repeated:
            raise ValueError(f"domains names {repeated[0]} twice; name each once.")
        return self

    @property
    def source_digest(self) -> str:
        return self.content

    def operations_of(self, hops: int) -> list[Operation]:
        return ["act"]
