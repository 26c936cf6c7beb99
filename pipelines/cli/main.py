"""`amemgym`: make, look at, serve."""

import sys
from typing import Annotated, Optional

import typer

from pipelines.cli.cache import app as cache_app
from pipelines.cli.ledger import app as ledger_app
from pipelines.cli.plan import plan
from pipelines.cli.publish import fetch, publish
from pipelines.cli.weather_options import with_weather
from pipelines.embedded.provider_weather import Weather

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Synthesize the AMemGym benchmark: make variants, read what was made, serve the embedded model.",
)
model_app = typer.Typer(no_args_is_help=True, help="The embedded model.")
recipe_app = typer.Typer(no_args_is_help=True, help="Recipes: the parameters of a variant.")
app.add_typer(model_app, name="model")
app.add_typer(recipe_app, name="recipe")
app.add_typer(ledger_app, name="ledger")
app.add_typer(cache_app, name="cache")
app.command()(plan)
app.command()(publish)
app.command()(fetch)

SetOption = Annotated[
    Optional[list[str]],
    typer.Option("--set", metavar="FIELD=VALUE", help="Override a field of the recipe, as in --set num_users=3."),
]


@app.command()
def generate(
    variant: Annotated[str, typer.Argument(help="demo, base, extra, or a recipe file of your own.")],
    overrides: SetOption = None,
    model: Annotated[str, typer.Option(help="One model for every role, in place of the recipe's.")] = "",
    concurrency: Annotated[int, typer.Option(min=1, help="Users worked on at once.")] = 32,
    version: Annotated[str, typer.Option(help="Version of the release, or auto.")] = "auto",
) -> None:
    """Make a variant: all stages, their checks, and the release folder. Run it again to go on where it stopped."""
    from pipelines.cli.generate import generate_variant

    roles = [f"models.{role}.model={model}" for role in ("writer", "judge", "user_simulator") if model]
    generate_variant(variant, overrides=[*(overrides or []), *roles], concurrency=concurrency, version=version)


@app.command()
def demo() -> None:
    """Make the small demo release and show one of its users."""
    from pipelines.cli.generate import make_demo

    make_demo()


@app.command()
def show(
    user: Annotated[str, typer.Argument(help="Number (1, 2, ...), name or id of a user.")] = "1",
    variant: Annotated[str, typer.Option(help="Which variant.")] = "demo",
) -> None:
    """Tell one user's story: profile, state, events, sessions, questions and answers."""
    from pipelines.cli.show import show_user

    show_user(user, variant=variant)


@app.command()
def explore() -> None:
    """Write a DuckDB file with views over all snapshots, for exploring by SQL."""
    from pipelines.cli.show import write_explorer_file

    write_explorer_file()


@app.command()
def ui(
    port: Annotated[int, typer.Option(help="Port of the page.")] = 3000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
) -> None:
    """Open the Dagster UI on this project."""
    from pipelines.cli.ui import run_ui

    run_ui(host, port=port)


@app.command()
def evaluate(
    dataset: Annotated[str, typer.Argument(help="A variant with a release, a release folder, or a data.json.")],
    assistant: Annotated[list[str], typer.Option(help="Name or YAML/JSON file of an assistant; may be repeated.")],
    model: Annotated[str, typer.Option(help="Model of the assistant.")] = "",
    embedding_model: Annotated[str, typer.Option(help="Model of its embeddings.")] = "",
    user_model: Annotated[str, typer.Option(help="Model that plays the user, and checks what it says.")] = "",
    users: Annotated[Optional[int], typer.Option(help="Only the first so many users.")] = None,
    replay: Annotated[str, typer.Option(metavar="RUN", help="Off-policy: replay the dialogues of this run.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of options, and of all calls.")] = 42,
    attempt: Annotated[int, typer.Option(min=0, help="Raise it to evaluate once more, with new replies.")] = 0,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no model; use recorded replies only.")] = False,
) -> None:
    """Evaluate assistants on-policy and report their memory. Give the same command again to go on where it stopped."""
    from pipelines.cli.evaluate import evaluate_all
    from pipelines.evaluation.command import Order
    from pipelines.evaluation.plan import Options

    options = Options(model=model, embedding_model=embedding_model, user_model=user_model, seed=seed, attempt=attempt)
    cache = "replay" if offline else "use"
    evaluate_all([Order(dataset, name, options, users=users, replayed=replay, cache=cache) for name in assistant])


@app.command()
def compare(runs: Annotated[list[str], typer.Argument(help="Folders or ids of finished runs.")]) -> None:
    """Compare runs over the same users: differences with intervals and tests, ranks on- and off-policy."""
    from pipelines.cli.evaluate import compare_runs

    compare_runs(runs)


@model_app.command("serve")
@with_weather
def serve(
    port: Annotated[int, typer.Option(help="Port of the API.")] = 8321,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    api_key: Annotated[str, typer.Option(envvar="AMEMGYM_SERVE_KEY", help="Ask clients for this key.")] = "",
    *,
    weather: Weather,
) -> None:
    """Serve the embedded model with the OpenAI API on a port, in fair weather or as a slow, metered, unreliable provider."""
    from pipelines.cli.serve import serve_model

    serve_model(host, port=port, api_key=api_key, weather=weather)


@recipe_app.command("list")
def list_recipes() -> None:
    """List the recipes with their main numbers."""
    from pipelines.cli.recipe import print_recipes

    print_recipes()


@recipe_app.command("show")
def show_recipe(variant: Annotated[str, typer.Argument(help="Which variant.")], overrides: SetOption = None) -> None:
    """Print a recipe with all its fields, as YAML."""
    from pipelines.cli.recipe import print_recipe

    print_recipe(variant, overrides=overrides or [])


@recipe_app.command("import")
def import_recipe(
    path: Annotated[str, typer.Argument(help="A JSON configuration of the paper's code.")],
    name: Annotated[str, typer.Argument(help="Name of the new variant.")],
) -> None:
    """Turn a configuration file of the paper's code into a recipe."""
    from pipelines.cli.recipe import import_reference_config

    import_reference_config(path, name=name)


def mendable() -> tuple[type[Exception], ...]:
    """The errors whose words are for the user; asked for when one occurs, because their modules take time to import."""
    from assets.ports import EndpointError
    from pipelines.cli.problems import Problem
    from pipelines.resources.keyed_store import StoreError

    return Problem, EndpointError, StoreError


def main() -> None:
    """Entry point. A problem the user can mend ends with one sentence and exit status 1."""
    try:
        app()
    except SystemExit:
        raise  # the ordinary end of a command: nothing is looked up for it
    except mendable() as problem:
        print(f"amemgym: {problem}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\namemgym: stopped; everything finished so far is kept, run the same command to go on.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
