"""The recipe of session questions: the packages that a team works with, and what is asked of its sessions."""

from typing import Literal

from pydantic import Field

from assets.recipe.code_qa import PackageRecipe
from assets.recipe.document_tasks import Operation
from assets.records.base import quantity


class SessionQuestionsRecipe(PackageRecipe):
    """All parameters of a variant of session questions. The packages and their calls are as in code questions."""

    benchmark: Literal["session_questions"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="session_questions", description="the benchmark that the variant is of"
    )
    min_hops: int = quantity(1, "facts", ge=1, le=1, description="facts that a question starts from: one")
    max_hops: int = quantity(1, "facts", ge=1, le=1, description="facts that a question starts from: one")

    def operations_of(self, hops: int) -> list[Operation]:
        return ["decision", "failed_path", "convention", "still_so"]
