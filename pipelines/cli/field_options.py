"""A dataclass as options of a command, one for each field, so that the two cannot drift."""

import inspect
from collections.abc import Callable
from dataclasses import Field, field, fields
from functools import wraps
from typing import Annotated, Any, get_args, get_type_hints

import typer

Command = Callable[..., None]


def about(text: str, default: Any = "", **more: Any) -> Any:
    """A field that is an option: its help text, its default, and more metadata of those below."""
    return field(default=default, metadata={"about": text, **more})


def options_of(kind: type[Any], *, keyword: str, panel: str | None = None) -> Callable[[Command], Command]:
    """A decorator: the command with its keyword argument, a `kind`, told by options such as --max-cost 2.

    Of a field's metadata, `about` is the help text, `most` the largest number, and `metavar` what stands for the value.
    Numbers are never negative.
    """

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command, eval_str=True).parameters.values())
        kept = [parameter for parameter in own if parameter.name != keyword]
        options = _options(kind, panel=panel)

        @wraps(command)
        def told(**given: Any) -> None:
            made = kind(**{option.name: given.pop(option.name) for option in options})
            command(**given, **{keyword: made})

        told.__signature__ = inspect.Signature([*kept, *options])  # pyright: ignore[reportAttributeAccessIssue]
        told.__annotations__ = {parameter.name: parameter.annotation for parameter in [*kept, *options]}
        return told

    return decorate


def _options(kind: type[Any], *, panel: str | None) -> list[inspect.Parameter]:
    types = get_type_hints(kind)
    return [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=one.default,
            annotation=Annotated[types[one.name], _option(one, type_=types[one.name], panel=panel)],
        )
        for one in fields(kind)
    ]


def _option(one: Field[Any], *, type_: Any, panel: str | None) -> Any:
    number = not {int, float}.isdisjoint({type_, *get_args(type_)})
    # A name of its own keeps a flag from getting a --no-... beside it.
    name = [f"--{one.name.replace('_', '-')}"] if type_ is bool else []
    return typer.Option(
        *name,
        min=0 if number else None,
        max=one.metadata.get("most"),
        metavar=one.metadata.get("metavar"),
        help=one.metadata["about"],
        rich_help_panel=panel,
    )
