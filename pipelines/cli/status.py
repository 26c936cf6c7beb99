"""`amemgym status`: what is out of date, by variant, and a way to make just that."""

from typing import Annotated, Any, Optional

import typer

from assets.engine.recipe_asset import observe_recipe_files
from assets.recipe.loading import RecipeError, check_variant, load_recipe, variants
from assets.reporting.text_table import print_table
from pipelines.benchmark_definitions import definitions_of
from pipelines.benchmarks import BenchmarkEntry, entry_of
from pipelines.cli.dagster_runs import RunOptions, dagster_instance, run_phases
from pipelines.cli.options import QuietOption, json_option
from pipelines.cli.terminal import print_json, stdout_console
from pipelines.errors import Problem
from pipelines.home import home
from pipelines.opening.out_of_date import OutOfDate, find_out_of_date, phases_of
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import snapshot_files


def status(
    variant: Annotated[Optional[str], typer.Argument(help="A variant; without one, all that were made here.")] = None,
    make: Annotated[
        bool, typer.Option("--make", help="Make what is out of date of this variant, and what is made of it.")
    ] = False,
    quiet: QuietOption = False,
    as_json: Annotated[bool, json_option("of each variant, assets with partition and why")] = False,
) -> None:
    """Print what is out of date of each variant, and why. --make makes just that; nothing is published or evaluated."""
    if make and variant is None:
        raise Problem("Name the variant to make, as in: amemgym status demo --make")
    if variant is not None:
        check_variant(variant)
    names, problems = ([variant], []) if variant else _variants_made()
    found = {name: _look(name) for name in names}
    if make and variant is not None and found[variant]:
        entry = entry_of(load_recipe(variant))
        if not as_json:
            _print_status(variant, found[variant], making=True)
        run_phases([*phases_of(found[variant], entry.benchmark, variant)], entry, RunOptions(quiet=quiet))
        found = {variant: _look(variant)}
    if as_json:
        print_json(found)
    elif not found:
        print("No variant was made here yet; amemgym generate demo makes one.")
    else:
        for name, assets in found.items():
            _print_status(name, assets)
    if problems:
        raise Problem(" ".join(problems))


def _variants_made() -> tuple[list[str], list[str]]:
    """Return the variants that were made here, and what is wrong with recipes that cannot be used."""
    values = open_asset_values(home())
    found: list[str] = []
    problems: list[str] = []
    for name in variants():
        try:
            if values.find(entry_of(load_recipe(name)).benchmark.key("recipe"), name):
                found.append(name)
        except RecipeError as error:
            problems.append(str(error))
    return found, problems


def _look(variant: str) -> list[OutOfDate]:
    entry: BenchmarkEntry = entry_of(load_recipe(variant))
    values, files = open_asset_values(home()), snapshot_files(home())
    with dagster_instance() as instance:
        observe_recipe_files(instance, entry.benchmark)
        return find_out_of_date(instance, definitions_of(entry), entry.benchmark, variant, values=values, snapshots=files)


def _print_status(variant: str, assets: list[OutOfDate], *, making: bool = False) -> None:
    if not assets:
        print(f"{variant}: nothing is out of date.")
        return
    rows: list[tuple[Any, ...]] = [(each.asset, each.partition, each.why) for each in assets]
    print_table(stdout_console(), ("out of date", "partition", "why"), rows, title=variant)
    if not making:
        print(f"amemgym status {variant} --make makes these, and what is made of them.")
