"""`amemgym cluster`: many workers on one chain."""

from typing import Annotated, Optional

import typer

app = typer.Typer(no_args_is_help=True, help="Work units on many workers (needs the extra `cluster`).", rich_markup_mode=None)


@app.command("up")
def up(
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    port: Annotated[int, typer.Option(help="Port of the Dagster UI.")] = 3000,
) -> None:
    """Start Redis, Postgres, workers, daemon and UI on this machine, and look after them until Ctrl-C."""
    import signal
    import sys

    from pipelines.cli.problems import Problem
    from pipelines.home import home

    try:
        from pipelines.cluster.layout import Cluster
        from pipelines.cluster.services import Services
    except ModuleNotFoundError as error:
        raise Problem(f"The cluster needs the extra `cluster` ({error.name} is missing): pip install .[cluster]") from error

    cluster = Cluster(home(), workers=workers, port=port)
    services = Services(cluster, tell=lambda line: print(line, file=sys.stderr, flush=True))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        services.start()
        print(f"{workers} workers; Dagster is on {cluster.url} in a few seconds (Ctrl-C ends all).", flush=True)
        print(f"The shared database, for other commands: export AMEMGYM_DATABASE='{cluster.database}'", flush=True)
        services.look_after()
    except KeyboardInterrupt:
        print("Stopping; unfinished runs go on at the next start.", file=sys.stderr)
    finally:
        services.stop()


@app.command("generate")
def generate(
    variant: Annotated[str, typer.Argument(help="demo, base, extra, or the name of a recipe file of your own, without .yaml.")],
    overrides: Annotated[
        Optional[list[str]],
        typer.Option("--set", metavar="FIELD=VALUE", help="Override a field of the recipe, as in --set num_users=3."),
    ] = None,
    version: Annotated[str, typer.Option(help="Version of the release, or auto.")] = "auto",
    url: Annotated[str, typer.Option(help="The Dagster to ask; else the one that `cluster up` started.")] = "",
) -> None:
    """Make a variant on the workers: recipe, all work units at once, release."""
    from pipelines.cli.generate import phases
    from pipelines.cli.problems import Problem
    from pipelines.cli.recipe import checked_recipe
    from pipelines.cluster.remote import Deployment
    from pipelines.home import home

    words, known = overrides or [], home().root / "cluster" / "url"
    if not url and not known.exists():
        raise Problem(f"No cluster has been started in {home().root}; start one with amemgym cluster up, or give --url.")
    recipe = checked_recipe(variant, words)
    deployment = Deployment(url or known.read_text(encoding="utf-8"), tell=lambda line: print(line, flush=True))
    print(f"Made {variant}: {deployment.make(phases(recipe, version=version))}")
