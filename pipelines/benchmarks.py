"""All benchmarks that this project makes. What is generated, validated, released and compared follows from this list alone."""

from dataclasses import dataclass
from pathlib import Path

from assets.engine.benchmark import Benchmark
from assets.recipe.recipe import Recipe
from assets.recipe.registry import DEFAULT_BENCHMARK
from dataset_card.amemgym import AMEMGYM_RELEASE
from dataset_card.code_qa import CODE_QA_RELEASE
from dataset_card.deep_research import DEEP_RESEARCH_RELEASE
from dataset_card.release.content import ReleaseFormat
from dataset_card.release.manifest import RECIPE, ManifestError, read_recipe_fields
from validation.amemgym.benchmark import AMEMGYM_VALIDATION
from validation.benchmark import Validation
from validation.code_qa.benchmark import CODE_QA_VALIDATION
from validation.deep_research.benchmark import DEEP_RESEARCH_VALIDATION


@dataclass(frozen=True)
class BenchmarkEntry:
    """What must hold of a benchmark, and what its releases are. One without rules yet is entered as Validation(benchmark)."""

    validation: Validation
    release: ReleaseFormat

    @property
    def benchmark(self) -> Benchmark:
        return self.release.benchmark


BENCHMARKS = (
    BenchmarkEntry(AMEMGYM_VALIDATION, AMEMGYM_RELEASE),
    BenchmarkEntry(DEEP_RESEARCH_VALIDATION, DEEP_RESEARCH_RELEASE),
    BenchmarkEntry(CODE_QA_VALIDATION, CODE_QA_RELEASE),
)


def benchmark_of(recipe: Recipe) -> Benchmark:
    """The benchmark that a recipe is of."""
    return next(entry.benchmark for entry in BENCHMARKS if entry.benchmark.name == recipe.benchmark)


def format_of(folder: Path) -> ReleaseFormat:
    """The format of a release, by its recipe. Raises ManifestError where that cannot be read or names no benchmark of ours."""
    name = str(read_recipe_fields(folder).get("benchmark", DEFAULT_BENCHMARK))
    formats = {entry.benchmark.name: entry.release for entry in BENCHMARKS}
    if name not in formats:
        raise ManifestError(f"{RECIPE} is that of {name!r}; this version knows {', '.join(formats)}.")
    return formats[name]
