"""Options that several commands have, and dataclasses as options: one for each field, so that the two cannot drift."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import Field, field, fields
from functools import wraps
from typing import Annotated, Any, Optional, get_args, get_type_hints

import typer
import yaml

from assets.recipe.loading import StrictLoader, variants
from pipelines.cli.errors import Problem

Command = Callable[..., None]

RecipeArgument = Annotated[
    str,
    typer.Argument(
        help="demo, base, extra, or the name of a recipe file of your own, without .yaml.", autocompletion=lambda: variants()
    ),
]
VariantOption = Annotated[str, typer.Option("--variant", help="Which variant.", autocompletion=lambda: variants())]
ResetOption = Annotated[
    bool, typer.Option("--reset", help="Forget the overrides of earlier runs; go by the recipe's file and what is given here.")
]
SetOption = Annotated[
    Optional[list[str]],
    typer.Option("--set", metavar="FIELD=VALUE", help="Override a field of the recipe, as in --set num_users=3."),
]
ModelOption = Annotated[str, typer.Option(help="One model for every role, in place of the recipe's.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Show no progress, only how it ended.")]
VersionOption = Annotated[str, typer.Option(help="Version of the release, or auto.")]
DataSettingsOption = Annotated[
    Optional[list[str]],
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Of a bare data.json: language, num_rounds_initial or num_rounds_update, as in --set language=de.",
    ),
]
DatasetArgument = Annotated[
    str, typer.Argument(help="A variant with a release, a release folder, OWNER/NAME@TAG, or a data.json.")
]


def json_option(*keys: str) -> Any:
    """The option of a command that prints a table to print JSON in its place, with these keys at the top or in each row.

    Nothing else goes to standard output then, and a key keeps its name and meaning.
    """
    return typer.Option("--json", help=f"Print JSON, for other programs: {', '.join(keys)}.")


def parse_overrides(pairs: Sequence[str]) -> dict[str, object]:
    """Read FIELD=VALUE pairs; values are YAML scalars or lists. Raises Problem on a pair without '='."""
    overrides: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise Problem(f"--set {pair!r} is not of the form FIELD=VALUE, as in --set num_users=3.")
        try:
            overrides[name.strip()] = yaml.load(value, StrictLoader)  # noqa: S506 (a SafeLoader)
        # A date such as 2020-13-01 is a ValueError.
        except (ValueError, RecursionError, yaml.YAMLError) as error:
            raise Problem(f"The value of --set {pair!r} cannot be read; quote it as in YAML.") from error
    return overrides


def option(text: str, default: Any = "", **more: Any) -> Any:
    """A dataclass field that `options_of` turns into an option: its help text, its default, and more metadata."""
    return field(default=default, metadata={"help": text, **more})


def options_of(kind: type[Any], *, keyword: str, panel: str | None = None) -> Callable[[Command], Command]:
    """A decorator: the command with its keyword argument, a `kind`, given by options such as --max-cost 2.

    Of a field's metadata, `help` is the help text, `least` (0 by default) and `most` bound a number, and `metavar` is the name
    of the value in the help.
    """

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command, eval_str=True).parameters.values())
        others = [parameter for parameter in own if parameter.name != keyword]
        options = _options(kind, panel=panel)

        @wraps(command)
        def wrapper(**arguments: Any) -> None:
            values = kind(**{parameter.name: arguments.pop(parameter.name) for parameter in options})
            command(**arguments, **{keyword: values})

        wrapper.__signature__ = inspect.Signature([*others, *options])  # pyright: ignore[reportAttributeAccessIssue]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in [*others, *options]}
        return wrapper

    return decorate


def _options(kind: type[Any], *, panel: str | None) -> list[inspect.Parameter]:
    types = get_type_hints(kind)
    return [
        inspect.Parameter(
            setting.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=setting.default,
            annotation=Annotated[types[setting.name], _option(setting, type_=types[setting.name], panel=panel)],
        )
        for setting in fields(kind)
    ]


def _option(setting: Field[Any], *, type_: Any, panel: str | None) -> Any:
    number = not {int, float}.isdisjoint({type_, *get_args(type_)})
    # A name of its own keeps a flag from getting a --no-... beside it.
    name = [f"--{setting.name.replace('_', '-')}"] if type_ is bool else []
    return typer.Option(
        *name,
        min=setting.metadata.get("least", 0) if number else None,
        max=setting.metadata.get("most"),
        metavar=setting.metadata.get("metavar"),
        help=setting.metadata["help"],
        rich_help_panel=panel,
    )
