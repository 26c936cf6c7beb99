"""`amemgym`: make, look at, serve."""

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from pipelines.cli.annotate import app as annotate_app
from pipelines.cli.cache import app as cache_app
from pipelines.cli.cluster import app as cluster_app
from pipelines.cli.diff import diff
from pipelines.cli.ending import Ending
from pipelines.cli.evaluation import compare, evaluate, leaderboard
from pipelines.cli.evolve import evolve
from pipelines.cli.ledger import app as ledger_app
from pipelines.cli.plan import plan
from pipelines.cli.problems import mendable
from pipelines.cli.prompts import app as prompts_app
from pipelines.cli.publish import fetch, publish
from pipelines.cli.quality import quality
from pipelines.cli.release import release
from pipelines.cli.verify import verify

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
app.add_typer(cluster_app, name="cluster")
app.add_typer(prompts_app, name="prompts")
app.add_typer(annotate_app, name="annotate")
for command in (plan, quality, release, diff, verify, publish, fetch, evaluate, compare, leaderboard, evolve):
    app.command()(command)

SetOption = Annotated[
    Optional[list[str]],
    typer.Option("--set", metavar="FIELD=VALUE", help="Override a field of the recipe, as in --set num_users=3."),
]


@app.command()
def generate(
    variant: Annotated[str, typer.Argument(help="demo, base, extra, or the name of a recipe file of your own, without .yaml.")],
    overrides: SetOption = None,
    model: Annotated[str, typer.Option(help="One model for every role, in place of the recipe's.")] = "",
    concurrency: Annotated[int, typer.Option(min=1, help="Users worked on at once.")] = 32,
    version: Annotated[str, typer.Option(help="Version of the release, or auto.")] = "auto",
    offline: Annotated[bool, typer.Option("--offline", help="Ask no model; use recorded replies only.")] = False,
) -> None:
    """Make a variant: all stages, their checks, and the release folder. Run it again to go on where it stopped."""
    from pipelines.cli.generate import Manner, generate_variant
    from pipelines.cli.recipe import checked_recipe

    roles = [f"models.{role}.model={model}" for role in ("writer", "judge", "user_simulator") if model]
    words = [*(overrides or []), *roles]
    generate_variant(checked_recipe(variant, words), Manner(concurrency, version, offline))


@app.command()
def regenerate(
    user: Annotated[str, typer.Argument(help="Number (1, 2, ...), name or id of a user, or all.")],
    stage: Annotated[str, typer.Option("--from", help="The stage that is asked anew; the stages below follow.")],
    variant: Annotated[str, typer.Option(help="Which variant.")] = "demo",
    concurrency: Annotated[int, typer.Option(min=1, help="Users worked on at once.")] = 32,
    version: Annotated[str, typer.Option(help="Version of the release, or auto.")] = "auto",
) -> None:
    """Make one user again from a stage on; every other user stays as it is, byte by byte."""
    from pipelines.cli.generate import Manner
    from pipelines.cli.regenerate import regenerate_user

    regenerate_user(user, stage=stage, variant=variant, manner=Manner(concurrency, version))


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


@model_app.command("serve")
def serve(
    port: Annotated[int, typer.Option(help="Port of the API.")] = 8321,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    api_key: Annotated[str, typer.Option(envvar="AMEMGYM_SERVE_KEY", help="Ask clients for this key.")] = "",
    gguf: Annotated[Optional[Path], typer.Option(help="Serve these weights instead (needs the extra `local`).")] = None,
    latency: Annotated[float, typer.Option(min=0, help="Seconds before each answer of the embedded model.")] = 0.0,
) -> None:
    """Serve the embedded model, or the weights of a real one, with the OpenAI API on a port."""
    if gguf is not None:
        from pipelines.cli.serve_gguf import LocalModel, serve_gguf

        return serve_gguf(LocalModel(gguf), host=host, port=port, api_key=api_key, latency=latency)
    from pipelines.cli.serve import serve_model

    return serve_model(host, port=port, api_key=api_key, latency=latency)


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


@recipe_app.command("fields")
def list_fields() -> None:
    """List every field that a recipe may set: meaning, kind, unit, range, default."""
    from pipelines.cli.recipe import print_fields

    print_fields()


@recipe_app.command("import")
def import_recipe(
    path: Annotated[str, typer.Argument(help="A JSON configuration of the paper's code.")],
    name: Annotated[str, typer.Argument(help="Name of the new variant.")],
) -> None:
    """Turn a configuration file of the paper's code into a recipe."""
    from pipelines.cli.recipe import import_reference_config

    import_reference_config(path, name=name)


def main() -> None:
    """Entry point. A problem the user can mend ends with one sentence and exit status 1."""
    ending = Ending()
    try:
        app()
    except SystemExit as end:  # the ordinary end of a command: nothing is looked up for it
        if isinstance(end.code, int):
            ending.status = end.code
        raise
    except mendable() as problem:
        print(f"amemgym: {problem}", file=sys.stderr)
        ending.status = 1
    except KeyboardInterrupt:
        print("\namemgym: stopped; everything finished so far is kept, run the same command to go on.", file=sys.stderr)
        ending.status = 130
    sys.exit(ending.status)


if __name__ == "__main__":
    main()
