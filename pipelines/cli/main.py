"""`amemgym`: the list of commands, and how each is loaded and ended."""

import atexit
import logging
import os
import re
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version as distribution_version
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command, get_group

from assets.engine.gc_control import pause_gc, settle_gc
from pipelines.cli import INTERRUPTED, STOPPED, UNREAD, stop_at_once
from pipelines.cli.errors import Problem, Stopped, report_crash, sentence_of, user_errors
from pipelines.cli.groups import WHOLE

# Commands in the order of use, by panel of the help: the module of `pipelines.cli` and its object, and the first sentence of
# the command's own help.
PANELS = {
    "Make": {
        "demo": ("generate:demo", "Make the small demo release and show one of its users."),
        "plan": ("costs:plan", "Say calls, tokens, money and time per stage, with intervals, before the first paid call."),
        "generate": (
            "generate:generate",
            "Make a variant: all stages, their checks, and the release folder. Run it again to go on where it stopped.",
        ),
        "regenerate": (
            "generate:regenerate",
            "Make one user or task again from a stage on; every other one stays as it is, byte by byte.",
        ),
        "release": (
            "release:release",
            "Freeze a variant's current users into an immutable release folder, without making any of them again.",
        ),
    },
    "Look at what was made": {
        "show": (
            "show:show",
            "Tell one user's story: profile, state, events, sessions, questions and answers; or a task's facts and documents.",
        ),
        "quality": (
            "show:quality",
            "Say how good a variant, or anybody's data, is and write the page of its quality report. "
            "Exit status 1: it has faults.",
        ),
        "diff": (
            "release:diff",
            "Tell what changed from one release to another: users, questions, answers, keys, words, figures, settings.",
        ),
        "verify": (
            "release:verify",
            "Check every digest, every table, every configuration; one sentence for each problem, and exit status 1.",
        ),
        "explore": ("show:explore", "Write a DuckDB file with views over all snapshots, for exploring by SQL."),
        "ui": ("serve:ui", "Open the Dagster UI on this project."),
    },
    "Score memories": {
        "evaluate": (
            "evaluate:evaluate",
            "Evaluate memories on a release of any benchmark, each with the same reasoner. The same command again goes on.",
        ),
        "compare": (
            "evaluate:compare",
            "Compare runs over the same users, in the terminal and as a page: differences with intervals, ranks on- and "
            "off-policy.",
        ),
        "leaderboard": ("evaluate:leaderboard", "Rank all finished runs, one page for each dataset."),
        "memory": ("memory:app", "Memories: hold one of your own to the contract."),
        "evolve": (
            "memory:evolve",
            "Let a memory's policy evolve through feedback, and tell learning from leaking. Again: goes on.",
        ),
        "export": (
            "memory:export",
            "Write documents and questions of a release of any benchmark for other harnesses: Parquet and JSONL, off-policy.",
        ),
        "inspect-log": ("evaluate:inspect_log", "Write a finished run as a log of Inspect, for its viewer."),
    },
    "Share, and have people check": {
        "publish": (
            "release:publish",
            "Publish a release on the Hub: one commit, then its tag. Run it again to go on where it stopped.",
        ),
        "fetch": (
            "release:fetch",
            "Fetch a release from the Hub, check every file, and print its folder. Later it is there without the network.",
        ),
        "deprecate": (
            "release:deprecate",
            "Say on the Hub that a version should not be used any more: in the card and in the list of versions. "
            "Its rows stay.",
        ),
        "annotate": ("annotate:app", "Annotation: have people check items by hand, and say how far they agree."),
    },
    "Recipes, prompts and models": {
        "recipe": ("recipe:app", "Recipes: the parameters of a variant."),
        "prompts": ("prompts:app", "Prompts: try them before you change them."),
        "model": ("serve:model_app", "The embedded model."),
    },
    "Keep in order": {
        "ledger": ("costs:ledger_app", "Every call that was made: calls, tokens, cost and hit rate."),
        "cache": ("cache:app", "The reply cache: every reply that was ever paid for."),
        "doctor": (
            "cache:doctor",
            "Check every file of the data folder, and say what is damaged and what can be made again. --repair repairs it.",
        ),
        "cluster": ("serve:cluster_app", "Work units on many workers (needs the extra `cluster`)."),
    },
}
COMMANDS = {name: command for panel in PANELS.values() for name, command in panel.items()}
NAME = max(map(len, COMMANDS))


# What begins with the name of a variant. A wrong name is told before the command's module is imported, which takes seconds.
BEGIN_WITH_A_VARIANT = ("generate", "plan", "release")

# What takes an item's number.
ABOUT_AN_ITEM, NEGATIVE = ("show", "regenerate"), re.compile(r"-\d+")

