"""Options of an evaluation on the command line: a few as flags of their own, every one in a file (--config) or by --set."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Optional, cast

import typer
from annotated_types import Ge

from pipelines.cli.options import Command, parse_overrides
from pipelines.errors import EvaluationError
from pipelines.evaluation.options import EvaluationOptions, read_options, read_run_file

# With a flag of their own; the others are for --config and --set.
FLAGS = ("model", "tokens", "users", "questions", "conditions", "fresh", "again", "offline", "max_cost")
RARE = ("offline",)  # of these, what the help leaves out
CONFIG = typer.Option(help="YAML file with options of the evaluation, as in: tokens: 4000.")
SET = typer.Option(
    "--set",
    metavar="OPTION=VALUE",
    help="Any option of a run, as in --set curve=500,1000. Those without a flag are "
    f"{', '.join(name for name in EvaluationOptions.model_fields if name not in FLAGS)}. "
    "For a bare data.json also language, num_rounds_initial and num_rounds_update.",
)


def evaluation_options(*, panel: str | None = None) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the argument `options`, made from flags, --set and --config, in this order.

    A command with an argument `settings` gets there what --set has for a bare data.json.
    """

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command, eval_str=True).parameters.values())
        others = [parameter for parameter in own if parameter.name not in ("options", "settings")]
        takes_settings = len(own) - len(others) > 1
        added = [_parameter("config", Optional[Path], CONFIG), _parameter("set_", Optional[list[str]], SET)]
        added += [_flag(name, panel=panel) for name in FLAGS]

        @wraps(command)
        def wrapper(**arguments: Any) -> None:
            config = arguments.pop("config")
            pairs = parse_overrides(arguments.pop("set_") or (), example="curve=500,1000")
            given = {name: arguments.pop(name) for name in FLAGS}
            flags = {name: value for name, value in given.items() if value is not None and value is not False}
            if takes_settings:
                is_file = Path(arguments["dataset"]).is_file()
                of_data = [name for name in pairs if is_file and name not in EvaluationOptions.model_fields]
                arguments["settings"] = {name: pairs.pop(name) for name in of_data}
            for name in pairs.keys() & flags.keys():
                flag = name.replace("_", "-")
                raise EvaluationError(f"--set {name} and --{flag} give the same option; leave one of them out.")
            from_file = read_run_file(config) if config else {}
            command(**arguments, options=_merge_options({str(config): from_file, "--set": pairs, "A flag": flags}))

        wrapper.__signature__ = inspect.Signature([*others, *added])  # pyright: ignore[reportAttributeAccessIssue]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in [*others, *added]}
        return wrapper

    return decorate


def _merge_options(sources: Mapping[str, Mapping[str, object]]) -> EvaluationOptions:
    """Return the options of all sources, the later before the earlier. Raises EvaluationError, which names the source."""
    fields: dict[str, object] = {}
    for source, own in sources.items():
        read_options(own, source=source)
        fields |= own
    return read_options(fields, source="The command")


def _flag(name: str, *, panel: str | None) -> inspect.Parameter:
    field = EvaluationOptions.model_fields[name]
    text = field.description or ""
    if field.annotation is bool:
        return _parameter(
            name, bool, typer.Option(f"--{name}", help=text, rich_help_panel=panel, hidden=name in RARE), default=False
        )
    kind = Optional[str] if field.annotation == tuple[str, ...] else Optional[field.annotation]
    default = field.default if kind is not Optional[str] else ",".join(field.default)
    if default:
        text = f"{text} By default {default}."
    least = next((bound.ge for bound in field.metadata if isinstance(bound, Ge)), None)
    return _parameter(name, kind, typer.Option(help=text, rich_help_panel=panel, min=cast(Optional[float], least)))


def _parameter(name: str, kind: Any, option: Any, *, default: object = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
