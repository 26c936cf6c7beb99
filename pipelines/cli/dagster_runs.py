"""Runs of Dagster in this process: opened and made for a command, with its progress, and ended with one sentence."""

import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import dagster as dg
import yaml
from sqlalchemy.exc import DatabaseError

from assets.engine.benchmark import Benchmark
from assets.engine.ports import VALUES, RunContext
from assets.reporting.plurals import counted
from pipelines.benchmark_definitions import definitions_of
from pipelines.benchmarks import BenchmarkEntry, entry_of
from pipelines.cli.recipe import recipe_in_file
from pipelines.cli.terminal import LiveProgress, TextConsole, print_plain, stderr_console
from pipelines.crash_report import StepFailed
from pipelines.errors import Problem
from pipelines.home import Home, home
from pipelines.jobs import Phase, release_phase
from pipelines.opening.dagster_files import cancel_killed_commands
from pipelines.opening.dagster_resources import configured_resources
from pipelines.opening.doctor import check_dagster_storage, sound_dagster_storage
from pipelines.opening.models import open_run_context
from pipelines.resources.storage.io_manager import open_asset_values

# Dagster would capture the output with extra processes, which print tracebacks at Ctrl-C.
WITHOUT_CAPTURE = {
    "compute_logs": {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
}
DAGSTER_FILES = "pipelines.opening.dagster_files"
# Dagster's daemon must not retry a command's run: the user who started the command sees that it failed.
NO_RETRIES = {"dagster/max_retries": "0"}
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}  # the command shows its own progress


@dataclass(frozen=True)
class RunOptions:
    """Settings of a run that do not change its rows. `concurrency`: items at the same time. `quiet`: show no progress.

    `offline`: ask no model, use only the reply cache.
    """

    concurrency: int = 32
    version: str = "auto"
    offline: bool = False
    quiet: bool = False


def print_made(folder: Path, checks: str, *, started: float, quiet: bool) -> None:
    """Print which checks passed, unless `quiet`, and where the release is."""
    console = stderr_console()
    variant = folder.parent.name
    if not quiet:
        print_plain(console, f"{variant}: {checks}")
    console.print(f"Made [bold]{variant}[/bold] in {time.monotonic() - started:.1f} s: {folder}")


def checks_sentence(results: Sequence[dg.ExecuteInProcessResult]) -> str:
    """Return a sentence: how many checks of these runs passed, and of those that warned the names and what they found."""
    checks: list[dg.AssetCheckEvaluation] = []
    for result in results:
        checks += result.get_asset_check_evaluations()
    warning = [f"{check.check_name}: {check.description}" for check in checks if not check.passed]
    passed = f"{counted(len(checks) - len(warning), 'check')} passed"
    return f"{passed}, {len(warning)} warned ({'; '.join(warning)})" if warning else passed


def freeze_variant(variant: str, *, version: str) -> Path:
    """Release the finished users, and return the release's folder. Raises Problem with one sentence."""
    entry = entry_of(recipe_in_file(variant))
    benchmark = entry.benchmark
    phase = release_phase(benchmark, variant, config={benchmark.op("release"): {"config": {"version": version}}})
    with (
        LiveProgress(stderr_console()) as progress,
        open_context(home(), RunOptions(concurrency=1, offline=True), progress) as run_context,
        storage_errors(),
        dagster_instance() as instance,
    ):
        result = run_phase(phase, entry, run_context=run_context, instance=instance)
        return release_folder(result, benchmark)


def open_context(installation: Home, options: RunOptions, progress: LiveProgress) -> Any:
    return open_run_context(
        installation,
        items_at_once=options.concurrency,
        report=progress.show,
        report_step=progress.show_step,
        on_batch_progress=progress.show_batch,
        mode="replay" if options.offline else "use",
    )


def dagster_instance() -> dg.DagsterInstance:
    """Open Dagster's storage of this installation. Raises Problem or OSError."""
    with sound_dagster_storage(home()) as folder:
        os.environ["DAGSTER_HOME"] = str(folder)
        instance = dg.DagsterInstance.from_config(str(folder), _settings_without_capture(folder).name)
        for sentence in cancel_killed_commands(instance):
            print_plain(stderr_console(), sentence)
        return instance


