"""The formats that `amemgym export` writes, of releases and of runs. A new one is entered here, and has a module of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from pkgutil import resolve_name

from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.run import BenchmarkTasks

# By name, as `module:function`, because some need an optional extra. The first is the usual one.
OF_RELEASES = {
    "documents": "pipelines.export.documents:write_release_documents",
    "traces": "pipelines.export.session_traces:write_release_traces",
    "verifiers": "pipelines.export.environments:write_verifiers",
    "openenv": "pipelines.export.environments:write_openenv",
}
OF_RUNS = {
    "every-eval-ever": "pipelines.export.every_eval_ever:write_run_record",
    "traces": "pipelines.export.session_traces:write_run_traces",
    "inspect": "pipelines.export.inspect_log:write_run_log",
    "eval-results": "pipelines.export.eval_results:write_run_results",
}


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


def release_writer(name: str | None) -> WriteRelease:
    """Return what writes a release in this format, or in the usual one. Raises EvaluationError."""
    return _writer(name, OF_RELEASES, source="A release")


def run_writer(name: str | None) -> WriteRun:
    """Return what writes a run in this format, or in the usual one. Raises EvaluationError."""
    return _writer(name, OF_RUNS, source="A run")


def _writer(name: str | None, formats: Mapping[str, str], *, source: str) -> Callable[..., Sequence[str]]:
    chosen = name or next(iter(formats))
    if chosen not in formats:
        raise EvaluationError(
            f"{source.capitalize()} cannot be written as {chosen!r}; give --as with one of {', '.join(formats)}."
        )
    try:
        return resolve_name(formats[chosen])
    except ModuleNotFoundError as error:
        raise EvaluationError(
            f"{error.name} is missing, which --as {chosen} needs; install it with: pip install -e '.[{chosen}]'"
        ) from error
