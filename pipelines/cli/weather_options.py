"""The simulated provider's weather as options of a command, one for each field, so that the two cannot drift."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from pipelines.embedded.provider_weather import Weather


def with_weather(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its keyword `weather` told by options such as --errors 0.02."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())
    kept = [parameter for parameter in own if parameter.name != "weather"]
    options = _options()

    @wraps(command)
    def told(**given: Any) -> None:
        weather = Weather(**{option.name: given.pop(option.name) for option in options})
        command(**given, weather=weather)

    told.__signature__ = inspect.Signature([*kept, *options])  # pyright: ignore[reportAttributeAccessIssue]
    told.__annotations__ = {parameter.name: parameter.annotation for parameter in [*kept, *options]}
    return told


def _options() -> list[inspect.Parameter]:
    kinds = get_type_hints(Weather)
    return [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=Annotated[
                kinds[option.name],
                typer.Option(min=0, max=option.metadata.get("most"), help=option.metadata["about"], rich_help_panel="Weather"),
            ],
        )
        for option in fields(Weather)
    ]
