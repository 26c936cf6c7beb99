"""`amemgym`: the list of commands, and how each is loaded and ended."""

import atexit
import os
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from pipelines.cli.errors import user_errors

# Command: the module of `pipelines.cli` and its object, and the first sentence of its help.
COMMANDS = {
    "plan": ("costs:plan", "Say calls, tokens, money and time per stage, with intervals, before the first paid call."),
    "quality": (
        "show:quality",
        "Say how good a variant is and write the page of its quality report. Exit status 1: it may not be released.",
    ),
    "release": (
        "release:release",
        "Freeze a variant's current users into an immutable release folder, without making any of them again.",
    ),
    "diff": (
        "release:diff",
        "Tell what changed from one release to another: users, questions, answers, keys, words, figures, settings.",
    ),
    "verify": (
        "release:verify",
        "Check every digest, every table, every configuration; one sentence for each problem, and exit status 1.",
    ),
    "publish": (
        "release:publish",
        "Publish a release on the Hub: one commit, then its tag. Run it again to go on where it stopped.",
    ),
    "fetch": (
        "release:fetch",
        "Fetch a release from the Hub, check every file, and print its folder. Later it is there without the network.",
    ),
    "evaluate": (
        "evaluate:evaluate",
        "Evaluate assistants on-policy and report their memory. Give the same command again to go on where it stopped.",
    ),
    "compare": (
        "evaluate:compare",
        "Compare runs over the same users, in the terminal and as a page: differences with intervals, ranks on- and "
        "off-policy.",
    ),
    "leaderboard": ("evaluate:leaderboard", "Rank all finished runs, one page for each dataset."),
    "evolve": (
        "evolve:evolve",
        "Let an assistant's memory policy evolve through feedback, and tell learning from leaking. Again: goes on.",
    ),
    "generate": (
        "generate:generate",
        "Make a variant: all stages, their checks, and the release folder. Run it again to go on where it stopped.",
    ),
    "regenerate": (
        "generate:regenerate",
        "Make one user again from a stage on; every other user stays as it is, byte by byte.",
    ),
    "demo": ("generate:demo", "Make the small demo release and show one of its users."),
    "show": ("show:show", "Tell one user's story: profile, state, events, sessions, questions and answers."),
    "explore": ("show:explore", "Write a DuckDB file with views over all snapshots, for exploring by SQL."),
    "ui": ("serve:ui", "Open the Dagster UI on this project."),
    "model": ("serve:model_app", "The embedded model."),
    "recipe": ("recipe:app", "Recipes: the parameters of a variant."),
    "ledger": ("costs:ledger_app", "Every call that was made: calls, tokens, cost and hit rate."),
    "cache": ("cache:app", "The reply cache: every reply that was ever paid for."),
    "cluster": ("serve:cluster_app", "Work units on many workers (needs the extra `cluster`)."),
    "prompts": ("prompts:app", "Prompts: try them before you change them."),
    "annotate": ("annotate:app", "Annotation: have people check items by hand, and say how far they agree."),
}


def load_command(name: str) -> Any:
    """The command with its options. Imports its module."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(import_module(f"pipelines.cli.{module}"), attribute)
    if isinstance(command, typer.Typer):
        return get_group(command)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name)(command)
    return get_command(single)


class CommandGroup(TyperGroup):
    """Lists all commands, and imports the module of the one that is called: `amemgym --help` imports none."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (_, sentence) in COMMANDS.items():
            self.add_command(TyperCommand(name, help=sentence, rich_markup_mode=None))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name in COMMANDS else command, rest


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Synthesize the AMemGym benchmark: make variants, read what was made, serve the embedded model.",
)


@app.callback()
def amemgym() -> None:
    """Exists because typer needs one command or callback of its own to make a group."""


def main() -> None:
    """Entry point. A problem that the user can solve ends with one sentence and exit status 1."""
    status = 1  # also of an error that nothing below catches

    def exit_now() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

    # What is registered first runs last: threads have ended then, and temporary folders are gone. Python would go on to take
    # down every module object by object, which takes as long as a short command itself.
    atexit.register(exit_now)
    try:
        app()
    except SystemExit as end:  # how a command ordinarily ends
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise
    except user_errors() as problem:
        print(f"amemgym: {problem}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\namemgym: stopped; everything finished so far is kept, run the same command to go on.", file=sys.stderr)
        status = 130


if __name__ == "__main__":
    main()
