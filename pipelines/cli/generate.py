"""`amemgym generate`, `regenerate` and `demo`: make a variant with the same assets, checks and storage as the UI."""

import os
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import dagster as dg
import typer
import yaml
from sqlalchemy.exc import DatabaseError

from assets.engine.benchmark import Benchmark
from assets.engine.ports import VALUES, RunContext
from assets.engine.progress import duration
from assets.engine.provenance import ResolvedRecipe, is_report_of
from assets.engine.recipe_asset import embedded_model_notice, observe_recipe_files, with_embedded_model
from assets.isolation.boundary import TRUST
from assets.llm.ports import EndpointError
from assets.recipe.config_schema import RESET, launchpad_config
from assets.recipe.loading import nearest_first, units
from assets.recipe.model_policy import ROLES
from assets.recipe.recipe import EVERYONE, Recipe
from assets.records.base import ItemRecord
from assets.reporting.plurals import counted
from dataset_card.release.manifest import ReleaseError
from dataset_card.release_store.folder import check_next_version
from pipelines.benchmark_definitions import definitions_of
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry, benchmark_of, entry_of
from pipelines.cli.options import (
    ModelOption,
    QuietOption,
    RecipeArgument,
    ResetOption,
    SetOption,
    TrustOption,
    VariantOption,
    VersionOption,
)
from pipelines.cli.recipe import recipe_in_file, recipe_to_follow
from pipelines.cli.stories import choose_item, finished_items, print_item
from pipelines.cli.terminal import LiveProgress, TextConsole, print_plain, stderr_console, stdout_console
from pipelines.crash_report import StepFailed
from pipelines.errors import Problem
from pipelines.home import Home, home, obstacles
from pipelines.jobs import Phase, phases, release_phase
from pipelines.opening.dagster_files import cancel_killed_commands
from pipelines.opening.dagster_resources import configured_resources
from pipelines.opening.doctor import check_dagster_storage, sound_dagster_storage
from pipelines.opening.finished_run import digest_of_makers, digest_of_program, keep_finished_run, unchanged_run
from pipelines.opening.models import open_run_context
from pipelines.resources.llm.place import check_reachable
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.io_manager import open_asset_values

# Dagster would capture the output with extra processes, which print tracebacks at Ctrl-C.
WITHOUT_CAPTURE = {
    "compute_logs": {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
}
DAGSTER_FILES = "pipelines.opening.dagster_files"
# Dagster's daemon must not retry a command's run: the user who started the command sees that it failed.
NO_RETRIES = {"dagster/max_retries": "0"}
R = TypeVar("R", bound=Recipe)
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}  # the command shows its own progress
# The stages themselves are imported when they are asked for: those of all benchmarks are 20 thousand lines.
STAGE_HELP = "The stage that is asked again; the stages after it follow. What is none is answered with those there are."
ConcurrencyOption = Annotated[int, typer.Option(min=1, help="Users processed at the same time.")]


@dataclass(frozen=True)
class RunOptions:
    """Settings of a run that do not change its rows. `concurrency`: items at the same time. `quiet`: show no progress.

    `offline`: ask no model, use only the reply cache.
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
    trust_packages: TrustOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a variant: all stages, their checks, and the release folder. Run it again to continue where it stopped.

    Overrides are kept: later runs use them too, until they are overridden again or --reset is given.
    """
    _trust_packages(trust_packages)
    recipe = recipe_to_follow(variant, overrides, model=model, reset=reset)
    generate_variant(recipe, RunOptions(concurrency, version, offline, quiet))


def _asking_stages() -> list[str]:
    return [stage for entry in BENCHMARKS.values() for stage in entry.benchmark.asking_stages]


