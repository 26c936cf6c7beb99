"""`amemgym`: lists the commands, loads the one that is called, and turns its end into an exit status."""

import ast
import logging
import os
import re
import sys
import threading
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version as distribution_version
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command, get_group

from assets.entry_points import load_point, points_of
from assets.stop_signals import INTERRUPTED
from pipelines.cli import STOPPED, UNREAD, WHOLE, flush_output, leave_at_once_when_stopped, raise_when_stopped, stop_at_once
from pipelines.crash_report import report_crash
from pipelines.errors import sentence_of, user_errors

GROUP = "amemgym.commands"  # of entry points: commands, and as GROUP.COMMAND those of a group
# The core's commands by panel of the help, in the order of use. Each value is a module of `pipelines.cli` and its object.
PANELS = {
    "Make": {
        "demo": "generate:demo",
        "plan": "costs:plan",
        "generate": "generate:generate",
        "regenerate": "generate:regenerate",
        "release": "release:release",
        "twin": "release:twin",
    },
    "Look at what was made": {
        "show": "show:show",
        "quality": "show:quality",
        "diff": "release:diff",
        "verify": "release:verify",
        "ui": "serve:ui",
    },
    "Score memories": {
        "evaluate": "scoring.evaluate:evaluate",
        "compare": "scoring.compare:compare",
        "leaderboard": "scoring.compare:leaderboard",
        "gate": "scoring.memory:gate_memory",
        "memory": "scoring.memory:app",
    },
    "Share": {
        "publish": "publish:publish",
        "fetch": "release:fetch",
        "deprecate": "publish:deprecate_release",
    },
    "Recipes, prompts and models": {
        "recipe": "recipe:app",
        "model": "serve:model_app",
    },
    "Keep in order": {
        "ledger": "costs:ledger",
        "cache": "cache:app",
        "doctor": "cache:doctor",
    },
}
POINTS = {point.name: point for point in points_of(GROUP)}
COMMANDS = {name: point.value for name, point in POINTS.items() if "." not in name}
for commands_of_panel in PANELS.values():
    COMMANDS.update({name: f"pipelines.cli.{place}" for name, place in commands_of_panel.items()})
NAME = max(map(len, COMMANDS))
LEFT_THREADS_SECONDS = 3.0  # how long left-over threads may run after the command


# These take a variant first. A wrong name is reported before the command's module is imported, which takes seconds.
BEGIN_WITH_A_VARIANT = ("generate", "plan", "release")

# These take an item first, which may be a number.
ABOUT_AN_ITEM = ("show", "regenerate")
NEGATIVE = re.compile(r"-\d+")


class ItemCommand(TyperCommand):
    """A command about one item, by number, name or id. It explains a negative number, which click takes for an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = [*args]
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            number = next(filter(NEGATIVE.fullmatch, given), None)
            if number is None or isinstance(error, typer.BadParameter):  # BadParameter: the value of an option
                raise
        print(f"amemgym: Users and tasks are numbered from 1 on; there is no number {number}.", file=sys.stderr)
        raise typer.Exit(2)


@cache
def panels() -> dict[str, list[str]]:
    """Return the names of all commands by panel of the help: the core's, then those of entry points."""
    found = {panel: list(commands) for panel, commands in PANELS.items()}
    own = {name for names in found.values() for name in names}
    for name in sorted(COMMANDS.keys() - own):
        panel = "Other commands"
        for statement in _statements(COMMANDS[name].partition(":")[0]):
            match statement:
                case ast.Assign(targets=[ast.Name(id="PANEL")], value=ast.Constant(value=str(text))):
                    panel = text
                case _:
                    pass
        found.setdefault(panel, []).append(name)
    return found


@cache
def _statements(module: str) -> list[ast.stmt]:
    spec = find_spec(module)  # which imports the packages above it, and not the module
    if spec is None or spec.origin is None:
        return []
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body


def summary_of(name: str) -> str:
    """Return the first paragraph of a command's help without importing its module, which would take seconds.

    It is read from the source: a function's docstring, or the sentence that a group is created with.
    """
    module, _, attribute = COMMANDS[name].partition(":")
    for statement in _statements(module):
        match statement:
            case ast.FunctionDef(name=found) if found == attribute:
                paragraph, _, _ = (ast.get_docstring(statement) or "").partition("\n\n")
                return " ".join(paragraph.split())
            case ast.Assign(targets=[ast.Name(id=found)], value=ast.Call(args=[sentence, *_])) if found == attribute:
                return str(ast.literal_eval(sentence))
            case _:
                pass
    return f"{COMMANDS[name]} is missing; install the package that brings it anew."


