"""Which benchmarks can be evaluated: one line for each, by the name in a release's recipe."""

from collections.abc import Callable, Mapping
from pathlib import Path

from assets.code_qa.records.questions import CodeTask
from assets.memory_items.tasks import MemoryTask
from assets.recipe.recipe import Recipe
from assets.recipe.registry import DEFAULT_BENCHMARK
from dataset_card.release.store import ReleaseStore
from pipelines.evaluation.amemgym.dataset import is_bare, read_bare, read_release
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.document_tasks import DocumentTasks
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.sources import release_folder, release_recipe

READERS: dict[str, Callable[[Path], AMemGymTasks | DocumentTasks]] = {
    DEFAULT_BENCHMARK: lambda folder: AMemGymTasks(read_release(folder)),
    "deep_research": lambda folder: DocumentTasks.of_release(folder, MemoryTask),
    "code_qa": lambda folder: DocumentTasks.of_release(folder, CodeTask),
}


def open_tasks(
    source: str, *, release_store: ReleaseStore, settings: Mapping[str, object] | None = None
) -> AMemGymTasks | DocumentTasks:
    """The tasks of a release of any benchmark, or of a `data.json` of AMemGym's shape, which `settings` are for.

    Raises EvaluationError with one sentence; everything has been read and checked then, and nothing asked of a model.
    """
    if is_bare(source):
        return AMemGymTasks(read_bare(Path(source), settings or {}))
    folder = release_folder(source, release_store=release_store, settings=settings or ())
    name = release_recipe(folder, Recipe).benchmark
    if name not in READERS:
        raise EvaluationError(f"{folder} is a release of {name!r}; what can be evaluated is of {', '.join(READERS)}.")
    return READERS[name](folder)
