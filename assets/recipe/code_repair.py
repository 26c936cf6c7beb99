"""The recipe of code repairs: the packages that faults are seeded in, and the sessions of the team that settled a rule."""

from typing import Literal

from pydantic import Field

from assets.recipe.code_qa import CodeQaRecipe
from assets.recipe.document_tasks import Operation
from assets.records.base import quantity


class CodeRepairRecipe(CodeQaRecipe):
    """All parameters of a variant of code repairs. The packages and their calls are as in code questions."""

    benchmark: Literal["code_repair"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="code_repair", description="the benchmark that the variant is of"
    )
    min_hops: int = quantity(1, "facts", ge=1, le=1, description="rules that a repair takes: one")
    max_hops: int = quantity(1, "facts", ge=1, le=1, description="rules that a repair takes: one")

    def operations_of(self, hops: int) -> list[Operation]:
        return ["act"]