class NamedCommand(TyperCommand):
    """A command that is listed but not loaded."""

    def get_short_help_str(self, limit: int = WHOLE) -> str:
        assert self.name is not None
        self.help = summary_of(self.name)
        return super().get_short_help_str(limit)


@cache
def load_command(name: str) -> Any:
    """Return the command with its options, and a group with all of its commands. Imports their modules."""
    command = load_point(POINTS[name]) if name in POINTS else resolve_name(COMMANDS[name])
    if isinstance(command, typer.Typer):
        for point in POINTS.values():
            group, dot, below = point.name.partition(".")
            if dot and group == name:
                command.command(below)(load_point(point))
        return get_group(command)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, cls=ItemCommand if name in ABOUT_AN_ITEM else TyperCommand)(command)
    return get_command(single)


class CommandGroup(TyperGroup):
    """Lists all commands, and imports only the module of the one that is called; `amemgym --help` imports none.

    Once a command is loaded, Ctrl-C and SIGTERM raise KeyboardInterrupt, so that it can finish its work.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name in COMMANDS:
            self.add_command(NamedCommand(name, rich_markup_mode=None))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for panel, commands in panels().items():
            with formatter.section(typer.style(panel, bold=True)):
                rows: list[tuple[str, str]] = []
                for name in commands:
                    rows.append((typer.style(f"{name:{NAME}}", fg="cyan"), self.commands[name].get_short_help_str(WHOLE)))
                formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in BEGIN_WITH_A_VARIANT and rest and not rest[0].startswith("-") and not ctx.resilient_parsing:
            from assets.recipe.loading import check_variant  # late: help and completion do not need it

            check_variant(rest[0])
        loaded = load_command(name) if name in COMMANDS else command
        raise_when_stopped()
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
def program_options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=print_version, help="Print the version, and end.")
    ] = False,
) -> None:
    """Define the options of the program itself, before any command."""


def run_command(words: Sequence[str] | None = None) -> int:
    """Run the command in `words`, by default the command line, and return its exit status.

    A problem that the user can solve is printed as one sentence, and so are Ctrl-C and SIGTERM.
    """
    try:
        app(words)
    except SystemExit as end:  # the normal end of a command
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if status == INTERRUPTED:
            print(f"\n{STOPPED}", file=sys.stderr)
        # rich and typer turn a broken pipe into SystemExit.
        return UNREAD if isinstance(end.__context__, BrokenPipeError) else status
    except BrokenPipeError:
        return UNREAD
    except user_errors() as problem:
        # Late, because it imports rich; most commands that end here have imported it already.
        from pipelines.cli.terminal import TextConsole, print_plain

        print_plain(TextConsole(stderr=True), f"amemgym: {sentence_of(problem)}")
    except KeyboardInterrupt:
        print(f"\n{STOPPED}", file=sys.stderr)
        return INTERRUPTED
    return 1


def main() -> int:
    """Run the command of a process that ends with it, and return its exit status."""

    def tell_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            stop_at_once()
        print(f"\namemgym: {report_crash(error)}", file=sys.stderr)

    def is_no_interrupt(record: logging.LogRecord) -> bool:
        # A library that is interrupted while it closes a connection logs a traceback and continues; do not print that.
        return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))

    def tell_ignored(ignored: "sys.UnraisableHookArgs") -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):  # raised in a destructor, which cannot pass it on
            stop_at_once()
        sys.__unraisablehook__(ignored)

    sys.unraisablehook = tell_ignored
    if logging.lastResort is not None:
        logging.lastResort.addFilter(is_no_interrupt)
    try:
        status = run_command()
    finally:
        # The hook for errors that nothing above catches. It is set here because typer sets its own.
        sys.excepthook = tell_crash
        leave_at_once_when_stopped()
    status = flush_output(status)
    if threading.active_count() > 1:
        # Python waits for all threads, and threads left behind by other code may never end.
        leaving = threading.Timer(LEFT_THREADS_SECONDS, os._exit, [status])
        leaving.daemon = True
        leaving.start()
    return status