def regenerate(
    item: Annotated[str, typer.Argument(help="Number (1, 2, ...), name or id of a user or a task, or the word all.")],
    stage: Annotated[str, typer.Option("--from", help=STAGE_HELP, autocompletion=_asking_stages)],
    variant: VariantOption = "demo",
    concurrency: ConcurrencyOption = 32,
    version: VersionOption = "auto",
    trust_packages: TrustOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make one user or task again from a stage on. All others stay the same, byte for byte."""
    _trust_packages(trust_packages)
    benchmark = benchmark_of(recipe_in_file(variant))
    before = finished_items(variant)
    item_id = EVERYONE if item == EVERYONE else choose_item(item, before, noun=benchmark.noun).item_id
    if stage not in benchmark.asking_stages:
        known = nearest_first(stage, benchmark.asking_stages)
        raise Problem(f"--from {stage!r} is not a stage that asks a model; there are {known}.")
    last = recipe_to_follow(variant)
    recipe = asked_again(last, item_id=item_id, stage=stage, finished=_is_finished(variant, benchmark))
    generate_variant(recipe, RunOptions(concurrency, version, quiet=quiet))
    print_plain(TextConsole(stderr=True), _changed_items(before, finished_items(variant), noun=benchmark.noun))
    print(f"Later runs keep this; `amemgym generate {variant} --reset` goes back to {variant}.yaml.")


def _trust_packages(trusted: bool) -> None:
    """Set the environment variable that trusts the packages' code, for the stages and checks of this process."""
    if trusted:
        os.environ[TRUST] = "1"


def demo(quiet: QuietOption = False) -> None:
    """Make the small demo release and show one of its users."""
    folder = generate_variant(recipe_to_follow("demo"), RunOptions(quiet=quiet))
    print_item("1", variant="demo", brief=True)
    console = stdout_console()
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    console.print(f"\nThe release is in [bold]{shown}[/bold]; start with README.md and demo/data.json there.")
    console.print("Next: [bold]amemgym show 2[/bold] tells another user's story (from .venv/bin), and")
    console.print("      [bold]make ui[/bold] opens the same assets in Dagster.")


def generate_variant(recipe: Recipe, options: RunOptions) -> Path:
    """Make the variant and its release, unless nothing has changed; return its folder. Raises Problem with one sentence."""
    console = stderr_console()
    started = time.monotonic()
    variant, benchmark = recipe.variant, benchmark_of(recipe)
    for sentence in obstacles(home()):
        raise Problem(sentence)
    with (
        LiveProgress(console, quiet=options.quiet) as progress,
        _run_context(home(), options, progress) as run_context,
        _storage_errors(),
    ):
        check_version_of(recipe, version=options.version, embedded=run_context.embedded_model)
        if not options.offline:
            check_endpoint_for(recipe)
        for sentence in asked_models(recipe, embedded=run_context.embedded_model, offline=options.offline):
            print_plain(console, sentence)
        program = digest_of_program()
        resolved = benchmark.resolve(with_embedded_model(recipe, embedded_model=run_context.embedded_model))
        made_by = digest_of_makers(program, resolved, version=options.version)
        with dagster_instance() as instance:
            last = unchanged_run(home(), benchmark, variant, made_by=made_by, instance=instance)
            if last is not None:
                folder = home().root / last.folder
                console.print(f"Nothing to do for [bold]{variant}[/bold], all is as it was made ({last.checks}): {folder}")
                return folder
            observe_recipe_files(instance, benchmark)
            phases_of_all = runs_of(recipe, version=options.version)
            results = [_run(phase, entry_of(recipe), run_context=run_context, instance=instance) for phase in phases_of_all]
        folder = _release_folder(results[-1], benchmark)
        checks = checks_sentence(results)
        made = open_asset_values(home()).find(benchmark.key("recipe"), variant)
        assert isinstance(made, ResolvedRecipe)
        made_by = digest_of_makers(program, made.recipe, version=options.version)  # the run may have given it a salt
        keep_finished_run(home(), benchmark, results, made_by=made_by, folder=folder, checks=checks)
    _print_made(folder, f"{checks}, {duration(progress.seconds_after)}", started=started, quiet=options.quiet)
    return folder


def run_phases(runs: Iterable[Phase], entry: BenchmarkEntry, options: RunOptions) -> None:
    """Make the assets of these runs alone, of which the last releases the variant. Raises Problem with one sentence."""
    started = time.monotonic()
    with (
        LiveProgress(stderr_console(), quiet=options.quiet) as progress,
        _run_context(home(), options, progress) as run_context,
        _storage_errors(),
        dagster_instance() as instance,
    ):
        results = [_run(phase, entry, run_context=run_context, instance=instance) for phase in runs]
        folder = _release_folder(results[-1], entry.benchmark)
    checks = checks_sentence(results)
    _print_made(folder, f"{checks}, {duration(progress.seconds_after)}", started=started, quiet=options.quiet)


def _print_made(folder: Path, checks: str, *, started: float, quiet: bool) -> None:
    """Print which checks passed, unless `quiet`, and where the release is."""
    console, variant = stderr_console(), folder.parent.name
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


def check_version_of(recipe: Recipe, *, version: str, embedded: str | None) -> None:
    """Raise Problem if the release could not get this version. Otherwise that would be found only after paid calls.

    Releases in an object store are not checked here; a version that is too low is refused when the release is written.
    """
    try:
        check_next_version(
            version,
            home=home().releases / recipe.variant,
            fingerprint=lambda: benchmark_of(recipe).resolve(with_embedded_model(recipe, embedded_model=embedded)).fingerprint,
        )
    except ReleaseError as error:
        raise Problem(str(error)) from error


def check_endpoint_for(recipe: Recipe) -> None:
    """Raise Problem if the endpoint does not answer. A recipe whose rows are all finished needs no endpoint."""
    settings = EndpointSettings.from_environment()
    benchmark = benchmark_of(recipe)
    report = open_asset_values(home()).find(benchmark.key("quality_report"), recipe.variant)
    if settings is None or is_report_of(report, benchmark.resolve(recipe)):
        return
    try:
        check_reachable(settings)
    except EndpointError as error:
        raise Problem(f"{error} To use recorded replies alone, give --offline.") from error


def asked_models(recipe: Recipe, *, embedded: str | None, offline: bool) -> Iterator[str]:
    """Yield the sentences to print before the first call: the endpoint, and the model of each role."""
    if embedded is not None:
        sentence = embedded_model_notice(recipe.models, embedded_model=embedded)
        if sentence:
            yield sentence
        return
    endpoint = EndpointSettings.from_environment()
    if offline or endpoint is None:
        yield "No model is asked: replies come from the cache."
    else:
        yield f"{recipe.variant}: asks {endpoint.address}."
    roles: list[str] = []
    for role in ROLES:
        name = " and ".join(recipe.models.judge.panel) if role == "judge" else recipe.models.for_role(role).model
        roles.append(f"{role.replace('_', ' ')} {name}")
    yield f"Models: {', '.join(roles)}."


def freeze_variant(variant: str, *, version: str) -> Path:
    """Release the finished users, and return the release's folder. Raises Problem with one sentence."""
    entry = entry_of(recipe_in_file(variant))
    benchmark = entry.benchmark
    phase = release_phase(benchmark, variant, config={benchmark.op("release"): {"config": {"version": version}}})
    with (
        LiveProgress(stderr_console()) as progress,
        _run_context(home(), RunOptions(concurrency=1, offline=True), progress) as run_context,
        _storage_errors(),
        dagster_instance() as instance,
    ):
        result = _run(phase, entry, run_context=run_context, instance=instance)
        return _release_folder(result, benchmark)


def runs_of(recipe: Recipe, *, version: str) -> Iterator[Phase]:
    """Yield the runs that make the recipe's variant and its release. The recipe already contains earlier overrides."""
    benchmark = benchmark_of(recipe)
    config = {
        benchmark.op("recipe"): {"config": {**launchpad_config(recipe), RESET: True}},
        benchmark.op("release"): {"config": {"version": version}},
    }
    return phases(benchmark, recipe.variant, units=[unit.key for unit in units(recipe)], config=config)


def _run_context(installation: Home, options: RunOptions, progress: LiveProgress) -> Any:
    try:
        return open_run_context(
            installation,
            items_at_once=options.concurrency,
            report=progress.show,
            report_step=progress.show_step,
            on_batch_progress=progress.show_batch,
            mode="replay" if options.offline else "use",
        )
    except OSError as error:
        raise Problem(f"The data folder {installation.root} cannot be used: {error.strerror or error}.") from error


def dagster_instance() -> dg.DagsterInstance:
    """Open Dagster's storage of this installation. Raises Problem with one sentence."""
    installation = home()
    try:
        with sound_dagster_storage(installation) as folder:
            os.environ["DAGSTER_HOME"] = str(folder)
            instance = dg.DagsterInstance.from_config(str(folder), _settings_without_capture(folder).name)
            for sentence in cancel_killed_commands(instance):
                print_plain(stderr_console(), sentence)
            return instance
    except OSError as error:
        raise Problem(f"Dagster's folder {installation.dagster} cannot be used: {error.strerror or error}.") from error


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
def _storage_errors() -> Generator[None, None, None]:
    try:
        yield
    except DatabaseError as error:
        check_dagster_storage(home(), runs=True)
        raise Problem(
            f"Dagster's storage in {home().dagster} cannot be used: {error.orig}. Everything finished so far is kept: "
            "free some space or repair the folder, and run the same command to continue."
        ) from error


def _run(
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


def _release_folder(result: dg.ExecuteInProcessResult, benchmark: Benchmark) -> Path:
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


def asked_again(recipe: R, *, item_id: str, stage: str, finished: bool) -> R:
    """Return the recipe with one more try for this item's stage. `finished`: the variant's last run was finished.

    If the last run was itself a try for this item and stage, and was interrupted, the recipe is returned unchanged. Raises
    Problem if another run was interrupted, because then the set of items is unknown.
    """
    own = dict(recipe.again.get(item_id, {}))
    if not finished and stage in own:
        return recipe
    if not finished:
        raise Problem(f"The last run of {recipe.variant!r} did not finish; finish it first, with the command that started it.")
    again: dict[str, object] = {**recipe.again, item_id: {**own, stage: own.get(stage, 0) + 1}}
    return type(recipe).model_validate({**recipe.model_dump(), "again": again})


def _is_finished(variant: str, benchmark: Benchmark) -> bool:
    """Return whether the last quality report belongs to the last recipe, which means that all its items are made."""
    values = open_asset_values(home())
    recipe = values.find(benchmark.key("recipe"), variant)
    report = values.find(benchmark.key("quality_report"), variant)
    return isinstance(recipe, ResolvedRecipe) and is_report_of(report, recipe.recipe)


def _changed_items(before: Sequence[ItemRecord], after: Sequence[ItemRecord], *, noun: str) -> str:
    known = {item.item_id: item.sha256() for item in before}
    changed = [item.display_name for item in after if known.get(item.item_id) != item.sha256()]
    if not changed:
        return f"The new replies changed nothing: all {len(after)} {noun}s are as they were."
    return (
        f"Changed: {', '.join(changed)}. The other {len(after) - len(changed)} of {counted(len(after), noun)} are as they were."
    )
