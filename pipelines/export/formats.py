"""The formats that `amemgym export` writes, of releases and of runs: entry points, which any package may have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from assets.entry_points import EntryPointGroup
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.run import BenchmarkTasks

W = TypeVar("W", bound=Callable[..., Any])


@dataclass(frozen=True)
class RunExport:
    """A finished run and the folder to write. `made_at`: when its results were written.

    `repo`: the data set's repository on the Hub. `source`: an address where others can read the run.
    """

    run: FinishedRun
    folder: Path
    made_at: datetime
    repo: str = ""
    source: str = ""


# Both return sentences on what was written.
WriteRelease = Callable[[BenchmarkTasks, Path], Sequence[str]]
WriteRun = Callable[[RunExport], Sequence[str]]
# The first is the usual one.
OF_RELEASES = EntryPointGroup[WriteRelease]("amemgym.release_exports", first="documents")
OF_RUNS = EntryPointGroup[WriteRun]("amemgym.run_exports", first="traces")


def release_writer(name: str | None) -> WriteRelease:
    """Return what writes a release in this format, or in the usual one. Raises EvaluationError."""
    return _writer(name, OF_RELEASES, source="A release")


def run_writer(name: str | None) -> WriteRun:
    """Return what writes a run in this format, or in the usual one. Raises EvaluationError."""
    return _writer(name, OF_RUNS, source="A run")


def _writer(name: str | None, formats: EntryPointGroup[W], *, source: str) -> W:
    chosen = name or next(iter(formats))
    if chosen not in formats:
        raise EvaluationError(
            f"{source.capitalize()} cannot be written as {chosen!r}; give --as with one of {', '.join(formats)}."
        )
    return formats[chosen]
