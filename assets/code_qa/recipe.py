"""The recipe of code questions: which packages they are about, how these are called, and what questions take."""

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from assets.code_qa.records.behaviours import BehaviourPolicy
from assets.code_qa.records.sources import PackageSpec
from assets.memory_items.recipe import DocumentTaskRecipe
from assets.recipe.public_names import file_name
from assets.records.base import unit

MOST_FACTS = 3


class CodeQaRecipe(DocumentTaskRecipe):
    """All parameters of a variant of code questions."""

    decide_no_row: ClassVar[Mapping[str, Any]] = {**DocumentTaskRecipe.decide_no_row, "packages": {"__all__": {"path"}}}

    benchmark: Literal["code_qa"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="code_qa", description="the benchmark that the variant is of"
    )
    min_hops: int = Field(
        default=1, ge=1, le=MOST_FACTS, description="facts that an answer takes at least", json_schema_extra=unit("facts")
    )
    max_hops: int = Field(
        default=3, ge=1, le=MOST_FACTS, description="facts that an answer takes at most", json_schema_extra=unit("facts")
    )
    packages: tuple[PackageSpec, ...] = Field(
        default=(), description="the packages that questions are about, pinned; questions are spread over them evenly"
    )
    behaviours: BehaviourPolicy = BehaviourPolicy()
    max_code_tokens: int = Field(
        default=600,
        ge=100,
        description="length of the code that is shown with a question, at most",
        json_schema_extra=unit("tokens"),
    )

    @model_validator(mode="after")
    def packages_are_given(self) -> Self:
        if not self.packages:
            raise ValueError("packages is empty; name at least one package with its version.")
        return self

    @property
    def source_digest(self) -> str:
        contents = [one.content for one in self.packages]
        return hashlib.sha256("\n".join(contents).encode()).hexdigest() if all(contents) else ""

    def without_paths(self) -> Self:
        packages = tuple(one.model_copy(update={"path": file_name(one.path) if one.path else ""}) for one in self.packages)
        return self.model_copy(update={"packages": packages})