def _settings_without_capture(folder: Path) -> Path:
    """Write a variant of the folder's Dagster settings for runs in this process, and return the file."""
    settings = cast(dict[str, Any], yaml.safe_load((folder / "dagster.yaml").read_text(encoding="utf-8")) or {})
    if not any(key.endswith("storage") for key in settings):
        events = {"base_dir": str(folder / "history" / "runs")}  # Dagster's own default folder
        settings["event_log_storage"] = {"module": DAGSTER_FILES, "class": "OpenEventLog", "config": events}
    # What `CheckingInstance` refuses is refused by the command itself.
    settings["instance_class"] = {"module": DAGSTER_FILES, "class": "ProjectInstance"}
    path = folder / "command_line.yaml"
    path.write_text(yaml.safe_dump({**settings, **WITHOUT_CAPTURE}), encoding="utf-8")
    return path


@contextmanager
def storage_errors() -> Generator[None, None, None]:
    try:
        yield
    except DatabaseError as error:
        check_dagster_storage(home(), runs=True)
        raise Problem(
            f"Dagster's storage in {home().dagster} cannot be used: {error.orig}. Everything finished so far is kept: "
            "free some space or repair the folder, and run the same command to continue."
        ) from error


def run_phase(
    phase: Phase, entry: BenchmarkEntry, *, run_context: RunContext, instance: dg.DagsterInstance
) -> dg.ExecuteInProcessResult:
    job = definitions_of(entry).resolve_job_def(phase.job)
    if phase.assets:
        # Not as an argument of `execute_in_process`, which accepts no selection together with resources.
        job = job.get_subset(asset_selection=frozenset(map(dg.AssetKey.from_user_string, phase.assets)))
    result = job.execute_in_process(
        instance=instance,
        partition_key=phase.partition,
        run_config={**QUIET, "ops": phase.config},
        tags=NO_RETRIES,
        # Resources of the current environment; the definitions hold those of the time when they were loaded.
        resources={**configured_resources(), VALUES: open_asset_values(home()), "run_context": run_context},
        raise_on_error=False,  # `first_problem` turns the error into one sentence
    )
    if not result.success:
        raise first_problem(result)
    return result


def release_folder(result: dg.ExecuteInProcessResult, benchmark: Benchmark) -> Path:
    metadata = result.asset_materializations_for_node(benchmark.op("release"))[-1].metadata
    if "address" in metadata:
        print_plain(TextConsole(stderr=True), f"The release is stored at {metadata['address'].value}; its copy here is:")
    return Path(str(metadata["folder"].value))


def first_problem(result: dg.ExecuteInProcessResult) -> Problem | StepFailed | KeyboardInterrupt:
    """Return the error of the first failed blocking check, else of the first step that failed or was interrupted."""
    for check in result.get_asset_check_evaluations():
        if not check.passed and check.severity == dg.AssetCheckSeverity.ERROR:
            return Problem(
                f"The check {check.check_name!r} of {check.asset_key.to_user_string()} failed: {check_details(check)}"
            )
    for event in result.all_events:
        if event.is_step_failure:
            data = event.step_failure_data
            if data.error is not None and data.error.cls_name == dg.DagsterExecutionInterruptedError.__name__:
                return KeyboardInterrupt()  # so that Ctrl-C ends the command as usual
            if data.user_failure_data is not None and data.user_failure_data.description:
                return Problem(data.user_failure_data.description)
            cause = data.error
            while cause is not None and cause.cause is not None:
                cause = cause.cause
            kind = "unknown" if cause is None else cause.cls_name or "unknown"
            return StepFailed(f"Step {event.step_key} failed: {data.error_display_string.strip()}", kind=kind)
    return Problem("The run did not succeed; look at it in the Dagster UI (make ui).")


def check_details(check: dg.AssetCheckEvaluation) -> str:
    """Return a check's description and counts as one text. Its tables and figures are left out; the UI shows them."""
    counts: list[str] = []
    for key, entry in check.metadata.items():
        if not isinstance(entry, (dg.MarkdownMetadataValue, dg.FloatMetadataValue)) and entry.value not in ("", None):
            counts.append(f"{key}: {entry.value}")
    return f"{check.description or ''} {'; '.join(counts)}".strip()
