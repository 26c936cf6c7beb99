"""The recipes of code questions and session questions: the packages, how these are called, and what questions take."""

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from assets.recipe.document_tasks import DocumentTaskRecipe, Operation
from assets.records.base import Name, Record, quantity
from assets.records.paths import OwnPath
from assets.records.public_names import file_name

MOST_FACTS = 3


class PackageSpec(Record):
    """A package that a recipe pins: one that is installed in this version, or the sdist, wheel or folder at `path`."""

    name: Name = Field(description="the distribution's name, as in a requirements file")
    version: Name = Field(description="the version that the recipe is about")
    license: str = Field(default="", description="SPDX expression, for a package that does not say its license")
    path: OwnPath = Field(default="", description="an sdist, a wheel or a folder; empty for the package that is installed")
    archive_sha256: str = Field(default="", description="sha256 of the sdist or wheel at path")
    modules: tuple[Name, ...] = Field(default=(), description="modules that questions may be about; empty for all")
    content: str = Field(default="", description="digest of the files, filled in when the recipe is resolved")

    @model_validator(mode="after")
    def digest_is_of_an_archive(self) -> "PackageSpec":
        if self.archive_sha256 and not self.path:
            raise ValueError(f"packages gives archive_sha256 for {self.name} without a path; give both or none.")
        return self


class SandboxLimits(Record):
    """Limits at which a call is ended. Importing the package may take ten times as long."""

    seconds: float = quantity(2.0, "seconds", gt=0, le=60, description="time of one call")
    memory_mb: int = quantity(256, "MiB", ge=64, le=4096, description="address space beside the interpreter's")
    lines: int = quantity(200_000, "lines", ge=1000, description="lines of Python that one call may run")


class BehaviourPolicy(Record):
    """The number of functions of a package that are called, how often, and what of it is kept."""

    num_targets: int = quantity(40, "functions", ge=1, le=200, description="functions that are called")
    calls_per_target: int = quantity(8, "calls", ge=1, le=50, description="behaviours of one function at most")
    min_behaviours: int = quantity(20, "behaviours", ge=1, description="behaviours that a question needs to choose from")
    near_misses: int = Field(default=4, ge=1, le=10, description="results of changed functions that are kept of a call at most")
    max_call_characters: int = Field(default=80, ge=20, le=500, description="length of a call as it is written")
    max_result_characters: int = Field(default=40, ge=5, le=500, description="length of a result as it is written")
    limits: SandboxLimits = SandboxLimits()


class PackageRecipe(DocumentTaskRecipe):
    """All parameters of a benchmark around pinned packages."""

    decide_no_row: ClassVar[Mapping[str, Any]] = {**DocumentTaskRecipe.decide_no_row, "packages": {"__all__": {"path"}}}

    packages: tuple[PackageSpec, ...] = Field(
        default=(), description="the packages that questions are about, pinned; questions are spread over them evenly"
    )
    behaviours: BehaviourPolicy = BehaviourPolicy()

    @model_validator(mode="after")
    def packages_are_given(self) -> Self:
        if not self.packages:
            raise ValueError("packages is empty; name at least one package with its version.")
        return self

    @property
    def source_digest(self) -> str:
        contents = [package.content for package in self.packages]
        return hashlib.sha256("\n".join(contents).encode()).hexdigest() if all(contents) else ""

    def without_paths(self) -> Self:
        packages: list[PackageSpec] = []
        for package in self.packages:
            path = file_name(package.path) if package.path else ""
            packages.append(package.model_copy(update={"path": path}))
        return self.model_copy(update={"packages": tuple(packages)})


class CodeQaRecipe(PackageRecipe):
    """All parameters of a variant of code questions."""

    benchmark: Literal["code_qa"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="code_qa", description="the benchmark that the variant is of"
    )
    min_hops: int = quantity(2, "facts", ge=1, le=MOST_FACTS, description="facts that an answer takes at least")
    max_hops: int = quantity(3, "facts", ge=1, le=MOST_FACTS, description="facts that an answer takes at most")
    max_code_tokens: int = quantity(
        600, "tokens", ge=100, description="length of the code that is shown with a question, at most"
    )

    def operations_of(self, hops: int) -> list[Operation]:
        """Half of the questions follow a chain, of which there are six kinds; one fact cannot be compared."""
        comparing: list[Operation] = ["follow", "which_of_two"] if self.min_hops > 1 else []
        return ["follow", "follow", "since_when", "still_so", *comparing]


class SessionQuestionsRecipe(PackageRecipe):
    """All parameters of a variant of session questions. The packages and their calls are as in code questions."""

    benchmark: Literal["session_questions"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="session_questions", description="the benchmark that the variant is of"
    )
    min_hops: int = quantity(2, "facts", ge=1, le=2, description="facts that an answer takes at least")
    max_hops: int = quantity(2, "facts", ge=1, le=2, description="facts that an answer takes at most")

    def operations_of(self, hops: int) -> list[Operation]:
        return ["decision", "failed_path", "convention", "still_so"]