# What is no command any more, and what to say instead.
GONE = {"evaluate-documents": "It is amemgym evaluate RELEASE --memory NAME now, which takes releases of every benchmark."}


class ItemCommand(TyperCommand):
    """A command about one item, by number, name or id. A negative number looks like an option, and is none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = [*args]
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            number = next(filter(NEGATIVE.fullmatch, given), None)
            if number is None or isinstance(error, typer.BadParameter):  # which is about an option's value
                raise
        print(f"amemgym: Users and tasks are numbered from 1 on; there is no number {number}.", file=sys.stderr)
        raise typer.Exit(2)


def load_command(name: str) -> Any:
    """The command with its options. Imports its module."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    with pause_gc():  # it would search through what is being imported, which takes a quarter of the time
        command = getattr(import_module(f"pipelines.cli.{module}"), attribute)
    settle_gc()
    if isinstance(command, typer.Typer):
        return get_group(command)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, cls=ItemCommand if name in ABOUT_AN_ITEM else TyperCommand)(command)
    return get_command(single)


class CommandGroup(TyperGroup):
    """Lists all commands, and imports the module of the one that is called: `amemgym --help` imports none.

    Only now Ctrl-C is an exception: there is something to finish.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (_, sentence) in COMMANDS.items():
            self.add_command(TyperCommand(name, help=sentence, rich_markup_mode=None))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for panel, commands in PANELS.items():
            with formatter.section(typer.style(panel, bold=True)):
                formatter.write_dl(
                    [
                        (typer.style(f"{name:{NAME}}", fg="cyan"), self.commands[name].get_short_help_str(WHOLE))
                        for name in commands
                    ]
                )

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] in GONE:
            raise Problem(GONE[args[0]])
        name, command, rest = super().resolve_command(ctx, args)
        if name in BEGIN_WITH_A_VARIANT and rest and not rest[0].startswith("-") and not ctx.resilient_parsing:
            from assets.recipe.loading import check_variant  # late: help and completion need none of it

            check_variant(rest[0])
        loaded = load_command(name) if name in COMMANDS else command
        if signal.getsignal(signal.SIGINT) is stop_at_once:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return name, loaded, rest


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 140},
    help="Make benchmarks for the memory of assistants, and score memories on them. Begin with: amemgym demo",
)


def print_version(asked: bool) -> None:
    if asked:
        print(f"amemgym {distribution_version('amemgym-synth')}")
        raise typer.Exit


@app.callback()
def amemgym(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=print_version, help="Print the version, and end.")
    ] = False,
) -> None:
    """Hold the options of the program as a whole."""


def run_command(words: Sequence[str] | None = None) -> int:
    """Run the command of these words, else of the command line, and return its exit status.

    A problem that the user can solve is told in one sentence, and so is Ctrl-C.
    """
    try:
        app(words)
    except SystemExit as end:  # how a command ordinarily ends
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if status == INTERRUPTED:
            print(f"\n{STOPPED}", file=sys.stderr)
        # Met by rich or typer, which end the command.
        return UNREAD if isinstance(end.__context__, BrokenPipeError) else status
    except BrokenPipeError:
        return UNREAD
    except user_errors() as problem:
        print(f"amemgym: {sentence_of(problem)}", file=sys.stderr)
        if isinstance(problem, Stopped):
            return INTERRUPTED
    except KeyboardInterrupt:
        print(f"\n{STOPPED}", file=sys.stderr)
        return INTERRUPTED
    return 1


def main() -> None:
    """Run the command, and end the process with its status."""
    status = 1  # also of an error that nothing below catches

    def exit_now() -> None:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except BrokenPipeError:
            os._exit(UNREAD)
        os._exit(status)

    def tell_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            stop_at_once()
        print(f"\namemgym: {report_crash(error)}", file=sys.stderr)

    def is_no_interrupt(record: logging.LogRecord) -> bool:
        # A library that meets Ctrl-C while it closes a connection reports it with a traceback, and goes on.
        return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))

    def tell_ignored(ignored: "sys.UnraisableHookArgs") -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):  # it met a destructor, which cannot raise it
            stop_at_once()
        sys.__unraisablehook__(ignored)

    # What is registered first runs last: threads have ended then, and temporary folders are gone. Python would go on to take
    # down every module object by object, which takes as long as a short command itself.
    atexit.register(exit_now)
    sys.unraisablehook = tell_ignored
    if logging.lastResort is not None:
        logging.lastResort.addFilter(is_no_interrupt)
    try:
        status = run_command()
    finally:
        # The interpreter's last resort, for what nothing above catches; typer has set its own.
        sys.excepthook = tell_crash
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, stop_at_once)
