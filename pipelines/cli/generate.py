"""`amemgym generate`, `regenerate` and `demo`: make a variant with the same assets, checks and storage as in the UI."""

import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import dagster as dg
import typer
from dagster._core.instance.ref import InstanceRef
from rich.console import Console
from sqlalchemy.exc import OperationalError

from assets.engine.benchmark import Benchmark
from assets.engine.cancellation import STOPPED
from assets.engine.ports import VALUES
from assets.engine.provenance import ReportValue, ResolvedRecipe
from assets.engine.recipe_asset import observe_recipe_files, stand_in, with_embedded_model
from assets.recipe.config_schema import RESET
from assets.recipe.loading import nearest_first, units
from assets.recipe.model_policy import ROLES
from assets.recipe.recipe import EVERYONE, Recipe
from assets.records.base import ItemRecord
from assets.reporting.plurals import counted
from dataset_card.release.folder import check_next_version
from dataset_card.release.manifest import ReleaseError
from pipelines.benchmarks import BENCHMARKS, benchmark_of
from pipelines.cli.errors import Problem, Stopped
from pipelines.cli.options import (
    ModelOption,
    QuietOption,
    RecipeArgument,
    ResetOption,
    SetOption,
    VariantOption,
    VersionOption,
)
from pipelines.cli.recipe import checked_recipe, launchpad_config, recipe_in_file, recipe_to_follow
from pipelines.cli.show import choose_item, finished_items, item_name, print_item
from pipelines.cli.terminal import LiveProgress, print_plain, stderr_console
from pipelines.definitions import defs
from pipelines.home import Home, home, obstacles, prepare_dagster_home
from pipelines.jobs import Phase, phases
from pipelines.resources.dagster_resources import configured_resources
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.open import open_run_context
from pipelines.resources.storage.dagster_sqlite import stay_connected
from pipelines.resources.storage.io_manager import open_asset_values

