"""Helpers for commands: groups, options that several commands share, and options made from a dataclass's fields."""

import inspect
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import Field, field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Optional, get_args, get_type_hints

import typer
import yaml
from typer.core import TyperGroup

from assets.recipe.loading import StrictLoader, variants
from pipelines.cli import WHOLE
from pipelines.errors import Problem

Command = Callable[..., None]

RecipeArgument = Annotated[
    str,
    typer.Argument(
        help="demo, base, extra, or the name of a recipe file of your own, without .yaml.", autocompletion=lambda: variants()
    ),
]
VariantOption = Annotated[str, typer.Option("--variant", help="Which variant.", autocompletion=lambda: variants())]
ResetOption = Annotated[
    bool,
    typer.Option("--reset", help="Forget the overrides of earlier runs; use the recipe's file and the options given here."),
]
SetOption = Annotated[
    Optional[list[str]],
    typer.Option("--set", metavar="FIELD=VALUE", help="Override a field of the recipe, as in --set num_users=3."),
]
ModelOption = Annotated[str, typer.Option(help="One model for every role, instead of the recipe's models.")]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust-packages", help="For code questions: run the packages' code even if no sandbox isolates it from this machine."
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Show no progress, only the result.")]
VersionOption = Annotated[str, typer.Option(help="Version of the release, or auto.")]
DatasetArgument = Annotated[
    str,
    typer.Argument(help="A variant with a release, a release folder, OWNER/NAME@TAG, or a data.json."),
]


class SummaryGroup(TyperGroup):
    """A group whose list shows each command's whole first paragraph, wrapped. click would cut it to one line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(WHOLE)) for name, command in self.commands.items()])


def command_group(sentence: str) -> typer.Typer:
    """Return a group of commands with this help."""
    return typer.Typer(cls=SummaryGroup, no_args_is_help=True, add_completion=False, rich_markup_mode=None, help=sentence)


@contextmanager
def file_errors(words: str) -> Generator[None]:
    """Turn an OSError into a Problem with these words, such as "NAME cannot be read", and the reason."""
    try:
        yield
    except OSError as error:
        # The errors of our own stores are sentences already.
        raise Problem(f"{words}: {error.strerror}." if error.strerror else str(error)) from error


def check_writable(path: Path) -> None:
    """Raise Problem for a file that an option names and that could not be written in the end, before anything is paid."""
    if not path.parent.is_dir():
        raise Problem(f"{path} cannot be written: there is no folder {path.parent}.")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Problem(f"{path} cannot be written: it is a folder, or not yours to write.")


def json_option(*keys: str) -> Any:
    """Return the option --json, which makes a command print JSON instead of a table. `keys`: at the top, or in each row.

    With it, only the JSON goes to standard output. Keys keep their names and meanings in later versions.
    """
    return typer.Option("--json", help=f"Print JSON, for other programs: {', '.join(keys)}.")


def parse_overrides(pairs: Sequence[str], *, example: str = "num_users=3") -> dict[str, object]:
    """Parse FIELD=VALUE pairs; values are YAML scalars or lists. Raises Problem for a pair without '=' or a bad value."""
    overrides: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise Problem(f"--set {pair!r} does not have the form FIELD=VALUE, as in --set {example}.")
        try:
            overrides[name.strip()] = yaml.load(value, StrictLoader)  # noqa: S506 (a SafeLoader)
        # A date such as 2020-13-01 is a ValueError.
        except (ValueError, RecursionError, yaml.YAMLError) as error:
            raise Problem(f"The value of --set {pair!r} cannot be read; quote it as in YAML.") from error
    return overrides


def option(text: str, default: Any = "", **more: Any) -> Any:
    """Return a dataclass field for `options_of`. `text`: the option's help; `more`: further metadata of the field."""
    return field(default=default, metadata={"help": text, **more})


def options_of(kind: type[Any], *, keyword: str, panel: str | None = None) -> Callable[[Command], Command]:
    """Return a decorator that turns a command's argument `keyword` into one option for each field of the dataclass `kind`.

    The command gets a `kind` made from the options, such as --max-cost 2. Metadata of a field: `help` is the help text, `least`
    (0 by default) and `most` bound a number, and `metavar` names the value in the help.
    """

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command, eval_str=True).parameters.values())
        others = [parameter for parameter in own if parameter.name != keyword]
        options = _options(kind, panel=panel)

        @wraps(command)
        def wrapper(**arguments: Any) -> None:
            values = {parameter.name: arguments.pop(parameter.name) for parameter in options}
            command(**arguments, **{keyword: kind(**values)})

        wrapper.__signature__ = inspect.Signature([*others, *options])  # pyright: ignore[reportAttributeAccessIssue]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in [*others, *options]}
        return wrapper

    return decorate


def _options(kind: type[Any], *, panel: str | None) -> list[inspect.Parameter]:
    types = get_type_hints(kind)
    options: list[inspect.Parameter] = []
    for setting in fields(kind):
        type_ = types[setting.name]
        annotation = Annotated[type_, _option(setting, type_=type_, panel=panel)]
        parameter = inspect.Parameter(
            setting.name, inspect.Parameter.KEYWORD_ONLY, default=setting.default, annotation=annotation
        )
        options.append(parameter)
    return options


def _option(setting: Field[Any], *, type_: Any, panel: str | None) -> Any:
    number = not {int, float}.isdisjoint({type_, *get_args(type_)})
    # With an explicit name, typer adds no --no-... option to a flag.
    name = [f"--{setting.name.replace('_', '-')}"] if type_ is bool else []
    return typer.Option(
        *name,
        min=setting.metadata.get("least", 0) if number else None,
        max=setting.metadata.get("most"),
        metavar=setting.metadata.get("metavar"),
        help=setting.metadata["help"],
        rich_help_panel=panel,
    )
