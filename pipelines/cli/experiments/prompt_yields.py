"""`amemgym prompts yield`: count the replies to a run's prompts."""

from typing import Annotated

from rich.console import Console

from assets.engine.provenance import ResolvedRecipe
from assets.llm.async_calls import run_to_end
from assets.reporting.plurals import counted
from assets.reporting.text_table import print_table
from pipelines.benchmarks import benchmark_of
from pipelines.cli.options import RecipeArgument, command_group, json_option
from pipelines.cli.recipe import recipe_to_follow
from pipelines.cli.terminal import print_json, print_plain, stdout_console
from pipelines.errors import Problem
from pipelines.experiments.prompt_yields import Yields, variant_sources, yields_of
from pipelines.home import home
from pipelines.opening.models import open_run_context
from pipelines.resources.storage.io_manager import open_asset_values

PANEL = "Recipes, prompts and models"
app = command_group("Prompts: what they brought about.")


@app.command("yield")
def show_yield(
    variant: RecipeArgument,
    as_json: Annotated[bool, json_option("prompts", "gates", "begun", "finished", "given_up")] = False,
) -> None:
    """Print for each prompt of a run how many replies passed or were sent back, and why; and for each gate, its tries.

    The figures are computed in memory from the reply cache: no model is asked, and nothing is stored.
    """
    yields = yields_of_run(variant)
    if as_json:
        print_json(yields)
        return
    print_yields(stdout_console(), yields, variant=variant)


def yields_of_run(variant: str) -> Yields:
    """Return the yields of the variant's last run. Raises Problem if no persona has been drawn yet."""
    recipe = recipe_to_follow(variant)
    benchmark = benchmark_of(recipe)
    resolved = open_asset_values(home()).find(benchmark.key("recipe"), variant)
    sources = variant_sources(home(), benchmark, variant)
    if not isinstance(resolved, ResolvedRecipe) or not sources:
        raise Problem(f"Nothing of {variant!r} is made yet; make it with: amemgym generate {variant}")

    async def replay() -> Yields:
        with open_run_context(home(), mode="replay") as run_context:
            return await yields_of(benchmark, resolved.recipe, sources, model=run_context.model)

    return run_to_end(replay())


def print_yields(console: Console, yields: Yields, *, variant: str) -> None:
    """Print the prompts, the objections to their replies, the gates, and how many items were given up at each place."""
    head = ("prompt", "asked", "at once", "after objections", "never")
    rows = [
        (name, str(figures.asked), str(figures.at_once), str(figures.after_objections), str(figures.never))
        for name, figures in yields.prompts.items()
    ]
    print_table(console, head, rows, title=f"{variant}: {yields.finished} of {yields.begun} started items are finished")
    for name, one in yields.prompts.items():
        for reason, count in one.objections.items():
            print_plain(console, f"{name}, sent back {counted(count, 'time')}: {reason}")
    gates = [
        (name, str(figures.texts), str(figures.at_once), str(figures.after_rewrites), str(figures.never))
        for name, figures in yields.gates.items()
    ]
    print_table(console, ("gate", "texts", "at once", "after rewrites", "never"), gates, title="Gates")
    for where, count in yields.given_up.items():
        print_plain(console, f"given up at {where}: {count}")