# Dagster would send what is printed through processes of its own, which Ctrl-C ends with tracebacks.
WITHOUT_CAPTURE = {
    "compute_logs": {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
}
R = TypeVar("R", bound=Recipe)
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
ASKING_STAGES = [name for entry in BENCHMARKS for name in entry.benchmark.asking_stages]
STAGE_HELP = "The stage that is asked anew; the stages below it follow. " + " ".join(
    f"Of {entry.benchmark.name}: {', '.join(entry.benchmark.asking_stages)}." for entry in BENCHMARKS
)
ConcurrencyOption = Annotated[int, typer.Option(min=1, help="Users worked on at once.")]


@dataclass(frozen=True)
class RunOptions:
    """How a variant is made; none of it is in its rows. `offline`: no model is asked, only the reply cache is used.

    `quiet`: no progress is shown.
    """

    concurrency: int = 32
    version: str = "auto"
    offline: bool = False
    quiet: bool = False


def generate(
    variant: RecipeArgument,
    overrides: SetOption = None,
    model: ModelOption = "",
    concurrency: ConcurrencyOption = 32,
    version: VersionOption = "auto",
    offline: Annotated[bool, typer.Option("--offline", help="Ask no model; use recorded replies only.")] = False,
    reset: ResetOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a variant: all stages, their checks, and the release folder. Run it again to go on where it stopped.

    Overrides stay: a later run without them goes on from them, until they are overridden again or --reset is given.
    """
    recipe = recipe_to_follow(variant, overrides, model=model, reset=reset)
    generate_variant(recipe, RunOptions(concurrency, version, offline, quiet))


def regenerate(
    item: Annotated[str, typer.Argument(help="Number (1, 2, ...), name or id of a user or a task, or all.")],
    stage: Annotated[str, typer.Option("--from", help=STAGE_HELP, autocompletion=lambda: ASKING_STAGES)],
    variant: VariantOption = "demo",
    concurrency: ConcurrencyOption = 32,
    version: VersionOption = "auto",
    quiet: QuietOption = False,
) -> None:
    """Make one user or task again from a stage on; every other one stays as it is, byte by byte."""
    benchmark = benchmark_of(recipe_in_file(variant))
    before = finished_items(variant)
    item_id = EVERYONE if item == EVERYONE else choose_item(item, before, noun=benchmark.noun).item_id
    if stage not in benchmark.asking_stages:
        known = nearest_first(stage, benchmark.asking_stages)
        raise Problem(f"--from {stage!r} is no stage that asks a model; there are {known}.")
    last = recipe_to_follow(variant)
    recipe = asked_again(last, item_id=item_id, stage=stage, finished=_is_finished(variant, benchmark))
    generate_variant(recipe, RunOptions(concurrency, version, quiet=quiet))
    Console(stderr=True).print(_changed_items(before, finished_items(variant), noun=benchmark.noun), highlight=False)
    print(f"This stays so; `amemgym generate {variant} --reset` goes back to {variant}.yaml.")


def demo(quiet: QuietOption = False) -> None:
    """Make the small demo release and show one of its users."""
    folder = generate_variant(checked_recipe("demo"), RunOptions(quiet=quiet))
    print_item("1", variant="demo", brief=True)
    console = Console()
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    console.print(f"\nThe release is in [bold]{shown}[/bold]; start with README.md and demo/data.json there.")
    console.print("Next: [bold]amemgym show 2[/bold] tells another user's story (from .venv/bin), and")
    console.print("      [bold]make ui[/bold] opens the same assets in Dagster.")


def generate_variant(recipe: Recipe, options: RunOptions) -> Path:
    """Make the variant and its release; return the release's folder. Raises Problem with one sentence."""
    console = stderr_console()
    started = time.monotonic()
    for sentence in obstacles(home()):
        raise Problem(sentence)
    with LiveProgress(console, quiet=options.quiet) as progress, _run_context(home(), options, progress) as run_context:
        check_version_of(recipe, version=options.version, embedded=run_context.embedded_model)
        for sentence in asked_models(recipe, embedded=run_context.embedded_model, offline=options.offline):
            print_plain(console, sentence)
        instance = dagster_instance()
        observe_recipe_files(instance, benchmark_of(recipe))
        *earlier, last = runs_of(recipe, version=options.version)
        for phase in earlier:
            _run(phase, {"run_context": run_context}, instance=instance)
        result = _run(last, {"run_context": run_context}, instance=instance)
        folder = _release_folder(result, benchmark_of(recipe))
    console.print(f"Made [bold]{recipe.variant}[/bold] in {time.monotonic() - started:.1f} s: {folder}")
    return folder


def check_version_of(recipe: Recipe, *, version: str, embedded: str | None) -> None:
    """Raise Problem for a version that the release could not get, which would be found after calls were paid for.

    Releases in an object store are not looked at; a version that is too low is refused there when the release is written.
    """
    try:
        check_next_version(
            version,
            home=home().releases / recipe.variant,
            fingerprint=lambda: benchmark_of(recipe).resolve(with_embedded_model(recipe, embedded_model=embedded)).fingerprint,
        )
    except ReleaseError as error:
        raise Problem(str(error)) from error


def asked_models(recipe: Recipe, *, embedded: str | None, offline: bool) -> Iterator[str]:
    """Before the first call: what is asked, and which model plays which role there."""
    if embedded is not None:
        yield from filter(None, [stand_in(recipe.models, embedded_model=embedded)])
        return
    endpoint = EndpointSettings.from_environment()
    if offline or endpoint is None:
        yield "No model is asked: replies come from the cache."
    else:
        yield f"{recipe.variant}: asks {endpoint.address}."
    names = {role: recipe.models.for_role(role).model for role in ROLES} | {"judge": " and ".join(recipe.models.judge.panel)}
    yield "Models: " + ", ".join(f"{role.replace('_', ' ')} {name}" for role, name in names.items()) + "."


def freeze_variant(variant: str, *, version: str) -> Path:
    """Release the users that are finished; return the release's folder. Raises Problem with one sentence."""
    benchmark = benchmark_of(recipe_in_file(variant))
    phase = Phase(benchmark.key("make_release"), variant, {benchmark.key("release"): {"config": {"version": version}}})
    with (
        LiveProgress(stderr_console()) as progress,
        _run_context(home(), RunOptions(concurrency=1, offline=True), progress) as run_context,
    ):
        result = _run(phase, {"run_context": run_context}, instance=dagster_instance())
        return _release_folder(result, benchmark)


def runs_of(recipe: Recipe, *, version: str) -> Iterator[Phase]:
    """The runs that make the recipe's variant and its release, with the overrides of earlier runs, which the recipe has."""
    benchmark = benchmark_of(recipe)
    config = {
        benchmark.key("recipe"): {"config": {**launchpad_config(recipe), RESET: True}},
        benchmark.key("release"): {"config": {"version": version}},
    }
    return phases(benchmark, recipe.variant, units=[unit.key for unit in units(recipe)], config=config)


def _run_context(installation: Home, options: RunOptions, progress: LiveProgress) -> Any:
    mode, users = "replay" if options.offline else "use", options.concurrency
    try:
        return open_run_context(
            installation, items_at_once=users, report=progress.show, on_batch_progress=progress.show_batch, mode=mode
        )
    except OSError as error:
        raise Problem(f"The data folder {installation.root} cannot be used: {error.strerror or error}.") from error


def dagster_instance() -> dg.DagsterInstance:
    """Dagster's own storage of this installation. Raises Problem with one sentence."""
    installation = home()
    try:
        folder = prepare_dagster_home(installation)
    except OSError as error:
        raise Problem(f"Dagster's folder {installation.dagster} cannot be used: {error.strerror or error}.") from error
    os.environ["DAGSTER_HOME"] = str(folder)
    with _storage_errors():
        return dg.DagsterInstance.from_ref(stay_connected(InstanceRef.from_dir(str(folder), overrides=WITHOUT_CAPTURE)))


@contextmanager
def _storage_errors() -> Generator[None, None, None]:
    try:
        yield
    except OperationalError as error:
        raise Problem(
            f"Dagster's storage in {home().dagster} cannot be used: {error.orig}. Everything finished so far is kept: "
            "free some space or mend the folder, and run the same command to go on."
        ) from error


def _run(phase: Phase, resources: dict[str, Any], *, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    job = defs.resolve_job_def(phase.job)
    with _storage_errors():
        result = job.execute_in_process(
            instance=instance,
            partition_key=phase.partition,
            run_config={**QUIET, "ops": phase.config},
            # The definitions have those of the environment in which they were loaded.
            resources={**configured_resources(), VALUES: open_asset_values(home()), **resources},
            raise_on_error=False,
        )
    if not result.success:
        raise first_problem(result)
    return result


def _release_folder(result: dg.ExecuteInProcessResult, benchmark: Benchmark) -> Path:
    metadata = result.asset_materializations_for_node(benchmark.key("release"))[-1].metadata
    if "address" in metadata:
        Console(stderr=True).print(f"The release is stored at {metadata['address'].value}; its copy here is:", highlight=False)
    return Path(str(metadata["folder"].value))


class StepFailed(Exception):
    """An error that nobody foresaw, as Dagster tells it: for the report of a crash."""


def first_problem(result: dg.ExecuteInProcessResult) -> Problem | StepFailed:
    """Of the first step that failed, or of the first blocking check that did not pass."""
    for check in result.get_asset_check_evaluations():
        if not check.passed and check.severity == dg.AssetCheckSeverity.ERROR:
            return Problem(
                f"The check {check.check_name!r} of {check.asset_key.to_user_string()} failed: {check_details(check)}"
            )
    for event in result.all_events:
        if event.is_step_failure:
            data = event.step_failure_data
            if data.error is not None and data.error.cls_name == dg.DagsterExecutionInterruptedError.__name__:
                return Stopped(STOPPED)
            if data.user_failure_data is not None and data.user_failure_data.description:
                return Problem(data.user_failure_data.description)
            return StepFailed(f"Step {event.step_key} failed: {data.error_display_string.strip()}")
    return Problem("The run did not succeed; look at it in the Dagster UI (make ui).")


def check_details(check: dg.AssetCheckEvaluation) -> str:
    """A check's description and counts, without its tables, which are for the UI."""
    plain = {key: entry.value for key, entry in check.metadata.items() if not isinstance(entry, dg.MarkdownMetadataValue)}
    counts = "; ".join(f"{key}: {value}" for key, value in plain.items() if value not in ("", None))
    return f"{check.description or ''} {counts}".strip()


def asked_again(recipe: R, *, item_id: str, stage: str, finished: bool) -> R:
    """The recipe with one more try at this item's stage; if that try was interrupted (not `finished`), the same recipe.

    Raises Problem when something else was interrupted, because then nobody knows which items there should be.
    """
    own = {str(name): count for name, count in recipe.again.get(item_id, {}).items()}
    if not finished and stage in own:
        return recipe
    if not finished:
        raise Problem(f"The last run of {recipe.variant!r} did not finish; finish it first, with the command that started it.")
    again: dict[str, object] = {**recipe.again, item_id: {**own, stage: own.get(stage, 0) + 1}}
    return type(recipe).model_validate({**recipe.model_dump(), "again": again})


def _is_finished(variant: str, benchmark: Benchmark) -> bool:
    """Whether the last quality report was made of the last recipe, so that all items follow it."""
    values = open_asset_values(home())
    recipe, report = (values.find(benchmark.key(name), variant) for name in ("recipe", "quality_report"))
    if not isinstance(recipe, ResolvedRecipe) or not isinstance(report, ReportValue):
        return False
    return recipe.recipe.fingerprint == report.provenance.recipe.fingerprint


def _changed_items(before: Sequence[ItemRecord], after: Sequence[ItemRecord], *, noun: str) -> str:
    known = {item.item_id: item.sha256() for item in before}
    changed = [item_name(item) for item in after if known.get(item.item_id) != item.sha256()]
    if not changed:
        return f"The new replies came to the same: all {len(after)} {noun}s are as they were."
    return (
        f"Changed: {', '.join(changed)}. The other {len(after) - len(changed)} of {counted(len(after), noun)} are as they were."
    )
