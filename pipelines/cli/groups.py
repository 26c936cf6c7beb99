"""Groups of commands, and how their help lists them. Imports nothing else of the project, as `amemgym --help` needs it."""

from typing import Any

import typer
from typer.core import TyperGroup

WHOLE = 1000  # characters, more than any summary has


class SummaryGroup(TyperGroup):
    """Lists its commands with whole sentences, broken where the line ends; click cuts them to one line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(WHOLE)) for name, command in self.commands.items()])


def command_group(sentence: str, *, needs_command: bool = True) -> typer.Typer:
    """A group of commands. `needs_command`: its name alone prints the help."""
    return typer.Typer(
        cls=SummaryGroup, no_args_is_help=needs_command, add_completion=False, rich_markup_mode=None, help=sentence
    )
