"""All benchmarks that are installed, one entry each. What is generated, validated, released and compared follows from them.

An entry stands in a module of this package, or of anybody's, and is named by an entry point of the group `amemgym.benchmarks`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from assets.entry_points import EntryPointGroup
from assets.recipe.recipe import Recipe
from assets.recipe.registry import DEFAULT_BENCHMARK
from dataset_card.release.manifest import RECIPE, ManifestError, read_recipe_fields

if TYPE_CHECKING:  # what the entries name is imported when it is used
    from assets.engine.benchmark import Benchmark
    from dataset_card.release.content import ReleaseFormat
    from validation.report.validation import Validation


@dataclass(frozen=True, kw_only=True)
class QualityRequest:
    """The data set to report on, and what judges are asked. `overrides`: settings of a bare file, and fields of the recipe."""

    source: str
    overrides: Mapping[str, object] = field(default_factory=dict[str, object])
    users: int | None = None
    gates: bool = False
    audit: bool = False
    model: str = ""
    offline: bool = False


@dataclass(frozen=True, kw_only=True)
class BenchmarkEntry:
    """All that the project knows of a benchmark. Everything is named as `module:object`, because it takes seconds to import.

    What is left out is not there yet, but for rules and release, which then are those that every benchmark has.

    - `stages` names the Benchmark, `rules` its Validation, `release_format` its ReleaseFormat. `prefix` is the Benchmark's.
    - `tasks(folder, record)` reads a verified release for the runner of evaluations, whose items are of the class `item`;
      `asks` begin the names of the prompts that an evaluation asks.
    - `file_tasks(path, settings)` reads a file of its own form, whose name ends in `files`, and says what any other file is.
    - `writers` are the embedded model's functions by prompt: of prompts in the benchmark's own folder, and of those that begin
      as `shared_prompts` do. `known_world` is what it reads documents of an invented world by.
    - `print_item(console, item, brief=...)` prints a finished item, `print_figures(console, report)` a report's main figures.
    - `report_on_source(request, home=..., notice=...)` reports on a data set that was not made here: a QualityRequest.
    - `read_configuration(content)` gives a recipe's fields for a configuration of other code; it raises RecipeError.
    - `forecast_notes(recipe)` says how to read the forecast of a variant.
    """

    stages: str
    prefix: str = ""
    rules: str = ""
    release_format: str = ""
    tasks: str = ""
    item: str = ""
    asks: tuple[str, ...] = ("evaluation/", "memories/")
    files: str = ""
    file_tasks: str = ""
    writers: str = ""
    shared_prompts: tuple[str, ...] = ()
    known_world: str = ""
    print_item: str = ""
    print_figures: str = ""
    report_on_source: str = ""
    read_configuration: str = ""
    forecast_notes: str = ""

    @cached_property
    def benchmark(self) -> "Benchmark":
        return resolve_name(self.stages)

    @cached_property
    def record(self) -> Any:
        """The class of a finished item; where `item` names it, without the stages that make one."""
        return resolve_name(self.item) if self.item else self.benchmark.final.record

    @cached_property
    def validation(self) -> "Validation":
        from validation.report.validation import Validation

        return resolve_name(self.rules) if self.rules else Validation(self.benchmark)

    @cached_property
    def release(self) -> "ReleaseFormat":
        from dataset_card.release.content import ReleaseFormat

        return resolve_name(self.release_format) if self.release_format else ReleaseFormat(self.benchmark)


BENCHMARKS = EntryPointGroup[BenchmarkEntry]("amemgym.benchmarks", first=DEFAULT_BENCHMARK)

# Worlds of others that can be evaluated on, by what stands before the colon: functions that read the BenchmarkTasks of a name.
WORLDS = EntryPointGroup[Callable[[str], Any]]("amemgym.worlds")


def entry_of(recipe: Recipe) -> BenchmarkEntry:
    """Return the entry of the benchmark that a recipe is of."""
    return BENCHMARKS[recipe.benchmark]


def benchmark_of(recipe: Recipe) -> "Benchmark":
    """Return the benchmark that a recipe is of."""
    return entry_of(recipe).benchmark


def benchmark_of_asset(name: str) -> "Benchmark | None":
    """Return the benchmark that has an asset of this name; None if none has. Those of other prefixes are imported last."""
    entries = sorted(BENCHMARKS.values(), key=lambda entry: (not name.startswith(entry.prefix), -len(entry.prefix)))
    return next((entry.benchmark for entry in entries if entry.benchmark.has_asset(name)), None)


def format_of(folder: Path) -> "ReleaseFormat":
    """The format of a release, by its recipe. Raises ManifestError where that cannot be read or names no benchmark of ours."""
    name = str(read_recipe_fields(folder).get("benchmark", DEFAULT_BENCHMARK))
    if name not in BENCHMARKS:
        raise ManifestError(f"{RECIPE} is that of {name!r}; this version knows {', '.join(BENCHMARKS)}.")
    return BENCHMARKS[name].release
