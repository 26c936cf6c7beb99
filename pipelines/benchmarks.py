"""All benchmarks that this project makes. What is generated, validated, released and compared follows from this list alone."""

from dataclasses import dataclass
from pathlib import Path

from assets.engine.benchmark import Benchmark
from assets.recipe.recipe import Recipe
from assets.recipe.registry import DEFAULT_BENCHMARK
from dataset_card.amemgym.release import AMEMGYM_RELEASE
from dataset_card.code_qa import CODE_QA_RELEASE
from dataset_card.code_repair import CODE_REPAIR_RELEASE
from dataset_card.deep_research import DEEP_RESEARCH_RELEASE
from dataset_card.release.content import ReleaseFormat
from dataset_card.release.manifest import RECIPE, ManifestError, read_recipe_fields
from dataset_card.tool_dialogue import TOOL_DIALOGUE_RELEASE
from dataset_card.user_facts import USER_FACTS_RELEASE
from validation.amemgym.benchmark import AMEMGYM_VALIDATION
from validation.code_qa.benchmark import CODE_QA_VALIDATION
from validation.code_repair.benchmark import CODE_REPAIR_VALIDATION
from validation.deep_research.benchmark import DEEP_RESEARCH_VALIDATION
from validation.report.validation import Validation
from validation.tool_dialogue.benchmark import TOOL_DIALOGUE_VALIDATION
from validation.user_facts.benchmark import USER_FACTS_VALIDATION


@dataclass(frozen=True)
class BenchmarkEntry:
    """All that the project knows of a benchmark. One without rules yet is entered as Validation(benchmark).

    What follows `release` is named as `module:object`, because it takes seconds to import; what is left out is not there yet.

    - `tasks(folder, record)` reads a verified release for the runner of evaluations; `asks` begin the names of the prompts
      that an evaluation asks. `questions` reads what is asked of a release beside its tasks.
    - `file_tasks(path, settings)` reads a file of its own form, whose name ends in `files`.
    - `exported(tasks)` gives documents and questions for other harnesses, `traced(tasks)` sessions as traces.
    - `writers` are the embedded model's functions by prompt.
    - `print_item(console, item, brief=...)` prints a finished item, `print_figures(console, report)` a report's main figures.
    - `forecast_notes(recipe)` says how to read the forecast of a variant.
    """

    validation: Validation
    release: ReleaseFormat
    tasks: str = ""
    questions: str = ""
    asks: tuple[str, ...] = ("evaluation/", "memories/")
    files: str = ""
    file_tasks: str = ""
    exported: str = ""
    traced: str = ""
    writers: str = ""
    print_item: str = ""
    print_figures: str = ""
    forecast_notes: str = ""

    @property
    def benchmark(self) -> Benchmark:
        return self.release.benchmark


BENCHMARKS = (
    BenchmarkEntry(
        AMEMGYM_VALIDATION,
        AMEMGYM_RELEASE,
        tasks="pipelines.evaluation.amemgym.tasks:read_amemgym_tasks",
        asks=("evaluation/", "memories/", "paper/"),
        files=".json",
        file_tasks="pipelines.evaluation.amemgym.tasks:read_amemgym_file",
        exported="pipelines.export.views:export_dialogues",
        traced="pipelines.export.views:trace_dialogues",
        writers="pipelines.embedded.amemgym.writers:WRITERS",
        print_item="pipelines.cli.stories:print_episode",
        print_figures="pipelines.cli.stories:print_figures",
        forecast_notes="pipelines.planning.amemgym:forecast_notes",
    ),
    BenchmarkEntry(
        DEEP_RESEARCH_VALIDATION,
        DEEP_RESEARCH_RELEASE,
        tasks="pipelines.evaluation.answered.document_tasks:read_document_tasks",
        asks=("evaluation/", "memories/", "memory_items/ask"),
        exported="pipelines.export.views:export_documents",
        traced="pipelines.export.views:trace_documents",
        writers="pipelines.embedded.deep_research.writers:WRITERS",
        print_item="pipelines.cli.stories:print_task",
    ),
    BenchmarkEntry(
        CODE_QA_VALIDATION,
        CODE_QA_RELEASE,
        tasks="pipelines.evaluation.answered.document_tasks:read_document_tasks",
        asks=("evaluation/", "memories/", "memory_items/ask"),
        exported="pipelines.export.views:export_documents",
        traced="pipelines.export.views:trace_documents",
        writers="pipelines.embedded.code_qa.writers:WRITERS",
        print_item="pipelines.cli.stories:print_task",
    ),
    BenchmarkEntry(
        TOOL_DIALOGUE_VALIDATION,
        TOOL_DIALOGUE_RELEASE,
        tasks="pipelines.evaluation.acted.tool_dialogues:read_tool_tasks",
        asks=("evaluation/", "memories/"),
        traced="pipelines.export.views:trace_episodes",
        writers="pipelines.embedded.tool_dialogue.writers:WRITERS",
        print_item="pipelines.cli.stories:print_tool_task",
    ),
    BenchmarkEntry(
        CODE_REPAIR_VALIDATION,
        CODE_REPAIR_RELEASE,
        tasks="pipelines.evaluation.acted.tool_dialogues:read_repair_tasks",
        questions="pipelines.evaluation.answered.session_questions:read_session_questions",
        asks=("evaluation/", "memories/", "memory_items/ask"),
        traced="pipelines.export.views:trace_episodes",
        writers="pipelines.embedded.code_qa.writers:WRITERS",
        print_item="pipelines.cli.stories:print_task",
    ),
    BenchmarkEntry(
        USER_FACTS_VALIDATION,
        USER_FACTS_RELEASE,
        tasks="pipelines.evaluation.answered.fact_tasks:read_fact_tasks",
        asks=("evaluation/", "memories/", "facts_questions/"),
        exported="pipelines.export.views:export_facts",
        traced="pipelines.export.views:trace_facts",
        writers="pipelines.embedded.user_facts.writers:WRITERS",
        print_item="pipelines.cli.stories:print_fact_user",
    ),
)


# Worlds of others that can be evaluated on, by how their names begin: a function of the name.
WORLDS = {
    "tau2:": "pipelines.evaluation.acted.tau2:read_tau2_tasks",
    "swe:": "pipelines.evaluation.acted.swe:read_swe_tasks",
    "webarena:": "pipelines.evaluation.acted.webarena:read_webarena_tasks",
}


def entry_of(recipe: Recipe) -> BenchmarkEntry:
    """Return the entry of the benchmark that a recipe is of."""
    return entry_named(recipe.benchmark)


def entry_named(name: str) -> BenchmarkEntry:
    """Return the entry of the benchmark of this name."""
    return next(entry for entry in BENCHMARKS if entry.benchmark.name == name)


def find_entry(name: str) -> BenchmarkEntry | None:
    """Return the entry of the benchmark of this name; None for a world of others."""
    return next((entry for entry in BENCHMARKS if entry.benchmark.name == name), None)


def benchmark_of(recipe: Recipe) -> Benchmark:
    """Return the benchmark that a recipe is of."""
    return entry_of(recipe).benchmark


def format_of(folder: Path) -> ReleaseFormat:
    """The format of a release, by its recipe. Raises ManifestError where that cannot be read or names no benchmark of ours."""
    name = str(read_recipe_fields(folder).get("benchmark", DEFAULT_BENCHMARK))
    formats = {entry.benchmark.name: entry.release for entry in BENCHMARKS}
    if name not in formats:
        raise ManifestError(f"{RECIPE} is that of {name!r}; this version knows {', '.join(formats)}.")
    return formats[name]
