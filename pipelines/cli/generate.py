"""`amemgym generate`, `regenerate` and `demo`: make a variant with the same assets, checks and storage as the UI."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from assets.engine.benchmark import Benchmark
from assets.engine.progress import duration
from assets.engine.provenance import ResolvedRecipe, is_report_of
from assets.engine.recipe_asset import embedded_model_notice, observe_recipe_files, with_embedded_model
from assets.isolation.boundary import TRUST
from assets.llm.ports import EndpointError
from assets.recipe.config_schema import RESET, launchpad_config
from assets.recipe.model_policy import ROLES
from assets.recipe.recipe import EVERYONE, Recipe, units
from assets.records.base import ItemRecord
from assets.records.problems import nearest_first
from assets.reporting.plurals import counted
from dataset_card.release.manifest import ReleaseError
from dataset_card.release_store.folder import check_next_version
from pipelines.benchmarks import BENCHMARKS, benchmark_of, entry_of
from pipelines.cli.dagster_runs import (
    RunOptions,
    checks_sentence,
    dagster_instance,
    open_context,
    print_made,
    release_folder,
    run_phase,
    storage_errors,
)
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
from pipelines.errors import Problem
from pipelines.home import home, obstacles
from pipelines.jobs import Phase, phases
from pipelines.opening.finished_run import digest_of_makers, digest_of_program, keep_finished_run, unchanged_run
from pipelines.resources.llm.place import check_reachable
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.io_manager import open_asset_values

R = TypeVar("R", bound=Recipe)
# The stages themselves are imported when they are asked for: those of all benchmarks are 20 thousand lines.
STAGE_HELP = "The stage that is asked again; the stages after it follow. What is none is answered with those there are."
ConcurrencyOption = Annotated[int, typer.Option(min=1, help="Users processed at the same time.")]


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
    variant = recipe.variant
    benchmark = benchmark_of(recipe)
    for sentence in obstacles(home()):
        raise Problem(sentence)
    with (
        LiveProgress(console, quiet=options.quiet) as progress,
        open_context(home(), options, progress) as run_context,
        storage_errors(),
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
            results = [
                run_phase(phase, entry_of(recipe), run_context=run_context, instance=instance) for phase in phases_of_all
            ]
        folder = release_folder(results[-1], benchmark)
        checks = checks_sentence(results)
        made = open_asset_values(home()).find(benchmark.key("recipe"), variant)
        assert isinstance(made, ResolvedRecipe)
        made_by = digest_of_makers(program, made.recipe, version=options.version)  # the run may have given it a salt
        keep_finished_run(home(), benchmark, results, made_by=made_by, folder=folder, checks=checks)
    print_made(folder, f"{checks}, {duration(progress.seconds_after)}", started=started, quiet=options.quiet)
    return folder


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


def runs_of(recipe: Recipe, *, version: str) -> Iterator[Phase]:
    """Yield the runs that make the recipe's variant and its release. The recipe already contains earlier overrides."""
    benchmark = benchmark_of(recipe)
    config = {
        benchmark.op("recipe"): {"config": {**launchpad_config(recipe), RESET: True}},
        benchmark.op("release"): {"config": {"version": version}},
    }
    return phases(benchmark, recipe.variant, units=[unit.key for unit in units(recipe)], config=config)


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
