"""Make a variant from the command line: the same assets, checks and storage as in the UI."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
from rich.console import Console

from assets.engine.cancellation import STOPPED
from assets.recipe.asset import stand_in
from assets.recipe.loading import units
from assets.recipe.recipe import Recipe
from pipelines.cli.problems import Problem
from pipelines.cli.progress import LiveProgress
from pipelines.cli.recipe import checked_recipe, launchpad_config
from pipelines.home import Home, home
from pipelines.instance import prepare_dagster_home
from pipelines.resources.open import open_run_context

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True)
class Phase:
    """One Dagster run: a job, its partition, and the config of its root asset."""

    job: str
    partition: str
    config: dict[str, Any]


@dataclass(frozen=True)
class Manner:
    """How a variant is made; none of it is in its rows. `offline`: no model is asked, every reply comes from the call cache."""

    concurrency: int = 32
    version: str = "auto"
    offline: bool = False


def generate_variant(recipe: Recipe, manner: Manner) -> Path:
    """Make the variant and its release; return the release's folder. Raises Problem with one sentence."""
    console = Console(stderr=True)
    started = time.monotonic()
    with LiveProgress(console) as progress, _run_context(home(), manner, progress) as run_context:
        if sentence := stand_in(recipe.models, embedded_model=run_context.embedded_model):
            console.print(sentence, highlight=False, soft_wrap=True)
        instance = dagster_instance()
        *earlier, last = phases(recipe, version=manner.version)
        for phase in earlier:
            _run(phase, {"run_context": run_context}, instance=instance)
        folder = _release_folder(_run(last, {"run_context": run_context}, instance=instance))
    console.print(f"Made [bold]{recipe.variant}[/bold] in {time.monotonic() - started:.1f} s: {folder}")
    return folder


def freeze_variant(variant: str, *, version: str) -> Path:
    """Release the users that are finished; return the release's folder. Raises Problem with one sentence."""
    phase = Phase("make_release", variant, {"release_folder": {"config": {"version": version}}})
    with (
        LiveProgress(Console(stderr=True)) as progress,
        _run_context(home(), Manner(concurrency=1, offline=True), progress) as run_context,
    ):
        return _release_folder(_run(phase, {"run_context": run_context}, instance=dagster_instance()))


def phases(recipe: Recipe, *, version: str) -> list[Phase]:
    """The runs that make a variant: one if it is not split into work units, else recipe, each unit, release."""
    from pipelines.jobs import SHARDED

    root = {"recipe": {"config": launchpad_config(recipe)}}
    last = {"release_folder": {"config": {"version": version}}}
    if not SHARDED:
        return [Phase("generate_and_release", recipe.variant, {**root, **last})]
    return [
        Phase("resolve_recipe", recipe.variant, root),
        *(Phase("generate_unit", unit.key, {}) for unit in units(recipe)),
        Phase("make_release", recipe.variant, last),
    ]


def make_demo() -> None:
    """Make the demo and tell what to look at next."""
    from pipelines.cli.show import show_user

    folder = generate_variant(checked_recipe("demo", []), Manner())
    show_user("1", variant="demo", brief=True)
    console = Console()
    console.print(f"\nThe release is in [bold]{_relative(folder)}[/bold]; start with README.md and demo/data.json there.")
    console.print("Next: [bold]amemgym show 2[/bold] tells another user's story (the command is in .venv/bin), and")
    console.print("      [bold]make ui[/bold] opens the same assets in Dagster.")


def _relative(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _run_context(place: Home, manner: Manner, progress: LiveProgress) -> Any:
    mode, users = "replay" if manner.offline else "use", manner.concurrency
    try:
        return open_run_context(
            place, users_at_once=users, report=progress.show, on_batch_progress=progress.show_batch, mode=mode
        )
    except OSError as error:
        raise Problem(f"The data folder {place.root} cannot be used: {error.strerror or error}.") from error


def dagster_instance() -> dg.DagsterInstance:
    """Dagster's own storage of this installation. Raises Problem with one sentence."""
    place = home()
    try:
        folder = prepare_dagster_home(place)
    except OSError as error:
        raise Problem(f"Dagster's folder {place.dagster} cannot be used: {error.strerror or error}.") from error
    os.environ["DAGSTER_HOME"] = str(folder)
    with _dagster_storage():
        return dg.DagsterInstance.get()


@contextmanager
def _dagster_storage() -> Generator[None, None, None]:
    from sqlalchemy.exc import OperationalError

    try:
        yield
    except OperationalError as error:
        raise Problem(
            f"Dagster's storage in {home().dagster} cannot be used: {error.orig}. Everything finished so far is kept: "
            "free some space or mend the folder, and run the same command to go on."
        ) from error


def _run(phase: Phase, resources: dict[str, Any], *, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    from pipelines.definitions import defs

    job = defs.resolve_job_def(phase.job)
    with _dagster_storage():
        result = job.execute_in_process(
            instance=instance,
            partition_key=phase.partition,
            run_config={**QUIET, "ops": phase.config},
            resources={**defs.resources, **resources} if defs.resources else resources,
            raise_on_error=False,
        )
    if not result.success:
        raise Problem(first_problem(result))
    return result


def _release_folder(result: dg.ExecuteInProcessResult) -> Path:
    metadata = result.asset_materializations_for_node("release_folder")[-1].metadata
    if "address" in metadata:
        Console(stderr=True).print(f"The release stands at {metadata['address'].value}; its copy here is:", highlight=False)
    return Path(str(metadata["folder"].value))


def first_problem(result: dg.ExecuteInProcessResult) -> str:
    """The sentence of the first step that failed, or of the first blocking check that did not pass."""
    for check in result.get_asset_check_evaluations():
        if not check.passed and check.severity == dg.AssetCheckSeverity.ERROR:
            return f"The check {check.check_name!r} of {check.asset_key.to_user_string()} failed: {check_details(check)}"
    for event in result.all_events:
        if event.is_step_failure:
            data = event.step_failure_data
            if data.error is not None and data.error.cls_name == dg.DagsterExecutionInterruptedError.__name__:
                return STOPPED
            if data.user_failure_data is not None and data.user_failure_data.description:
                return data.user_failure_data.description
            cause = data.error_display_string.strip() if data.error else "unknown"
            return f"Step {event.step_key} failed: {cause}"
    return "The run did not succeed; look at it in the Dagster UI (make ui)."


def check_details(check: dg.AssetCheckEvaluation) -> str:
    """A check's own words and its counts, without its tables, which are for the UI."""
    plain = {key: one.value for key, one in check.metadata.items() if not isinstance(one, dg.MarkdownMetadataValue)}
    found = "; ".join(f"{key}: {value}" for key, value in plain.items() if value not in ("", None))
    return f"{check.description or ''} {found}".strip()
