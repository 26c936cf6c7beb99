"""The run on counterfactual twins, which lies beside the run that was scored on them."""

from collections.abc import Iterator

from pipelines.evaluation.command import SwappableTasks
from pipelines.evaluation.folder import SWAPPED, FinishedRun
from pipelines.evaluation.metrics.swapped import compare_with_swapped
from pipelines.evaluation.run import BenchmarkTasks

SAME = ("memory", "memory_source", "models", "tokens", "seed", "attempt")  # fields of both manifests


def twin_problems(run: FinishedRun, twins: FinishedRun) -> Iterator[str]:
    """Yield a sentence where the run on twins is another memory's, or does not give the run's score on them."""
    others = [name for name in SAME if getattr(run.manifest, name) != getattr(twins.manifest, name)]
    if others:
        yield f"{twins.manifest.run_id}, its run on twins, has another {' and '.join(others).replace('_', ' ')}."
    if compare_with_swapped(run.answers, twins.answers, run_id=twins.manifest.run_id) != run.swapped:
        yield f"{SWAPPED} does not follow from the answers and from {twins.manifest.run_id}."


def twins_of(tasks: BenchmarkTasks, twins: FinishedRun) -> BenchmarkTasks | None:
    """Return the twins that the run was evaluated on; None where they are not those of these tasks."""
    if not isinstance(tasks, SwappableTasks):
        return None
    found = tasks.with_swapped_values(len(twins.manifest.users), seed=twins.manifest.seed)
    return found if found.info.digest == twins.manifest.dataset_digest else None
